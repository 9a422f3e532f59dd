"""Iterations of a set as steps read them: each scenario's version and tasks, and which of them take place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from magister.config.models import ModelConfig
from magister.config.rubrics_judging import Judging, SceneGen
from magister.contracts.schemas import CONTRACTS
from magister.errors import UserError
from magister.rubrics.anchors import Anchor, calibration, check_anchors, read_anchors, shots
from magister.rubrics.families import Kin, kin
from magister.rubrics.heard import Heard, heard_dialogues
from magister.rubrics.iterations import is_frozen
from magister.rubrics.judging import Shot
from magister.rubrics.parts import ByScenario
from magister.rubrics.reader import read_scenario
from magister.rubrics.rubric import Rubric, read_rubric
from magister.rubrics.scenario import Scenario
from magister.rubrics.tasks import with_tasks
from scripts.step import Step, read_table


class Part(NamedTuple):
    """A scenario in an iteration that takes place.

    Attributes:
        scenario: with the tasks of the iteration.
        rubric: the iteration's version.
    """

    scenario: Scenario
    rubric: Rubric


class Anchored(NamedTuple):
    """Anchors of a scenario.

    Attributes:
        shots: examples for judges.
        scored: those that judges score.
        human: HUMAN_SCORES table of what experts gave these.
    """

    shots: list[Shot]
    scored: list[Heard]
    human: pa.Table


def document(path: Path) -> Any:
    """A JSON document: by scenario, where it is one of an iteration."""
    return json.loads(path.read_text(encoding="utf-8"))


def documents(step: Step, name: str) -> list[Any]:
    """The documents of an input, one an iteration, in order."""
    return [document(path) for path in step.inputs.get(name, [])]


def scenarios(step: Step) -> dict[str, Scenario]:
    """The set's scenarios by name, in order.

    Raises:
        UserError: two have one name.
    """
    read = [read_scenario(path) for path in step.inputs["scenarios"]]
    found = {one.name: one for one in sorted(read, key=lambda one: one.name)}
    if len(found) < len(read):
        twice = sorted(one.at.file for one in read if one is not found[one.name])
        raise UserError(
            f"{twice[0]}: another file of the set has a scenario of this name; rename one of them"
        )
    return found


def parts(step: Step, rubrics: Path | None = None, tasks: Path | None = None) -> list[Part]:
    """The scenarios whose iteration takes place, in the order of their names.

    Args:
        step: with the inputs `scenarios`, `rubrics` and `tasks`.
        rubrics: versions by scenario; the step's only file by default.
        tasks: tasks by scenario, likewise.
    """
    where, about = rubrics or step.path("rubrics"), tasks or step.path("tasks")
    made, given = document(where), document(about)
    return [
        Part(with_tasks(scenario, given[name], about.as_posix()), read_rubric(made[name], f"{where}: {name}"))
        for name, scenario in scenarios(step).items()
        if not is_frozen(made[name])
    ]


class Dialogues:
    """The dialogues of an iteration."""

    def __init__(self, transcripts: pa.Table, dialogues: pa.Table) -> None:
        """Divide the tables of an iteration."""
        self._transcripts, self._dialogues = ByScenario(transcripts), ByScenario(dialogues)

    def __getitem__(self, scenario: Scenario) -> list[Heard]:
        """Those of a scenario."""
        return heard_dialogues(self._transcripts[scenario.name], self._dialogues[scenario.name], scenario)


def heard(step: Step) -> Dialogues:
    """The dialogues of the step's iteration."""
    return Dialogues(step.table("transcripts"), step.table("dialogues"))


def parted(step: Step, name: str) -> ByScenario:
    """An input of one or several tables, by scenario."""
    return ByScenario(step.table(name))


def _rows(path: Path) -> list[Any]:
    """The lines of a file of anchors."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except ValueError as error:
                raise UserError(f"{path}: line {number} is not JSON: {error}") from None
    return rows


class Experts:
    """The anchors of a set, read once."""

    def __init__(self, step: Step) -> None:
        """Read the input `anchors`, if there is one."""
        self._anchors: list[Anchor] = []
        for path in step.inputs.get("anchors", []):
            self._anchors += read_anchors(_rows(path), path.as_posix())

    def check(self, scenarios: Iterable[str]) -> None:
        """Refuse anchors of scenarios that the set does not have.

        Raises:
            UserError: names the anchor and its scenario.
        """
        known = set(scenarios)
        for one in self._anchors:
            if one.dialogue.scenario not in known:
                raise UserError(
                    f"anchor {one.dialogue.dialogue_id}: the set has no scenario {one.dialogue.scenario!r}; it has "
                    f"{', '.join(sorted(known))}"
                )

    def of(self, rubric: Rubric) -> Anchored:
        """Anchors of the rubric's scenario, held to the rubric."""
        own = [one for one in self._anchors if one.dialogue.scenario == rubric.scenario]
        check_anchors(own, rubric)
        return Anchored(shots(own, rubric.scenario), *calibration(own, rubric.scenario))


def kinships(step: Step, names: Sequence[str], more: Sequence[str] = ()) -> dict[str, Kin]:
    """Kinship of models of the step's parameters; `more` are nobody's kin."""
    families = step.params["judging"]["families"]
    prints = {path.stem: document(path) for path in step.inputs["fingerprints"]}
    known = {
        name: kin(name, ModelConfig.model_validate(step.params["models"][name]), prints[name], families)
        for name in names
    }
    return {name: Kin(name, name, f"none of {name}") for name in more} | known


def judging(step: Step) -> Judging:
    """How judges score."""
    return Judging.model_validate(step.params["judging"])


def scenegen(step: Step) -> SceneGen:
    """How metrics and tasks are written."""
    return SceneGen.model_validate(step.params["scenegen"])


def of_iteration(step: Step, name: str, iteration: int) -> pa.Table:
    """The tables of one iteration: the input holds those of all, a judge each, iteration by iteration."""
    count = len(step.params["judges"])
    paths = step.inputs[name][iteration * count : (iteration + 1) * count]
    return pa.concat_tables([read_table(path) for path in paths])


def together(tables: Iterable[pa.Table], contract: str) -> pa.Table:
    """Tables of many scenarios as one; an empty one where there is none."""
    return pa.concat_tables([CONTRACTS[contract].schema.empty_table(), *tables])
