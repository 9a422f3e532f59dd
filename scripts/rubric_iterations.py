"""Iterations of a rubric as steps read them: the version, its tasks, what came before, whether it takes place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from magister.config.models import ModelConfig
from magister.config.rubrics_judging import Judging, SceneGen
from magister.rubrics.anchors import Anchor, calibration, check_anchors, read_anchors, shots
from magister.rubrics.families import Kin, kin
from magister.rubrics.heard import Heard, heard_dialogues
from magister.rubrics.iterations import is_frozen
from magister.rubrics.judging import Shot
from magister.rubrics.reader import read_scenario
from magister.rubrics.rubric import Rubric, read_rubric
from magister.rubrics.scenario import Scenario
from magister.rubrics.tasks import with_tasks
from scripts.step import Step, read_table


def document(path: Path) -> Any:
    """A JSON document of an iteration."""
    return json.loads(path.read_text(encoding="utf-8"))


def documents(step: Step, name: str) -> list[Any]:
    """The documents of an input, one an iteration, in order."""
    return [document(path) for path in step.inputs.get(name, [])]


def version(step: Step, name: str = "rubric") -> Rubric | None:
    """The rubric of the step's iteration; None where it does not take place."""
    path = step.path(name)
    found = document(path)
    return None if is_frozen(found) else read_rubric(found, path.as_posix())


def played(step: Step) -> Scenario:
    """The step's scenario with the tasks of its iteration."""
    scenario, path = read_scenario(step.path("scenario")), step.path("tasks")
    return with_tasks(scenario, document(path), path.as_posix())


def heard(step: Step, scenario: Scenario) -> list[Heard]:
    """The dialogues of the step's iteration."""
    return heard_dialogues(step.table("transcripts"), step.table("dialogues"), scenario)


def anchors(step: Step, rubric: Rubric) -> list[Anchor]:
    """Anchors of the rubric's scenario, held to the rubric."""
    found = []
    for path in step.inputs.get("anchors", []):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        found += [
            one for one in read_anchors(rows, path.as_posix()) if one.dialogue.scenario == rubric.scenario
        ]
    check_anchors(found, rubric)
    return found


def anchored(step: Step, rubric: Rubric) -> tuple[list[Shot], list[Heard], pa.Table]:
    """Examples for judges, anchors that they score, and what experts gave those (HUMAN_SCORES)."""
    found = anchors(step, rubric)
    return shots(found, rubric.scenario), *calibration(found, rubric.scenario)


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
