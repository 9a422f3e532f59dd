"""`teaching`: leagues, and those that are derived from them to ask the models again under another setting."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from magister.config.base import NAME, AnswerAs, Name, Section, Whole

Arm = Literal["sham", "oracle_tell", "wrong_oracle", "self_revise", "verdict_only"]
"""Control arms."""

Ablation = Literal["more_rounds", "answer_revelation", "prompts", "option_order", "item_variants"]
"""Ablations that ask the models again."""

MAX_ROUNDS = 6
PROMPT_VERSIONS = ("v2", "v3", "v1")
"""Versions that every prompt of a league is shipped in; the two of an ablation are the first that the league lacks."""


class TeachingPrompts(Section):
    """Versions of the prompts of a league."""

    answer: str = Field("v1", description="Items with options: `prompts/answer/`.")
    guide: str = Field("v1", description="Students' replies to the teacher: `prompts/guide/`.")
    revise: str = Field("v1", description="Guidance to the student: `prompts/revise/`.")

    @classmethod
    def all_of(cls, version: str) -> TeachingPrompts:
        """One version of all prompts."""
        return cls(answer=version, guide=version, revise=version)


class ReplyLimits(Section):
    """Longest replies, in tokens."""

    answer: Whole = Field(64, ge=1, description="Answers to items with options.")
    guide: Whole = Field(96, ge=1, description="Guidance.")
    revise: Whole = Field(64, ge=1, description="Revised answers.")


class League(Section):
    """One teaching league: who teaches whom, on what."""

    students: list[Name] = Field(min_length=1, description="Models that are taught.")
    teachers: list[Name] = Field(min_length=1, description="Models that are rated.")
    datasets: list[Name] = Field(min_length=1, description="Datasets used.")
    items_variant: Name | None = Field(
        None, description="One of `items.variants` that the items are taken from; as built by default."
    )
    rounds: Whole | None = Field(
        None,
        ge=1,
        le=MAX_ROUNDS,
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
    prompts: TeachingPrompts | None = Field(
        None,
        description="Versions of the prompts of this league; those of `teaching.prompts` by default, one by one.",
    )
    option_order: Whole = Field(
        0, ge=0, description="Order of the options: 0 as they were built, else another one, by this seed."
    )
    ablations: list[Ablation] = Field(
        default_factory=list,
        description="Settings under which the whole league is played again, as leagues beside it: 6 rounds; telling "
        "the answer allowed, or forbidden; two other wordings of the prompts; two other orders of the options; every "
        "variant of the items.",
    )


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

    @field_validator("names")
    @classmethod
    def _one_model_a_name(cls, names: dict[str, dict[Name, str]]) -> dict[str, dict[Name, str]]:
        """A row of a board scores one model: used for two, it would be counted twice."""
        for board, mapped in names.items():
            by_name: dict[str, list[str]] = {}
            for model, name in mapped.items():
                by_name.setdefault(name, []).append(model)
            for name, models in by_name.items():
                if len(models) > 1:
                    raise ValueError(
                        f"{board}: {name!r} stands for {' and '.join(sorted(models))}; a name of a board is that of "
                        "one model"
                    )
        return names


class Teaching(Section):
    """The teaching league(s)."""

    rounds: Whole = Field(
        3, ge=1, le=MAX_ROUNDS, description="Rounds of guidance T of every league that names none of its own."
    )
    leagues: dict[Name, League] = Field(
        default_factory=dict, description="Leagues by name; without any, nobody is taught."
    )
    prompts: TeachingPrompts = Field(default_factory=TeachingPrompts, description="Prompt versions.")
    answer_as: AnswerAs = Field(
        "text", description="How models are asked to name an option: by its text or by its letter and text."
    )
    max_tokens: ReplyLimits = Field(default_factory=ReplyLimits, description="Reply limits.")
    policy: Literal["wrong", "drop"] = Field(
        "wrong", description="Replies without an answer count as wrong, or drop out of the denominator."
    )
    seed: Whole = Field(0, description="Seed of what the control arms draw.")
    external: External = Field(default_factory=External, description="Leaderboards of others.")

    @model_validator(mode="after")
    def _leagues_are_filled_in(self) -> Teaching:
        """Fill in what leagues share, so that `rounds` and `prompts` of a league are there wherever they are read."""
        leagues = {}
        for name, league in self.leagues.items():
            own = league.prompts or TeachingPrompts()
            named = {task: getattr(own, task) for task in own.model_fields_set}
            shared = {
                "rounds": self.rounds if league.rounds is None else league.rounds,
                "prompts": self.prompts.model_copy(update=named),
            }
            leagues[name] = league.model_copy(update=shared)
        return self.model_copy(update={"leagues": leagues})


@dataclass(frozen=True)
class DerivedLeague:
    """A league that plays another one again under one other setting.

    Attributes:
        base: name of the league that asks for it.
        ablation: what is changed.
        setting: to what, as tables say it.
        league: the league itself.
    """

    base: str
    ablation: Ablation
    setting: str
    league: League


@dataclass(frozen=True)
class _Setting:
    """One setting of an ablation: how it is called in names and in tables, and what it changes."""

    slug: str
    label: str
    changes: Mapping[str, Any]


def _more_rounds(league: League, variants: Collection[str]) -> Iterator[_Setting]:
    if league.rounds == MAX_ROUNDS:
        raise ValueError(
            f"more_rounds plays {MAX_ROUNDS} rounds, and this league has {MAX_ROUNDS} already; leave more_rounds out, "
            "or give the league fewer rounds"
        )
    yield _Setting(f"rounds-{MAX_ROUNDS}", f"{MAX_ROUNDS} rounds", {"rounds": MAX_ROUNDS})


def _answer_revelation(league: League, variants: Collection[str]) -> Iterator[_Setting]:
    words = "may not tell" if league.may_tell_answer else "may tell"
    yield _Setting(
        words.replace(" ", "-"), f"{words} the answer", {"may_tell_answer": not league.may_tell_answer}
    )


def _prompts(league: League, variants: Collection[str]) -> Iterator[_Setting]:
    worded = {version: TeachingPrompts.all_of(version) for version in PROMPT_VERSIONS}
    others = [version for version in PROMPT_VERSIONS if worded[version] != league.prompts]
    for version in others[:2]:
        yield _Setting(f"prompts-{version}", f"prompts {version}", {"prompts": worded[version]})


def _option_order(league: League, variants: Collection[str]) -> Iterator[_Setting]:
    for seed in [seed for seed in (1, 2, 3) if seed != league.option_order][:2]:
        yield _Setting(f"order-{seed}", f"option order {seed}", {"option_order": seed})


def _item_variants(league: League, variants: Collection[str]) -> Iterator[_Setting]:
    others = [name for name in variants if name != league.items_variant]
    if not others:
        raise ValueError(
            "item_variants plays the league on every variant of the items; items.variants has no other"
        )
    for name in others:
        yield _Setting(f"items-{name}", f"items {name}", {"items_variant": name})


_SETTINGS: dict[Ablation, Callable[[League, Collection[str]], Iterator[_Setting]]] = {
    "more_rounds": _more_rounds,
    "answer_revelation": _answer_revelation,
    "prompts": _prompts,
    "option_order": _option_order,
    "item_variants": _item_variants,
}


def derived_leagues(teaching: Teaching, variants: Collection[str]) -> dict[str, DerivedLeague]:
    """The leagues that play others again, once for each setting of the ablations that these ask for.

    Nothing but the setting differs from the league they are derived from, so that all requests the setting leaves
    alone are equal and asked once.

    Args:
        teaching: the validated section.
        variants: names of `items.variants`.

    Returns:
        By name, `<league>--<setting>`, in the order of the leagues and of `ablations`.

    Raises:
        ValueError: an ablation changes nothing, or a name is that of another league or no name; says where.
    """
    found: dict[str, DerivedLeague] = {}
    for base, league in teaching.leagues.items():
        where = f"teaching.leagues.{base}.ablations"
        for ablation in league.ablations:
            try:
                settings = list(_SETTINGS[ablation](league, variants))
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None
            for setting in settings:
                name = f"{base}--{setting.slug}"
                if name in teaching.leagues:
                    raise ValueError(
                        f"{where}: {ablation} plays a league {name!r}, and teaching.leagues has one of this name "
                        "already; rename that one"
                    )
                if not re.fullmatch(NAME, name):
                    raise ValueError(
                        f"{where}: {ablation} plays a league {name!r}; its {len(name)} characters are too many for a "
                        "name, at most 64 fit: give the league a shorter one"
                    )
                changed = league.model_copy(update={**setting.changes, "ablations": []})
                found[name] = DerivedLeague(base, ablation, setting.label, changed)
    return found


def played_leagues(teaching: Teaching, variants: Collection[str]) -> dict[str, League]:
    """All leagues that a run plays, by name: those of the section, then those derived from them.

    Args:
        teaching: the validated section.
        variants: names of `items.variants`.
    """
    derived = derived_leagues(teaching, variants)
    return teaching.leagues | {name: found.league for name, found in derived.items()}
