"""`arena`: instructions, who responds to them, which are compared, and by whom."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

from pydantic import Field, field_validator, model_validator

from magister.config.base import Name, Real, Section, Whole
from magister.config.instructions import Evolution, InstructionLimits, InstructionSource


class ArenaLeague(Section):
    """Models that are compared with one another."""

    models: list[Name] = Field(min_length=2, description="Models that are rated.")
    scenarios: list[Name] = Field(min_length=1, description="Scenarios of the instructions used.")
    k: Whole = Field(10, ge=1, description="Instructions compared per pair of models and scenario.")
    similarity: Literal["embedding", "token", "judge"] = Field(
        "embedding",
        description="How alike two responses are: cosine of their vectors, share of words in common, or the score that "
        "`similarity_judge` gives each pair of responses: a call per pair of models and instruction.",
    )
    similarity_judge: Name | None = Field(
        None, description="`similarity: judge`: the model that scores how alike two responses are, 0 to 1."
    )
    lam: Real = Field(
        1.0, ge=0, description="Weight of the penalty for instructions like those chosen already."
    )
    penalty: Literal["max", "mean"] = Field(
        "max", description="Likeness to the nearest instruction chosen already, or to all of them on average."
    )
    random_share: Real = Field(
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

    @model_validator(mode="after")
    def _similarity_has_its_judge(self) -> ArenaLeague:
        if (self.similarity == "judge") != (self.similarity_judge is not None):
            raise ValueError(
                "similarity 'judge' needs 'similarity_judge', one of models"
                if self.similarity_judge is None
                else f"similarity_judge {self.similarity_judge!r} is not asked with similarity {self.similarity!r}; "
                "leave it out, or choose similarity 'judge'"
            )
        return self


class ArenaPrompts(Section):
    """Versions of the arena's prompts."""

    respond: str = Field("v1", description="Instructions to a model: `prompts/respond/`.")
    judge_pair: str = Field("v1", description="Two responses to a judge: `prompts/judge_pair/`.")
    similarity: str = Field(
        "v1", description="Two responses whose likeness is scored: `prompts/similarity/`."
    )


class ArenaLimits(Section):
    """Longest replies, in tokens."""

    respond: Whole = Field(512, ge=1, description="Responses.")
    judge: Whole = Field(16, ge=1, description="Verdicts of judges.")
    similarity: Whole = Field(24, ge=1, description="Scores of likeness.")


class Elo(Section):
    """Elo as the paper plays it."""

    k: Real = Field(4.0, gt=0, description="What a match moves at most.")
    orderings: Whole = Field(1000, ge=1, description="Orders of the votes that are played.")


class Arena(Section):
    """Models compared on the instructions on which they differ most."""

    sources: dict[Name, InstructionSource] = Field(
        default_factory=dict, description="Where instructions come from, by name."
    )
    instructions: InstructionLimits = Field(
        default_factory=InstructionLimits, description="What an instruction may be."
    )
    evolution: Evolution = Field(default_factory=Evolution, description="How the pool grows.")
    leagues: dict[Name, ArenaLeague] = Field(
        default_factory=dict, description="Leagues by name; without any, nobody is compared."
    )
    embedder: Name | None = Field(
        None,
        description="One of `embedders`, for likeness of responses and of instructions; needed with leagues.",
    )
    prompts: ArenaPrompts = Field(default_factory=ArenaPrompts, description="Prompt versions.")
    max_tokens: ArenaLimits = Field(default_factory=ArenaLimits, description="Reply limits.")
    ablation_k: Whole = Field(
        10,
        ge=1,
        description="Most comparisons per pair and scenario in the ablation, which asks how well the first 1, 2, ... "
        "of them rank the models.",
    )
    policy: Literal["wrong", "drop"] = Field(
        "wrong", description="Responses without an answer lose by the key, or give no vote."
    )
    elo: Elo = Field(default_factory=Elo, description="The paper's Elo.")
    seed: Whole = Field(0, description="Seed of sides and of the random arm.")
