"""`embedders`: what turns texts into vectors."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from magister.config.base import PinnedFile, Section, Whole
from magister.config.models import Limits


class EmbedderConfig(Section):
    """One embedding model."""

    engine: Literal["minilm", "endpoint", "hashed"] = Field(
        description="`minilm`: a BERT encoder in ONNX form on this machine's cores. `endpoint`: an OpenAI-compatible "
        "`/embeddings`, for instance of `vllm serve`. `hashed`: counts of hashed words and word pairs, no model: for "
        "tests and scripted leagues."
    )
    weights: PinnedFile | None = Field(None, description="`minilm`: the ONNX file.")
    tokenizer: PinnedFile | None = Field(None, description="`minilm`: its `tokenizer.json` (WordPiece).")
    max_tokens: Whole = Field(
        256, ge=3, le=512, description="`minilm`: longer texts are cut here; how many were is counted."
    )
    dimensions: Whole | None = Field(
        None, ge=2, description="`hashed`: length of the vectors, 1024 by default. Others bring their own."
    )
    served_name: str | None = Field(None, description="`endpoint`: model name sent to it.")
    base_url: str | None = Field(None, description="`endpoint`: its address.")
    api_key_env: str | None = Field(
        None,
        description="`endpoint`: environment variable that holds the key. The key itself is never read from a file.",
    )
    revision: str | None = Field(
        None, description="`endpoint`: what pins the model when its name does not (a hash or a date)."
    )
    prefix: str = Field("", description="`endpoint`: put before every text, for models that ask for it.")
    extra: dict[str, Any] = Field(
        default_factory=dict,
        description="`endpoint`: further body fields, sent as they are (for instance `dimensions`).",
    )
    batch: Whole = Field(64, ge=1, le=2048, description="`endpoint`: texts per request.")
    limits: Limits = Field(default_factory=Limits, description="`endpoint`: rates and retries.")

    @model_validator(mode="after")
    def _engine_has_its_fields(self) -> EmbedderConfig:
        needed = {"minilm": ("weights", "tokenizer"), "endpoint": ("served_name", "base_url"), "hashed": ()}
        for option in needed[self.engine]:
            if getattr(self, option) is None:
                raise ValueError(f"engine {self.engine!r} needs {option!r}")
        if self.dimensions is not None and self.engine != "hashed":
            raise ValueError("'dimensions' is an option of engine 'hashed'; other models bring their own")
        owned = sorted({"model", "input", "encoding_format"} & set(self.extra))
        if owned:
            raise ValueError(f"extra: {', '.join(owned)} cannot be set there")
        return self
