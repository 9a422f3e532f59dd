"""Embeddings of any OpenAI-compatible endpoint: a hosted service, `vllm serve`, a llama.cpp server.

Texts go out in batches; a batch that the endpoint refuses for what stands in it is halved until the text that it
refuses stands alone. What an endpoint gives for a text may differ in the last digits with what stood beside it:
the store keeps what it gave first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
from openai import AsyncOpenAI

from magister.config.embedders import EmbedderConfig
from magister.embeddings._engine import Deliver, Embedding
from magister.llm.engines.endpoint import Endpoint, Gate, Refusal

_OF_THE_TEXT = frozenset({"context_length", "bad_request"})
"""Refusals that may be about one text of a batch."""
Places = range | list[int]


class EmbeddingsEndpoint:
    """Asks an endpoint, many requests at once."""

    def __init__(self, name: str, config: EmbedderConfig) -> None:
        """Read the key. Connects to nothing.

        Raises:
            UserError: the variable that should hold the key does not, or the address is unusable.
        """
        self._prefix, self._extra, self._batch = config.prefix, dict(config.extra), config.batch
        self._endpoint = Endpoint(f"embedders.{name}", config, "embeddings")

    def embed(self, texts: Sequence[str], deliver: Deliver) -> None:
        """Ask for all vectors."""

        async def one(client: AsyncOpenAI, gate: Gate, places: range) -> None:
            await self._ask(client, gate, texts, places, deliver)

        starts = range(0, len(texts), self._batch)
        batches = [range(start, min(start + self._batch, len(texts))) for start in starts]
        asyncio.run(self._endpoint.work(batches, one))

    def close(self) -> None:
        """Free nothing: connections live as long as a run."""

    async def _ask(
        self, client: AsyncOpenAI, gate: Gate, texts: Sequence[str], places: range, deliver: Deliver
    ) -> None:
        async def attempt() -> list[Embedding]:
            reply = await self._endpoint.call(
                lambda: client.embeddings.with_raw_response.create(
                    input=[self._prefix + texts[place] for place in places],
                    model=self._endpoint.served,
                    encoding_format="float",
                    extra_body=self._extra,
                )
            )
            return _read(reply, len(places))

        try:
            found, attempts = await self._endpoint.ask(gate, attempt)
        except Refusal as refusal:
            if len(places) > 1 and refusal.code in _OF_THE_TEXT:
                middle = len(places) // 2
                for half in (places[:middle], places[middle:]):
                    await self._ask(client, gate, texts, half, deliver)
                return
            error = (refusal.code, refusal.message)
            for place in places:
                deliver(place, Embedding(None, error=error, attempts=refusal.attempts))
            return
        for place, one in zip(places, found, strict=True):
            deliver(place, Embedding(one.vector, one.tokens, one.truncated, attempts=attempts))


def _read(reply: dict[str, Any], count: int) -> list[Embedding]:
    """The vectors of a reply, in the order of the texts.

    Raises:
        Refusal: they are not all there, or no vectors of numbers.
    """
    data = reply.get("data")
    if not isinstance(data, list) or len(data) != count or not all(isinstance(row, dict) for row in data):
        seen = f"{len(data)} vectors" if isinstance(data, list) else "no list of vectors"
        raise Refusal("server", f"asked for {count} vectors, the reply has {seen}")
    # `index` says which text a vector is of; servers need not keep the order.
    indices = [row.get("index", place) for place, row in enumerate(data)]
    if not all(isinstance(index, int) for index in indices) or sorted(indices) != list(range(count)):
        raise Refusal("server", "the reply's `index` values are not those of the texts")
    usage = reply.get("usage")
    # Tokens are counted for the whole request; they are a text's own only where it stands alone.
    counted = usage.get("prompt_tokens") if count == 1 and isinstance(usage, dict) else None
    tokens = counted if isinstance(counted, int) else None
    found: list[Embedding | None] = [None] * count
    for index, row in zip(indices, data, strict=True):
        try:
            vector = np.array(row["embedding"], dtype=np.float32)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise Refusal("server", "the reply holds something that is no vector of numbers") from None
        if vector.ndim != 1 or vector.size < 2 or not np.isfinite(vector).all():
            raise Refusal(
                "server", f"the reply holds a vector of shape {vector.shape}, or one with no number"
            )
        found[index] = Embedding(vector, tokens)
    return [one for one in found if one is not None]
