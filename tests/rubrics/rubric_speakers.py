"""Models that speak in dialogues."""

from __future__ import annotations

from magister.config.models import ModelConfig
from magister.llm import Speaker, fingerprint


def make_speaker(name: str, **options: object) -> Speaker:
    """A scripted model that repeats the last message with its name before it."""
    model = ModelConfig.model_validate(
        {"engine": "scripted", "script": "echo", "script_args": {"prefix": f"{name}:"}} | options
    )
    return Speaker(name, model, fingerprint(name, model, None))
