"""All of `params.yaml`: its sections together, what they say of one another, and how a mistake is reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, Field, Tag, ValidationError, model_validator

from magister.config.arena import Arena
from magister.config.base import Name, Real, Section, Whole
from magister.config.diagnosis import Diagnosis
from magister.config.embedders import EmbedderConfig
from magister.config.items import Items
from magister.config.models import PLAYED, ModelConfig
from magister.config.rubrics import Rubrics
from magister.config.teaching import Arm, Teaching, derived_leagues
from magister.errors import UserError

_Check = Callable[[list[str], str], None]


class Statistics(Section):
    """Intervals."""

    resamples: Whole = Field(10_000, ge=100, description="Bootstrap resamples.")
    level: Real = Field(0.95, gt=0.5, lt=1, description="Coverage of the intervals.")
    seed: Whole = Field(0, description="Seed of the resampling.")


class Llm(Section):
    """Model calls in general."""

    max_error_share: Real = Field(
        0.02,
        ge=0,
        le=1,
        description="A step with more infrastructure errors than this fails and can be resumed.",
    )
    replay: bool = Field(False, description="Answer from the store only; a missing response is an error.")


class Params(Section):
    """All of `params.yaml`."""

    models: dict[Name, ModelConfig] = Field(description="Speakers by name.", min_length=1)
    items: Items = Field(default_factory=Items)
    # Validated, as a section of the file is: its leagues are filled in then.
    teaching: Teaching = Field(default_factory=lambda: Teaching.model_validate({}))
    arena: Arena = Field(default_factory=Arena)
    diagnosis: Diagnosis = Field(default_factory=Diagnosis)
    rubrics: Rubrics = Field(default_factory=Rubrics)
    embedders: dict[Name, EmbedderConfig] = Field(
        default_factory=dict, description="What turns texts into vectors, by name."
    )
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

        def playable(names: list[str], role: str, where: str) -> None:
            for name in names:
                script = self.models[name].script if self.models[name].engine == "scripted" else None
                if role not in PLAYED.get(script or "", (role,)):
                    able = " or ".join(
                        f"`script: {player}`" for player, roles in PLAYED.items() if role in roles
                    )
                    raise ValueError(
                        f"{where}: {name!r} has `script: {script}`, which cannot answer as one of the {role}; expected "
                        f"{able}, or a model of another engine"
                    )

        for role in ("distractor_models", "ladder"):
            known(getattr(self.items, role), f"items.{role}")
            different(getattr(self.items, role), f"items.{role}")
        if self.items.rewriter != "rules":
            known([self.items.rewriter], "items.rewriter")
        if self.items.reviewer is not None:
            known([self.items.reviewer], "items.reviewer")
            if self.items.rewriter == "rules":
                raise ValueError("items.reviewer needs items.rewriter to be a model")
        for name, variant in self.items.variants.items():
            for role in ("paraphraser", "reviewer"):
                if getattr(variant, role) is not None:
                    known([getattr(variant, role)], f"items.variants.{name}.{role}")
        for name, league in self.teaching.leagues.items():
            if league.items_variant is not None and league.items_variant not in self.items.variants:
                raise ValueError(
                    f"teaching.leagues.{name}.items_variant: unknown variant {league.items_variant!r}; "
                    f"known: {', '.join(sorted(self.items.variants)) or 'none'}"
                )
            for role in ("students", "teachers"):
                known(getattr(league, role), f"teaching.leagues.{name}.{role}")
                playable(getattr(league, role), role, f"teaching.leagues.{name}.{role}")
            for dataset in league.datasets:
                if dataset not in self.items.datasets:
                    raise ValueError(
                        f"teaching.leagues.{name}.datasets: unknown dataset {dataset!r}; "
                        f"known: {', '.join(sorted(self.items.datasets)) or 'none'}"
                    )
            for role in ("students", "teachers", "datasets", "arms", "ablations"):
                different(getattr(league, role), f"teaching.leagues.{name}.{role}")
            for arm in get_args(Arm):
                if arm in league.teachers:
                    raise ValueError(
                        f"teaching.leagues.{name}.teachers: {arm!r} is the name of a control arm"
                    )
        derived_leagues(self.teaching, self.items.variants)  # for its complaints
        self._arena_names_exist(known, different, playable)
        self._diagnosis_names_exist(known, different, playable)
        self._rubrics_names_exist(known, different, playable)
        for board, names in self.teaching.external.names.items():
            known(list(names), f"teaching.external.names.{board}")
        return self

    def _arena_names_exist(
        self, known: _Check, different: _Check, playable: Callable[[list[str], str, str], None]
    ) -> None:
        """Models and scenarios that the arena names."""
        known(self.arena.evolution.generators, "arena.evolution.generators")
        self._embedder_exists(self.arena.embedder, "arena.embedder")
        if self.arena.embedder is None and (self.arena.leagues or self.arena.evolution.rounds):
            raise ValueError("arena.embedder: name one of embedders")
        # Rows of a file may name scenarios of their own; the step that selects looks again.
        open_ended = any(
            source.kind != "generated" and source.columns.scenario != ""
            for source in self.arena.sources.values()
        )
        scenarios = {source.scenario for source in self.arena.sources.values()}
        for name, league in self.arena.leagues.items():
            where = f"arena.leagues.{name}"
            for role in ("models", "judges"):
                known(getattr(league, role), f"{where}.{role}")
                playable(getattr(league, role), role, f"{where}.{role}")
            if league.similarity_judge is not None:
                known([league.similarity_judge], f"{where}.similarity_judge")
                playable([league.similarity_judge], "similarity judges", f"{where}.similarity_judge")
            for scenario in league.scenarios:
                if scenario not in scenarios and not open_ended:
                    raise ValueError(
                        f"{where}.scenarios: no source has the scenario {scenario!r}; "
                        f"known: {', '.join(sorted(scenarios)) or 'none'}"
                    )
            for role in ("models", "scenarios", "judges"):
                different(getattr(league, role), f"{where}.{role}")

    def _embedder_exists(self, name: str | None, where: str) -> None:
        if name is not None and name not in self.embedders:
            raise ValueError(
                f"{where}: unknown embedder {name!r}; known: {', '.join(sorted(self.embedders)) or 'none'}"
            )

    def _diagnosis_names_exist(
        self, known: _Check, different: _Check, playable: Callable[[list[str], str, str], None]
    ) -> None:
        """Models and data sets that the diagnosis names."""
        diagnosis = self.diagnosis
        self._embedder_exists(diagnosis.embedder, "diagnosis.embedder")
        if diagnosis.labeller is not None:
            known([diagnosis.labeller], "diagnosis.labeller")
        for name, study in diagnosis.studies.items():
            where = f"diagnosis.studies.{name}"
            if study.q is None and diagnosis.embedder is None:
                raise ValueError(f"{where}: attributes come from the items' texts: name a diagnosis.embedder")
            known(study.models, f"{where}.models")
            playable(study.models, "examined", f"{where}.models")
            for dataset in study.datasets:
                if dataset not in self.items.datasets:
                    raise ValueError(
                        f"{where}.datasets: unknown dataset {dataset!r}; "
                        f"known: {', '.join(sorted(self.items.datasets))}"
                    )
            for role in ("models", "datasets", "logs"):
                different(getattr(study, role), f"{where}.{role}")

    def _rubrics_names_exist(
        self, known: _Check, different: _Check, playable: Callable[[list[str], str, str], None]
    ) -> None:
        """Models that play, score and write rubrics."""
        for name, one in self.rubrics.sets.items():
            where = f"rubrics.sets.{name}"
            for option, names, role in (
                ("models", one.models, "speakers"),
                ("partners", [*one.partners.values()], "speakers"),
                ("judges", one.judges, "rubric judges"),
                ("writer", [one.writer] if one.writer else [], "rubric writers"),
            ):
                known(names, f"{where}.{option}")
                playable(names, role, f"{where}.{option}")
            different(one.models, f"{where}.models")
            different(one.judges, f"{where}.judges")


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


def _given(kind: Any) -> Any:
    """The type of an option that may be left out, where it is given."""
    members = [member for member in get_args(kind) if member is not NoneType]
    return members[0] if get_origin(kind) in (Union, UnionType) and len(members) == 1 else kind


def _explained(problem: Mapping[str, Any]) -> str:
    """A problem as a line: the key as it stands in the file, what is wrong, what was seen."""
    kind: Any = Params
    path: list[str] = []
    options: list[str] = []
    for part in problem["loc"]:
        kind = _given(kind)
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
