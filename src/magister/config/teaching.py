"""`teaching`: leagues."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

from pydantic import Field, field_validator, model_validator

from magister.config.base import AnswerAs, Name, Section

Arm = Literal["sham", "oracle_tell", "wrong_oracle", "self_revise", "verdict_only"]
"""Control arms."""


class TeachingPrompts(Section):
    """Versions of the prompts of a league."""

    answer: str = Field("v1", description="Items with options: `prompts/answer/`.")
    guide: str = Field("v1", description="Students' replies to the teacher: `prompts/guide/`.")
    revise: str = Field("v1", description="Guidance to the student: `prompts/revise/`.")


class ReplyLimits(Section):
    """Longest replies, in tokens."""

    answer: int = Field(64, ge=1, description="Answers to items with options.")
    guide: int = Field(96, ge=1, description="Guidance.")
    revise: int = Field(64, ge=1, description="Revised answers.")


class League(Section):
    """One teaching league: who teaches whom, on what."""

    students: list[Name] = Field(min_length=1, description="Models that are taught.")
    teachers: list[Name] = Field(min_length=1, description="Models that are rated.")
    datasets: list[Name] = Field(min_length=1, description="Datasets used.")
    rounds: int | None = Field(
        None,
        ge=1,
        le=6,
        description="Rounds of guidance T of this league; those of `teaching.rounds` by default.",
    )
    blind: Literal["strict", "paper", "off"] = Field(
        "strict", description="What the teacher sees of the options."
    )
    arms: list[Arm] = Field(
        default_factory=list,
        description="Control arms, run beside the teachers: fixed guidance, or (`verdict_only`) each teacher's verdict "
        "without its guidance.",
    )
    may_tell_answer: bool = Field(
        False, description="Whether the teacher's prompt allows stating the answer."
    )
    student_shots: bool = Field(True, description="Revision demonstrations in the students' prompts.")


class External(Section):
    """Leaderboards of others, which the leagues are compared with."""

    boards: list[str] = Field(
        default_factory=list,
        description="Files with scores of others, .csv in `data/external/`: columns board, model, score, date.",
    )
    names: dict[str, dict[Name, str]] = Field(
        default_factory=dict,
        description="By board, as its file calls it: what each model of `models` is called there. A name without an "
        "entry is listed and never guessed.",
    )

    @field_validator("boards")
    @classmethod
    def _where_dvc_looks(cls, boards: list[str]) -> list[str]:
        for path in boards:
            parts = PurePosixPath(path).parts
            if parts[:2] != ("data", "external") or ".." in parts or not path.endswith(".csv"):
                raise ValueError(
                    f"{path!r}: expected a .csv file in data/external/, where both engines notice its edits"
                )
            if boards.count(path) > 1:
                raise ValueError(f"{path!r} stands there twice")
        return boards


class Teaching(Section):
    """The teaching league(s)."""

    rounds: int = Field(
        3, ge=1, le=6, description="Rounds of guidance T of every league that names none of its own."
    )
    leagues: dict[Name, League] = Field(min_length=1, description="Leagues by name.")
    prompts: TeachingPrompts = Field(default_factory=TeachingPrompts, description="Prompt versions.")
    answer_as: AnswerAs = Field(
        "text", description="How models are asked to name an option: by its text or by its letter and text."
    )
    max_tokens: ReplyLimits = Field(default_factory=ReplyLimits, description="Reply limits.")
    policy: Literal["wrong", "drop"] = Field(
        "wrong", description="Replies without an answer count as wrong, or drop out of the denominator."
    )
    seed: int = Field(0, description="Seed of what the control arms draw.")
    external: External = Field(default_factory=External, description="Leaderboards of others.")

    @model_validator(mode="after")
    def _every_league_has_rounds(self) -> Teaching:
        """Fill in the leagues' rounds, so that `league.rounds` is a number wherever it is read."""
        leagues = {
            name: league.model_copy(update={"rounds": self.rounds}) if league.rounds is None else league
            for name, league in self.leagues.items()
        }
        return self.model_copy(update={"leagues": leagues})
