"""What an embedding engine hands over, and how one is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from magister.config.embedders import EmbedderConfig

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Embedding:
    """What became of one text."""

    vector: FloatArray | None
    """As the model gave it, shape (dimensions,); None where the call failed."""
    tokens: int | None = None
    """Tokens of the text before any cut; None when they were not counted."""
    truncated: bool | None = None
    """Whether the text was cut to fit the model; None when that is not known."""
    error: tuple[str, str] | None = None
    """Error code and message of a failed call."""
    attempts: int = 1
    """Tries used."""


Deliver = Callable[[int, Embedding], None]
"""Told the place of a text and what became of it."""


class Embedder(Protocol):
    """Something that turns texts into vectors."""

    def embed(self, texts: Sequence[str], deliver: Deliver) -> None:
        """Embed texts, handing over each as it is finished, in any order, each exactly once, one at a time.

        Raises:
            UserError: no text can be embedded (a refused key, an unknown model).
        """

    def close(self) -> None:
        """Free what it holds. May be called twice."""


def create_embedder(
    name: str,
    config: EmbedderConfig,
    *,
    weights: Path | None = None,
    tokenizer: Path | None = None,
    workers: int | None = None,
) -> Embedder:
    """Start the engine of an embedding model.

    Args:
        name: the embedder's name in the configuration, for messages.
        config: its entry.
        weights: the ONNX file, for `minilm`.
        tokenizer: its `tokenizer.json`, for `minilm`.
        workers: how many texts an engine on this machine works on at once; one per usable core by default. Never
            changes a vector.

    Raises:
        UserError: the engine or something it needs is missing.
    """
    # Imported where needed: each brings a library that the others do without.
    if config.engine == "minilm":
        from magister.embeddings.minilm import MiniLM

        return MiniLM(name, config, weights=weights, tokenizer=tokenizer, workers=workers)
    if config.engine == "endpoint":
        from magister.embeddings.endpoint import EmbeddingsEndpoint

        return EmbeddingsEndpoint(name, config)
    from magister.embeddings.hashed import Hashed

    return Hashed(config)
