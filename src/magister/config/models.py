"""`models`: who speaks."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from magister.config.base import PinnedFile, Real, Section, Whole


class Sampling(Section):
    """How a model decodes. Part of every request and so of every request key."""

    temperature: Real = Field(0.0, ge=0, le=2, description="0 is greedy.")
    top_p: Real = Field(1.0, gt=0, le=1, description="Nucleus share.")
    seed: Whole = Field(1, description="Seed sent with each request.")
    extra: dict[str, Any] = Field(
        default_factory=dict, description="Further body fields, sent as they are (for instance `top_k`)."
    )


class Limits(Section):
    """How hard an endpoint may be driven. Not part of any request key."""

    concurrency: Whole = Field(8, ge=1, description="Requests under way at once.")
    attempts: Whole = Field(6, ge=1, description="Tries per request before its error is recorded.")
    timeout: Real = Field(120.0, gt=0, description="Seconds for one try.")
    backoff: Real = Field(
        1.0, gt=0, description="First wait before a retry, in seconds; doubles, with jitter."
    )
    backoff_max: Real = Field(60.0, gt=0, description="Longest wait before a retry, in seconds.")
    requests_per_minute: Real | None = Field(None, gt=0, description="Ceiling; none by default.")


PRICES = ("price_in", "price_out")
"""Options of a model that no step is given: a new price makes nothing run again."""


PLAYED = {
    "student": ("students", "examined"),
    "teacher": ("students", "teachers", "examined"),
    "rewriter": (),
    "paraphraser": (),
    "reviewer": (),
    "responder": ("models",),
    "pair_judge": ("judges",),
    "similarity_judge": ("similarity judges",),
    "rubric_teacher": ("speakers",),
    "rubric_student": ("speakers",),
    "rubric_judge": ("rubric judges",),
    "rubric_writer": ("rubric writers",),
}
"""Of each shipped player that reads its prompts the roles in a league that it can play."""


class ModelConfig(Section):
    """One speaker: what answers, how it decodes and in which persona."""

    engine: Literal["llama_cpp", "openai", "scripted"] = Field(description="Which engine answers.")
    weights: PinnedFile | None = Field(None, description="`llama_cpp`: the GGUF file.")
    profile: Literal["deterministic", "fast"] = Field(
        "deterministic",
        description="`llama_cpp`: deterministic (one single-thread server per core, no prompt cache) or fast.",
    )
    context: Whole = Field(2048, ge=256, description="`llama_cpp`: context window in tokens.")
    served_name: str | None = Field(
        None, description="`openai`: model name sent to the endpoint, with its date."
    )
    base_url: str | None = Field(None, description="`openai`: address of the endpoint.")
    api_key_env: str | None = Field(
        None,
        description="`openai`: environment variable that holds the key. The key itself is never read from a file.",
    )
    revision: str | None = Field(
        None, description="`openai`: what pins the model when its name does not (a hash or a date)."
    )
    script: str | None = Field(None, description="`scripted`: name of the registered player.")
    script_args: dict[str, float | int | str | bool] = Field(
        default_factory=dict, description="`scripted`: arguments of the player."
    )
    system: str | None = Field(None, description="Persona: put before every system prompt.")
    sampling: Sampling = Field(default_factory=Sampling, description="Decoding settings.")
    limits: Limits = Field(default_factory=Limits, description="Rates and retries.")
    price_in: Real | None = Field(
        None,
        ge=0,
        description="Price of a million prompt tokens, for `magister plan`. No result depends on it.",
    )
    price_out: Real | None = Field(None, ge=0, description="Price of a million reply tokens, as `price_in`.")

    @model_validator(mode="after")
    def _engine_has_its_fields(self) -> ModelConfig:
        needed = {"llama_cpp": "weights", "openai": "served_name", "scripted": "script"}[self.engine]
        if getattr(self, needed) is None:
            raise ValueError(f"engine {self.engine!r} needs {needed!r}")
        if self.engine == "openai" and self.base_url is None:
            raise ValueError("engine 'openai' needs 'base_url'")
        return self
