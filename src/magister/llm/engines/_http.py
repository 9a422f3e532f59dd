"""What endpoints mean by their refusals, and how hard they may be driven."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from magister.config.models import Limits
from magister.llm._rows import is_overflow

LONGEST_ASKED_WAIT = 600.0
"""A server that asks for a longer wait (a daily quota, say) gets its error recorded instead."""

_RETRIED = frozenset({"rate_limit", "server", "timeout", "connection"})


class Refusal(Exception):
    """One try failed.

    Attributes:
        code: what kind of failure.
        message: what was said.
        retry_after: seconds that the server asks to be left alone.
        attempts: tries so far.
    """

    def __init__(self, code: str, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retry_after = retry_after
        self.attempts = 1

    @property
    def passing(self) -> bool:
        """Whether another try may fare better."""
        return self.code in _RETRIED and (self.retry_after is None or self.retry_after <= LONGEST_ASKED_WAIT)


def classify(status: int, error: object) -> tuple[str, str]:
    """Tell an endpoint's refusal from its status and its error body.

    Args:
        status: HTTP status, or the one that a body reports in its place.
        error: the body's `error`, or what else there was.

    Returns:
        The error code and the server's message.
    """
    fields: Mapping[str, Any] = error if isinstance(error, dict) else {"message": error}
    message = str(fields.get("message") or f"HTTP {status}")
    kind, named = fields.get("type"), fields.get("code")
    if 400 <= status < 500 and status != 429 and is_overflow(named, kind, message):
        return "context_length", message
    # An empty account does not fill up by waiting.
    if status in (401, 402, 403) or "insufficient_quota" in (named, kind):
        return "auth", message
    if status == 404 or named == "model_not_found":
        return "model_not_found", message
    if status == 429:
        return "rate_limit", message
    if status == 408:
        return "timeout", message
    if 400 <= status < 500 and status not in (409, 425):
        return "bad_request", message
    return "server", message


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Read for how many seconds a server asks to be left alone.

    Args:
        headers: of the response, looked up without regard to case. `Retry-After` holds seconds or an HTTP
            date, `retry-after-ms` milliseconds.
        now: seconds since the epoch.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None:
        return max(0.0, seconds)
    try:
        moment = parsedate_to_datetime(value or "")
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - (time.time() if now is None else now))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if number == number else None


def wait_before(attempt: int, refusal: Refusal, limits: Limits) -> float:
    """Choose how long to wait after a failed try: doubling, jittered, and never less than the server asks.

    Args:
        attempt: number of the try that failed, from 1.
        refusal: how it failed.
        limits: the endpoint's limits.
    """
    ceiling = min(limits.backoff_max, limits.backoff * 2.0 ** min(attempt - 1, 60))
    own = ceiling * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, keeps no secret
    asked = refusal.retry_after or 0.0
    return max(own, asked * random.uniform(1.0, 1.1))  # noqa: S311


class Gate:
    """Lets so many requests through at once, and so many a minute.

    The number halves when the endpoint says that it is too much and grows back slowly with every success.
    """

    def __init__(self, limits: Limits) -> None:
        self._most = float(limits.concurrency)
        self._allowed = self._most
        self._active = 0
        self._changed = asyncio.Condition()
        self._spacing = 60.0 / limits.requests_per_minute if limits.requests_per_minute else 0.0
        self._next_start = 0.0
        self._not_before = 0.0
        self._calm_until = 0.0
        self._cooldown = limits.backoff

    async def __aenter__(self) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._active < int(self._allowed))
            self._active += 1
        try:
            await self._wait_for_turn()
        except BaseException:
            self._active -= 1
            raise

    async def __aexit__(self, *_: object) -> None:
        async with self._changed:
            self._active -= 1
            self._changed.notify_all()

    async def _wait_for_turn(self) -> None:
        clock = asyncio.get_running_loop().time
        start = max(clock(), self._next_start)
        self._next_start = start + self._spacing
        while (left := max(start, self._not_before) - clock()) > 0:
            await asyncio.sleep(left)

    def succeeded(self) -> None:
        """Allow a little more."""
        self._allowed = min(self._most, self._allowed + 1.0 / self._allowed)

    def refused(self, asked_wait: float | None) -> None:
        """Allow half as much, once for all refusals of one moment, and none before the wait is over."""
        now = asyncio.get_running_loop().time()
        if now >= self._calm_until:
            self._allowed = max(1.0, self._allowed / 2)
            self._calm_until = now + self._cooldown
        if asked_wait is not None and asked_wait <= LONGEST_ASKED_WAIT:
            self._not_before = max(self._not_before, now + asked_wait)
