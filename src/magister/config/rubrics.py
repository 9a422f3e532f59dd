"""`rubrics`: sets of scenarios, who plays them, who scores them, and how their rubrics evolve."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from magister.config.base import Name, Real, Section, Whole
from magister.config.rubrics_judging import Judging, MetricChecks, Objective, SceneGen


def _below(path: str, folder: str, suffixes: tuple[str, ...]) -> str:
    """A file that both engines watch."""
    parts = PurePosixPath(path).parts
    if parts[:2] != ("data", folder) or ".." in parts or not path.endswith(suffixes):
        raise ValueError(
            f"{path!r}: expected a file {', '.join(suffixes)} in data/{folder}/, where both engines notice edits"
        )
    return path


class RubricDimension(Section):
    """What a rubric is about, in part."""

    id: Name = Field(description="Its name: a-z, 0-9 and _.")
    weight: Real = Field(gt=0, le=1, description="Share of the score; the weights add up to 1.")
    desc: str = Field(min_length=1, description="What it says of a dialogue.")

    @field_validator("id")
    @classmethod
    def _plain(cls, name: str) -> str:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise ValueError(f"{name!r}: expected a-z, 0-9 and _, a letter first")
        return name


class RubricSet(Section):
    """Scenarios that are played and scored together."""

    scenarios: list[str] = Field(min_length=1, description="Scenario files in `data/scenarios/`.")
    models: list[Name] = Field(min_length=1, description="Models that are evaluated, each as the candidate.")
    partners: dict[str, Name] = Field(
        default_factory=dict,
        description="Who speaks for the other agents, by the agent's name; `*`: for all that are not named.",
    )
    judges: list[Name] = Field(min_length=1, description="Models that score; the median counts.")
    source: Literal["scenario", "scenegen"] = Field(
        "scenario",
        description="The first rubric: the one that stands in the scenario file, or one that `writer` writes.",
    )
    writer: Name | None = Field(None, description="The model that writes metrics and tasks.")
    iterations: Whole = Field(
        0,
        ge=0,
        le=20,
        description="How often a rubric is rewritten at most; 0: the first one is the only one.",
    )
    anchors: list[str] = Field(
        default_factory=list,
        description="Dialogues that experts have scored: .jsonl in `data/annotations/`.",
    )
    max_turns: Whole = Field(8, ge=1, le=200, description="Turns after which a dialogue is cut.")
    samples: Whole = Field(1, ge=1, le=100, description="Dialogues per task and model.")
    semantics: Literal["fixed", "compat"] = Field(
        "fixed", description="`compat`: files of Elmes 0.1 are played as Elmes 0.1.13 does."
    )

    judging: Judging | None = Field(None, description="How judges score here, in place of `rubrics.judging`.")
    checks: MetricChecks | None = Field(
        None, description="When a metric is flagged here, in place of `rubrics.checks`."
    )

    @field_validator("scenarios")
    @classmethod
    def _scenario_files(cls, paths: list[str]) -> list[str]:
        if repeated := sorted({path for path in paths if paths.count(path) > 1}):
            raise ValueError(f"{', '.join(repeated)} stands there twice")
        return [_below(path, "scenarios", (".yaml", ".yml")) for path in paths]

    @field_validator("anchors")
    @classmethod
    def _annotated(cls, paths: list[str]) -> list[str]:
        return [_below(path, "annotations", (".jsonl",)) for path in paths]

    @model_validator(mode="after")
    def _writer_is_there(self) -> RubricSet:
        needed = self.iterations > 0 or self.source == "scenegen"
        if needed != (self.writer is not None):
            raise ValueError(
                "iterations and `source: scenegen` need 'writer', one of models"
                if needed
                else f"writer {self.writer!r} writes nothing: give iterations, or `source: scenegen`"
            )
        return self


class RubricPrompts(Section):
    """Versions of the prompts of rubrics."""

    judge_rubric: str = Field("v1", description="A dialogue to a judge: `prompts/judge_rubric/`.")
    repair_score: str = Field("v1", description="A reply that is put into form: `prompts/repair_score/`.")
    initial_metrics: str = Field("v1", description="First metrics: `prompts/initial_metrics/`.")
    refine_metric: str = Field("v1", description="A flagged metric: `prompts/refine_metric/`.")
    regenerate_task: str = Field("v1", description="A task that is written anew: `prompts/regenerate_task/`.")


class Rubrics(Section):
    """Dialogues of scenarios, scored by rubrics that improve themselves."""

    sets: dict[Name, RubricSet] = Field(default_factory=dict, description="Sets of scenarios by name.")
    dimensions: list[RubricDimension] | None = Field(
        None, description="Dimensions of rubrics that `writer` begins; the four seed dimensions without."
    )
    scale: Annotated[list[Whole], Field(min_length=2, max_length=2)] = Field(
        [1, 5], description="Lowest and highest score of a scenario file's rubric, where it names none."
    )
    max_tokens: Whole = Field(256, ge=1, description="Longest turn; a scenario may set a smaller one.")
    judging: Judging = Field(default_factory=Judging, description="How judges score.")
    checks: MetricChecks = Field(default_factory=MetricChecks, description="When a metric is flagged.")
    objective: Objective = Field(default_factory=Objective, description="Which version is better.")
    scenegen: SceneGen = Field(default_factory=SceneGen, description="How metrics and tasks are written.")
    prompts: RubricPrompts = Field(default_factory=RubricPrompts, description="Prompt versions.")

    @model_validator(mode="after")
    def _dimensions_add_up(self) -> Rubrics:
        low, high = self.scale
        if low >= high:
            raise ValueError(f"scale {low} to {high}: expected the lowest score first")
        if self.dimensions is not None:
            total = sum(dimension.weight for dimension in self.dimensions)
            if abs(total - 1) > 1e-9:
                raise ValueError(f"weights of the dimensions add up to {total:.6g}, not to 1")
            names = [dimension.id for dimension in self.dimensions]
            if len(set(names)) < len(names):
                raise ValueError("a dimension stands there twice")
        return self
