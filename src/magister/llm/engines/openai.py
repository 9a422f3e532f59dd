"""Endpoints that speak the OpenAI chat completions interface, through the official client."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from openai import APIConnectionError, APIStatusError, APITimeoutError, AsyncOpenAI, OpenAIError

from magister.config.models import ModelConfig
from magister.errors import UserError
from magister.llm._requests import Request
from magister.llm._rows import FATAL, Row, failure, success
from magister.llm.engines import Deliver
from magister.llm.engines._http import Gate, Refusal, classify, retry_after, wait_before

# Shorter "keys" (`EMPTY`, `none`) are conventions of servers without keys, and words of the language.
_SECRET_LENGTH = 8


class OpenAIEngine:
    """Asks an endpoint, many requests at once, with retries of its own.

    The client's retries are switched off: they do not know about rates, and hide how often was tried.
    """

    order: Literal["file", "prefix"] = "prefix"

    def __init__(
        self, name: str, model: ModelConfig, *, weights: Path | None = None, workers: int | None = None
    ) -> None:
        """Read the key. Connects to nothing.

        Raises:
            UserError: the variable that should hold the key does not, or the address is unusable.
        """
        del weights, workers
        self._name = name
        self._limits = model.limits
        self._served = str(model.served_name)
        self._url = _checked_url(str(model.base_url), name)
        self._key_env = model.api_key_env
        # A placeholder when none is configured: left out, the client would send the caller's OPENAI_API_KEY
        # to whatever address stands here.
        self._key = _read_key(model.api_key_env, name) if model.api_key_env else "none"

    def run(self, requests: Sequence[Request], deliver: Deliver) -> None:
        """Ask for all answers."""
        asyncio.run(self._run(requests, deliver))

    def close(self) -> None:
        """Free nothing: connections live as long as a run."""

    async def _run(self, requests: Sequence[Request], deliver: Deliver) -> None:
        gate = Gate(self._limits)
        waiting = iter(requests)
        async with AsyncOpenAI(
            api_key=self._key, base_url=self._url, max_retries=0, timeout=self._limits.timeout
        ) as client:

            async def work() -> None:
                for request in waiting:
                    deliver(await self._ask(client, gate, request))

            tasks = [asyncio.create_task(work()) for _ in range(min(self._limits.concurrency, len(requests)))]
            try:
                await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self, client: AsyncOpenAI, gate: Gate, request: Request) -> Row:
        attempt = 0
        while True:
            attempt += 1
            try:
                async with gate:
                    row = await self._try(client, request, attempt)
            except Refusal as refusal:
                if refusal.code in FATAL:
                    raise self._stopped(refusal) from None
                if refusal.code == "rate_limit":
                    gate.refused(refusal.retry_after)
                if not refusal.passing or attempt >= self._limits.attempts:
                    return failure(request["custom_id"], refusal.code, refusal.message, attempt)
                await asyncio.sleep(wait_before(attempt, refusal, self._limits))
            else:
                gate.succeeded()
                return row

    async def _try(self, client: AsyncOpenAI, request: Request, attempt: int) -> Row:
        """Ask once.

        Raises:
            Refusal: there is no answer.
        """
        body = {**request["body"], "model": self._served}
        try:
            # The client's own limit is one of silence; this one is of the whole try.
            async with asyncio.timeout(self._limits.timeout):
                raw = await client.chat.completions.with_raw_response.create(
                    messages=body.pop("messages"), model=body.pop("model"), extra_body=body
                )
            text = raw.text
        except (TimeoutError, APITimeoutError):
            raise Refusal("timeout", f"no answer within {self._limits.timeout:g} s") from None
        except APIConnectionError as error:
            cause = type(error.__cause__).__name__ if error.__cause__ is not None else "no cause given"
            raise Refusal("connection", f"the connection failed ({cause})") from None
        except APIStatusError as error:
            raise self._refusal(error) from None
        except (OpenAIError, UnicodeError) as error:
            raise Refusal("server", self._scrub(f"{type(error).__name__}: {error}")) from None
        return self._read(self._scrub(text), request["custom_id"], attempt)

    def _read(self, text: str, key: str, attempt: int) -> Row:
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
        try:
            return success(key, reply, attempt)
        except ValueError as problem:
            raise Refusal("server", str(problem)) from None

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
        if refusal.code == "auth":
            # The server's own words may quote the key.
            source = (
                f"environment variable {self._key_env}"
                if self._key_env
                else "no key (api_key_env is not set)"
            )
            return UserError(
                f"models.{self._name}: auth: {self._host()} refused access with {source}. Check the key, "
                "its rights and the account's balance, and run the same command again: finished answers "
                "are kept."
            )
        return UserError(
            f"models.{self._name}: model_not_found: {self._host()} knows no model {self._served!r}, or "
            f"base_url is not the folder of `chat/completions`. The server says: {refusal.message[:200]}"
        )

    def _host(self) -> str:
        return urlsplit(self._url).netloc

    def _scrub(self, text: str) -> str:
        if len(self._key) < _SECRET_LENGTH:
            return text
        return text.replace(self._key, "[key]")


def _read_key(variable: str, name: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UserError(
            f"models.{name}: environment variable {variable} is not set; it should hold the endpoint's key"
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UserError(
            f"models.{name}: environment variable {variable} does not hold a key: odd characters in it"
        )
    return key


def _checked_url(url: str, name: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(
            f"models.{name}.base_url: expected http(s)://host/path, found {parts.scheme or url!r}"
        )
    if parts.username is not None or parts.password is not None:
        raise UserError(
            f"models.{name}.base_url: holds a user or password; put secrets into the variable that "
            "api_key_env names"
        )
    return url
