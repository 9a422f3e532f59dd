"""`rubrics`: how judges score, what makes a metric suspect, and when a rubric is done."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from magister.config.base import Name, Real, Section, Whole


class Judging(Section):
    """How judges score dialogues."""

    calls: Literal["all", "each"] = Field(
        "all", description="One call for all metrics of a dialogue, or one for each metric."
    )
    reason: bool = Field(True, description="The judge gives a reason before each score.")
    reason_chars: Whole = Field(
        200, ge=20, le=2000, description="Longest reason, where the engine holds replies to a JSON schema."
    )
    structured: Literal["auto", "schema", "off"] = Field(
        "auto",
        description="Replies held to a JSON schema by the engine: where it can do so, always, or never.",
    )
    sampling: Literal["greedy", "model"] = Field(
        "greedy", description="Judges decode greedily, or as their own model says."
    )
    repeats: Whole = Field(
        1, ge=1, le=50, description="How often each judge scores a dialogue; the median counts."
    )
    exclude: Literal["none", "self", "family"] = Field(
        "self", description="A judge does not score its own model, or no model of its family."
    )
    families: dict[Name, Name] = Field(
        default_factory=dict,
        description="Family of a model, where the name of its weights or of its endpoint does not tell it.",
    )
    cut_dialogues: Literal["score", "exclude"] = Field(
        "score", description="What becomes of dialogues that ran into the limit of turns."
    )
    missing: Literal["unknown", "renormalise"] = Field(
        "unknown",
        description="A dialogue without a score on some metric has no total, or one from the metrics that have one.",
    )
    max_tokens: Whole = Field(512, ge=1, description="Longest reply of a judge, in tokens.")


class MetricChecks(Section):
    """From where on a metric is flagged. The thresholds are ours, not the paper's."""

    min_n: Whole = Field(
        20, ge=2, description="Scored dialogues below which a metric is flagged `insufficient_data` only."
    )
    lenient_mean: Real = Field(
        0.9, ge=0, le=1, description="Mean from which a metric may be too lenient, as share of the scale."
    )
    lenient_ceiling: Real = Field(
        0.8, ge=0, le=1, description="Share of highest scores that makes it so, together with the mean."
    )
    strict_mean: Real = Field(
        0.25, ge=0, le=1, description="Mean up to which a metric is too strict, as share of the scale."
    )
    strict_floor: Real = Field(
        0.6, ge=0, le=1, description="Share of lowest scores from which it is too strict."
    )
    low_discrimination: Real = Field(
        0.05,
        ge=0,
        le=1,
        description="Share of variance between models below which a metric does not discriminate.",
    )
    unreliable_alpha: Real = Field(
        0.4, ge=-1, le=1, description="Judges' ordinal alpha below which a metric is unreliable."
    )
    unreliable_repeat_sd: Real = Field(
        0.2,
        ge=0,
        description="Spread of a judge's repeats above which it is unreliable, as share of the scale.",
    )
    redundant_r: Real = Field(
        0.95,
        ge=0,
        le=1,
        description="Correlation with another metric from which one of the two is redundant.",
    )
    off_target_length_r: Real = Field(
        0.8,
        ge=0,
        le=1,
        description="Correlation with length, of either sign, from which a metric measures that.",
    )
    off_target_item_total: Real = Field(
        -0.1,
        ge=-1,
        le=1,
        description="Correlation with the other metrics below which a metric works against them.",
    )
    off_target_human: Real = Field(
        0.3,
        ge=0,
        le=1,
        description="Mean distance from people's scores above which a metric misses what they mean, "
        "as share of the scale.",
    )


class Objective(Section):
    """What makes one version of a rubric better than another, and when to stop."""

    unreliability: Real = Field(0.5, ge=0, description="Weight of disagreement between judges or repeats.")
    human: Real = Field(0.5, ge=0, description="Weight of the distance from people's scores on the anchors.")
    missing: Real = Field(0.5, ge=0, description="Weight of the share of scores that are missing.")
    min_delta: Real = Field(
        0.01,
        ge=0,
        description="Smallest gain that counts; versions nearer than that are a tie, which the earlier wins.",
    )
    patience: Whole = Field(
        2,
        ge=1,
        description="Iterations without a gain above `min_delta` and its standard error before the loop stops.",
    )
    max_calls: Whole | None = Field(
        None, ge=1, description="Model calls after which the loop stops; none by default."
    )


class SceneGen(Section):
    """How metrics and tasks are written and rewritten."""

    metrics: Whole = Field(
        8, ge=1, le=60, description="Metrics of a first rubric, shared out by the dimensions' weights."
    )
    max_chars: Whole = Field(1200, ge=50, description="Longest description, example or anchor of a metric.")
    min_exercised: Real = Field(
        0.2,
        ge=0,
        le=1,
        description="Share of tasks on which models must differ by a metric; below it, and once its "
        "text was rewritten, the tasks are written anew instead.",
    )
    held_out: Real = Field(
        0.3,
        gt=0,
        lt=1,
        description="Share of tasks kept for the objective, where the scenario names none itself.",
    )
    structured: Literal["auto", "schema", "off"] = Field(
        "auto",
        description="Replies with metrics and tasks held to a JSON schema by the engine, as for judges.",
    )
    max_tokens: Whole = Field(1024, ge=1, description="Longest reply with metrics or tasks, in tokens.")
