"""An OpenAI-compatible endpoint, whatever it is asked for: its address, its key, its refusals, its patience."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from openai import APIConnectionError, APIStatusError, APITimeoutError, AsyncOpenAI, OpenAIError

from magister.config.models import Limits
from magister.errors import UserError
from magister.llm._rows import FATAL
from magister.llm.engines._http import Gate, Refusal, classify, retry_after, wait_before

__all__ = ["Endpoint", "Gate", "Refusal"]

# Shorter "keys" (`EMPTY`, `none`) are conventions of servers without keys, and words of the language.
_SECRET_LENGTH = 8
Answer = TypeVar("Answer")
Work = TypeVar("Work")


class Served(Protocol):
    """What the configuration of a model says of its endpoint."""

    @property
    def base_url(self) -> str | None:
        """Its address."""

    @property
    def served_name(self) -> str | None:
        """The model's name there."""

    @property
    def api_key_env(self) -> str | None:
        """Environment variable that holds the key; None for endpoints without one."""

    @property
    def limits(self) -> Limits:
        """How hard it may be driven."""


class Endpoint:
    """Who is called, and how failures are read.

    The client's retries are switched off: they do not know about rates, and hide how often was tried.
    """

    def __init__(self, where: str, config: Served, path: str) -> None:
        """Read the key. Connects to nothing.

        Args:
            where: the place of the configuration, for messages (`models.<name>`).
            config: its address, the model's name there, where its key is and how hard it may be driven.
            path: what is called below the address, for messages (`chat/completions`).

        Raises:
            UserError: the variable that should hold the key does not, or the address is unusable.
        """
        self._where = where
        self._path = path
        self._url = _checked_url(str(config.base_url), where)
        self._key_env = config.api_key_env
        # A placeholder when none is configured: left out, the client would send the caller's OPENAI_API_KEY
        # to whatever address stands here.
        self._key = _read_key(config.api_key_env, where) if config.api_key_env else "none"
        self.served = str(config.served_name)
        self.limits = config.limits

    def client(self) -> AsyncOpenAI:
        """A client, to be used as a context."""
        return AsyncOpenAI(api_key=self._key, base_url=self._url, max_retries=0, timeout=self.limits.timeout)

    async def work(
        self, waiting: Sequence[Work], one: Callable[[AsyncOpenAI, Gate, Work], Awaitable[None]]
    ) -> None:
        """Work through a list, as many at once as the limits allow.

        Args:
            waiting: what is to be done, in the order in which it is begun.
            one: does one of them.
        """
        gate, left = Gate(self.limits), iter(waiting)
        async with self.client() as client:

            async def run() -> None:
                for each in left:
                    await one(client, gate, each)

            tasks = [asyncio.create_task(run()) for _ in range(min(self.limits.concurrency, len(waiting)))]
            try:
                await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def ask(self, gate: Gate, attempt: Callable[[], Awaitable[Answer]]) -> tuple[Answer, int]:
        """Try until there is an answer, or no sense in another try.

        Args:
            gate: what all requests of a run pass.
            attempt: one try.

        Returns:
            The answer and the number of tries.

        Raises:
            Refusal: there is no answer; `attempts` says after how many tries.
            UserError: every other request would fail the same way.
        """
        tries = 0
        while True:
            tries += 1
            try:
                async with gate:
                    answer = await attempt()
            except Refusal as refusal:
                if refusal.code in FATAL:
                    raise self._stopped(refusal) from None
                if refusal.code == "rate_limit":
                    gate.refused(refusal.retry_after)
                if not refusal.passing or tries >= self.limits.attempts:
                    refusal.attempts = tries
                    raise
                await asyncio.sleep(wait_before(tries, refusal, self.limits))
            else:
                gate.succeeded()
                return answer, tries

    async def call(self, create: Callable[[], Awaitable[Any]]) -> dict[str, Any]:
        """Call once.

        Args:
            create: starts the call on a client's raw interface.

        Returns:
            The reply's object.

        Raises:
            Refusal: there is none.
        """
        try:
            # The client's own limit is one of silence; this one is of the whole try.
            async with asyncio.timeout(self.limits.timeout):
                raw = await create()
            text = raw.text
        except (TimeoutError, APITimeoutError):
            raise Refusal("timeout", f"no answer within {self.limits.timeout:g} s") from None
        except APIConnectionError as error:
            cause = type(error.__cause__).__name__ if error.__cause__ is not None else "no cause given"
            raise Refusal("connection", f"the connection failed ({cause})") from None
        except APIStatusError as error:
            raise self._refusal(error) from None
        except (OpenAIError, UnicodeError) as error:
            raise Refusal("server", self._scrub(f"{type(error).__name__}: {error}")) from None
        return _read(self._scrub(text))

    def _refusal(self, error: APIStatusError) -> Refusal:
        text = self._scrub(error.response.text)
        try:
            parsed: Any = json.loads(text)
        except ValueError:
            parsed = None
        # OpenAI and llama.cpp wrap the error, older vLLM does not.
        described = parsed.get("error", parsed) if isinstance(parsed, dict) else text[:200]
        code, message = classify(error.status_code, described)
        return Refusal(code, message, retry_after=retry_after(error.response.headers))

    def _stopped(self, refusal: Refusal) -> UserError:
        host = urlsplit(self._url).netloc
        if refusal.code == "auth":
            # The server's own words may quote the key.
            source = (
                f"environment variable {self._key_env}"
                if self._key_env
                else "no key (api_key_env is not set)"
            )
            return UserError(
                f"{self._where}: auth: {host} refused access with {source}. Check the key, "
                "its rights and the account's balance, and run the same command again: finished answers "
                "are kept."
            )
        return UserError(
            f"{self._where}: model_not_found: {host} knows no model {self.served!r}, or "
            f"base_url is not the folder of `{self._path}`. The server says: {refusal.message[:200]}"
        )

    def _scrub(self, text: str) -> str:
        if len(self._key) < _SECRET_LENGTH:
            return text
        return text.replace(self._key, "[key]")


def _read(text: str) -> dict[str, Any]:
    try:
        reply = json.loads(text)
    except ValueError:
        raise Refusal("server", f"the reply is not valid JSON: {text[:80]!r}") from None
    if not isinstance(reply, dict):
        raise Refusal("server", f"the reply is not an object: {text[:80]!r}")
    error = reply.get("error")
    if error:
        # Gateways answer 200 and put what went wrong upstream into the body.
        status = error.get("code") if isinstance(error, dict) else None
        code, message = classify(status if isinstance(status, int) else 500, error)
        raise Refusal(code, message)
    return reply


def _read_key(variable: str, where: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UserError(
            f"{where}: environment variable {variable} is not set; it should hold the endpoint's key"
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UserError(f"{where}: environment variable {variable} does not hold a key: odd characters in it")
    return key


def _checked_url(url: str, where: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(f"{where}.base_url: expected http(s)://host/path, found {parts.scheme or url!r}")
    if parts.username is not None or parts.password is not None:
        raise UserError(
            f"{where}.base_url: holds a user or password; put secrets into the variable that "
            "api_key_env names"
        )
    return url
