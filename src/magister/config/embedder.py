"""`embedder`: what turns texts into vectors."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from magister.config.base import PinnedFile, Section


class Embedder(Section):
    """What turns texts into vectors."""

    engine: Literal["minilm", "openai", "hashed"] = Field(
        "hashed",
        description="`minilm`: a sentence model on this machine; `openai`: an endpoint; `hashed`: words, no model.",
    )
    weights: PinnedFile | None = Field(None, description="`minilm`: the ONNX file.")
    tokenizer: PinnedFile | None = Field(None, description="`minilm`: its tokenizer.")
    max_length: int = Field(
        256, ge=8, le=8192, description="`minilm`: tokens read of a text; longer ones are counted."
    )
    dimensions: int | None = Field(
        None, ge=8, description="`hashed` (256 by default) and `openai`: length of a vector."
    )
    served_name: str | None = Field(None, description="`openai`: model name sent to the endpoint.")
    base_url: str | None = Field(None, description="`openai`: address of the endpoint.")
    api_key_env: str | None = Field(None, description="`openai`: environment variable that holds the key.")
    revision: str | None = Field(None, description="`openai`: what pins the model when its name does not.")

    @model_validator(mode="after")
    def _engine_has_its_fields(self) -> Embedder:
        needed = {"minilm": ("weights", "tokenizer"), "openai": ("served_name", "base_url"), "hashed": ()}
        for name in needed[self.engine]:
            if getattr(self, name) is None:
                raise ValueError(f"engine {self.engine!r} needs {name!r}")
        return self
