"""`arena`: instructions, who responds to them, which are compared, and by whom."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from magister.config.base import Name, Section, Sha256

Operation = Literal[
    "add_constraint", "deepen", "concretise", "more_reasoning_steps", "complicate_input", "breadth"
]
"""What an evolution does to an instruction."""


class InstructionColumns(Section):
    """Which column of a file holds what."""

    text: str = Field("instruction", description="The instruction.")
    gold: str | None = Field(None, description="The right answer, where there is one; empty for none.")
    id: str | None = Field(None, description="Identifier; the content identifies a row without one.")


class Evolution(Section):
    """New instructions made from old ones."""

    rounds: int = Field(ge=1, le=100, description="Rounds; each evolves every instruction that is there.")
    generators: list[Name] = Field(
        min_length=1, description="Models that write; one per parent, drawn by seed."
    )
    operations: list[Operation] = Field(
        ["add_constraint", "deepen", "concretise", "more_reasoning_steps", "complicate_input", "breadth"],
        min_length=1,
        description="What may be done to an instruction; one per parent, drawn by seed.",
    )
    near_duplicate: float = Field(
        0.97, gt=0, le=1, description="Cosine from which an evolved instruction is a copy of another one."
    )
    max_tokens: int = Field(256, ge=1, description="Reply limit of the generators.")


class Scenario(Section):
    """One pool of instructions."""

    kind: Literal["generated", "file"] = Field(description="Where the seeds come from.")
    n: int | None = Field(None, ge=1, description="How many seeds to use; all by default. Drawn by seed.")
    seed: int = Field(0, description="Seed of the generator, of the draw and of the evolution.")
    generator: str | None = Field(
        None, description="`generated`: a reasoning-gym task, or `sums` (built in); its answers are the key."
    )
    generator_args: dict[str, Any] = Field(default_factory=dict, description="`generated`: its arguments.")
    path: str | None = Field(None, description="`file`: path of a .jsonl, .csv or .parquet file.")
    sha256: Sha256 | None = Field(None, description="`file`: expected hash; checked when given.")
    columns: InstructionColumns = Field(default_factory=InstructionColumns, description="`file`: column map.")
    max_chars: int | None = Field(
        None, ge=1, description="Longer instructions are rejected, with that reason."
    )
    evolution: Evolution | None = Field(None, description="How the pool grows; not at all by default.")

    @model_validator(mode="after")
    def _kind_has_its_fields(self) -> Scenario:
        needed = {"generated": "generator", "file": "path"}[self.kind]
        if getattr(self, needed) is None:
            raise ValueError(f"kind {self.kind!r} needs {needed!r}")
        if self.kind == "generated" and self.n is None:
            raise ValueError("kind 'generated' needs 'n'")
        return self


class ArenaLeague(Section):
    """Models that are compared with one another."""

    models: list[Name] = Field(min_length=2, description="Models that are rated.")
    scenarios: list[Name] = Field(min_length=1, description="Scenarios used.")
    k: int = Field(10, ge=1, description="Instructions compared per pair of models and scenario.")
    similarity: Literal["embedding", "token"] = Field(
        "embedding",
        description="How alike two responses are: cosine of their vectors, or share of words in common.",
    )
    lam: float = Field(
        1.0, ge=0, description="Weight of the penalty for instructions like those chosen already."
    )
    penalty: Literal["max", "mean"] = Field(
        "max", description="Likeness to the nearest instruction chosen already, or to all of them on average."
    )
    random_share: float = Field(
        0.3, ge=0, le=1, description="Share of `k` that is drawn at random, to see whether selection helps."
    )
    prefilter: bool = Field(
        False,
        description="Only responses that are not empty, have more than 20 words each, and of which neither is 4 times "
        "as long as the other.",
    )
    key: bool = Field(True, description="Votes by the answer key, where the instruction has one.")
    judges: list[Name] = Field(default_factory=list, description="Models that vote, each in both orders.")
    exclude_self: bool = Field(True, description="A judge does not vote on its own responses.")
    people: list[str] = Field(
        default_factory=list,
        description="Sheets that people filled in: .csv or .jsonl in `data/annotations/`.",
    )

    @field_validator("people")
    @classmethod
    def _where_dvc_looks(cls, people: list[str]) -> list[str]:
        for path in people:
            parts = PurePosixPath(path).parts
            if parts[:2] != ("data", "annotations") or ".." in parts or not path.endswith((".csv", ".jsonl")):
                raise ValueError(
                    f"{path!r}: expected a .csv or .jsonl file in data/annotations/, where both engines notice edits"
                )
            if people.count(path) > 1:
                raise ValueError(f"{path!r} stands there twice")
        return people


class ArenaPrompts(Section):
    """Versions of the arena's prompts."""

    evolve: str = Field("v1", description="Instructions to a generator: `prompts/evolve/`.")
    respond: str = Field("v1", description="Instructions to a model: `prompts/respond/`.")
    judge_pair: str = Field("v1", description="Two responses to a judge: `prompts/judge_pair/`.")


class ArenaLimits(Section):
    """Longest replies, in tokens."""

    respond: int = Field(512, ge=1, description="Responses.")
    judge: int = Field(16, ge=1, description="Verdicts of judges.")


class Elo(Section):
    """Elo as the paper plays it."""

    k: float = Field(4.0, gt=0, description="What a match moves at most.")
    orderings: int = Field(1000, ge=1, description="Orders of the votes that are played.")


class Arena(Section):
    """Models compared on the instructions on which they differ most."""

    scenarios: dict[Name, Scenario] = Field(
        default_factory=dict, description="Pools of instructions by name."
    )
    leagues: dict[Name, ArenaLeague] = Field(default_factory=dict, description="Leagues by name.")
    prompts: ArenaPrompts = Field(default_factory=ArenaPrompts, description="Prompt versions.")
    max_tokens: ArenaLimits = Field(default_factory=ArenaLimits, description="Reply limits.")
    elo: Elo = Field(default_factory=Elo, description="The paper's Elo.")
    seed: int = Field(0, description="Seed of sides and of the random arm.")
