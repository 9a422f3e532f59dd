"""Endpoints that speak the OpenAI chat completions interface, through the official client."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from openai import AsyncOpenAI

from magister.config.models import ModelConfig
from magister.llm._requests import Request
from magister.llm._rows import Row, failure, success
from magister.llm.engines import Deliver
from magister.llm.engines._http import Gate, Refusal
from magister.llm.engines.endpoint import Endpoint


class OpenAIEngine:
    """Asks an endpoint, many requests at once, with retries of its own."""

    order: Literal["file", "prefix"] = "prefix"

    def __init__(
        self, name: str, model: ModelConfig, *, weights: Path | None = None, workers: int | None = None
    ) -> None:
        """Read the key. Connects to nothing.

        Raises:
            UserError: the variable that should hold the key does not, or the address is unusable.
        """
        del weights, workers
        self._endpoint = Endpoint(f"models.{name}", model, "chat/completions")

    def run(self, requests: Sequence[Request], deliver: Deliver) -> None:
        """Ask for all answers."""

        async def one(client: AsyncOpenAI, gate: Gate, request: Request) -> None:
            deliver(await self._ask(client, gate, request))

        asyncio.run(self._endpoint.work(requests, one))

    def close(self) -> None:
        """Free nothing: connections live as long as a run."""

    async def _ask(self, client: AsyncOpenAI, gate: Gate, request: Request) -> Row:
        key = request["custom_id"]

        async def attempt() -> Row:
            body = {**request["body"], "model": self._endpoint.served}
            messages, model = body.pop("messages"), body.pop("model")
            reply = await self._endpoint.call(
                lambda: client.chat.completions.with_raw_response.create(
                    messages=messages, model=model, extra_body=body
                )
            )
            try:
                return success(key, reply, 1)
            except ValueError as problem:
                raise Refusal("server", str(problem)) from None

        try:
            row, attempts = await self._endpoint.ask(gate, attempt)
        except Refusal as refusal:
            return failure(key, refusal.code, refusal.message, refusal.attempts)
        return {**row, "attempts": attempts}
