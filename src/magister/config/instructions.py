"""`arena`: where instructions come from and how they evolve."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from magister.config.base import Name, Real, Section, Sha256, WheelFile, Whole

Operation = Literal[
    "add_constraint", "deepen", "concretise", "more_reasoning_steps", "complicate_input", "breadth"
]
OPERATIONS: tuple[Operation, ...] = (
    "add_constraint",
    "deepen",
    "concretise",
    "more_reasoning_steps",
    "complicate_input",
    "breadth",
)


class InstructionColumns(Section):
    """Which column of a source holds what. A column of the same name is used where none is named here."""

    instruction: str = Field("instruction", description="The instruction.")
    gold: str | None = Field(None, description="A right answer that can be checked; empty for none.")
    id: str | None = Field(None, description="What identifies the row in the source; kept beside it.")
    scenario: str | None = Field(None, description="Scenario, where it differs by row; empty for none.")


class InstructionSource(Section):
    """One source of seed instructions."""

    scenario: Name = Field(
        description="Scenario of all rows without one of their own, for instance `creative_writing`."
    )
    kind: Literal["file", "wheel", "generated"] = Field(description="Where the instructions come from.")
    path: str | None = Field(None, description="`file`: path of a .jsonl, .json, .csv or .parquet file.")
    sha256: Sha256 | None = Field(None, description="`file`: expected hash; checked when given.")
    wheel: WheelFile | None = Field(None, description="`wheel`: the pinned file.")
    columns: InstructionColumns = Field(
        default_factory=InstructionColumns, description="`file` and `wheel`: column map."
    )
    generator: str | None = Field(
        None,
        description="`generated`: a reasoning-gym task, or `sums` (built in); its answers are the golds.",
    )
    generator_args: dict[str, Any] = Field(default_factory=dict, description="`generated`: its arguments.")
    n: Whole | None = Field(
        None, ge=1, description="How many instructions to use; all by default. Drawn by seed."
    )
    seed: Whole = Field(0, description="Seed of the generator and of the draw.")

    @model_validator(mode="after")
    def _kind_has_its_fields(self) -> InstructionSource:
        needed = {"file": "path", "wheel": "wheel", "generated": "generator"}[self.kind]
        if getattr(self, needed) is None:
            raise ValueError(f"kind {self.kind!r} needs {needed!r}")
        if self.kind == "generated" and self.n is None:
            raise ValueError("kind 'generated' needs 'n'")
        return self


class InstructionLimits(Section):
    """What an instruction may be, whether it comes from a source or from a generator model."""

    min_chars: Whole = Field(10, ge=1, description="Shorter instructions are rejected.")
    max_chars: Whole = Field(4000, ge=1, description="Longer instructions are rejected.")

    @model_validator(mode="after")
    def _in_order(self) -> InstructionLimits:
        if self.min_chars > self.max_chars:
            raise ValueError(f"min_chars ({self.min_chars}) is above max_chars ({self.max_chars})")
        return self


class Evolution(Section):
    """How the pool grows: in each round the youngest instruction of every lineage is rewritten once."""

    rounds: Whole = Field(0, ge=0, le=100, description="Rounds; 0 leaves the seeds alone.")
    generators: list[Name] = Field(
        default_factory=list, description="Models that rewrite; one per instruction and round, by seed."
    )
    operations: list[Operation] = Field(
        list(OPERATIONS),
        min_length=1,
        description="What may be done; one per instruction and round, by seed.",
    )
    seed: Whole = Field(0, description="Seed of operations and generators.")
    max_tokens: Whole = Field(256, ge=1, description="Reply limit of the generators.")
    near_duplicate: Real | None = Field(
        0.95,
        gt=0,
        le=1,
        description="Cosine from which an evolved instruction is too near another of its scenario; null: no check.",
    )
    prompt: str = Field("v1", description="Version of the prompt: `prompts/evolve/`.")

    @model_validator(mode="after")
    def _someone_evolves(self) -> Evolution:
        if self.rounds and not self.generators:
            raise ValueError("'rounds' needs 'generators'")
        for option in ("generators", "operations"):
            values = getattr(self, option)
            if len(set(values)) != len(values):
                raise ValueError(f"{option}: a name stands there twice")
        return self
