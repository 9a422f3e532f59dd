"""Iterations of a rubric as steps read them: the version, its tasks, what came before, whether it takes place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from magister.config.models import ModelConfig
from magister.config.rubrics_judging import Judging, MetricChecks, SceneGen
from magister.llm import Request
from magister.prompts import load_prompt
from magister.rubrics._sums import Resampling
from magister.rubrics.anchors import Anchor, calibration, check_anchors, read_anchors, shots
from magister.rubrics.coevolve import flat_tasks, task_requests, unexercised, with_tasks
from magister.rubrics.decision import is_frozen
from magister.rubrics.families import Kin, kin
from magister.rubrics.heard import Heard, heard_dialogues
from magister.rubrics.initial import about
from magister.rubrics.judging import Shot
from magister.rubrics.reader import read_scenario
from magister.rubrics.refine import flagged_metrics, refine_requests
from magister.rubrics.rubric import Rubric, read_rubric
from magister.rubrics.scenario import Scenario
from scripts.speakers import speaker
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


def plan(step: Step) -> Resampling:
    """How intervals are drawn."""
    return Resampling(**step.params["statistics"])


def judging(step: Step) -> Judging:
    """How judges score."""
    return Judging.model_validate(step.params["judging"])


def checks(step: Step) -> MetricChecks:
    """The thresholds of flags."""
    return MetricChecks.model_validate(step.params["checks"])


def scenegen(step: Step) -> SceneGen:
    """How metrics and tasks are written."""
    return SceneGen.model_validate(step.params["scenegen"])


class Refinement(NamedTuple):
    """What is asked in an iteration after the first.

    Attributes:
        rubric: the best version so far.
        scenario: with its tasks.
        flagged: metrics to be written anew, with the evidence.
        metrics: requests by metric.
        flat: tasks to be written anew, with the metrics that they do not exercise.
        tasks: requests by task.
    """

    rubric: Rubric
    scenario: Scenario
    flagged: dict[str, dict[str, str]]
    metrics: dict[str, Request]
    flat: dict[str, list[str]]
    tasks: dict[str, Request]


def refinement(step: Step) -> Refinement | None:
    """What the step's iteration asks; None where the loop has stopped."""
    before = documents(step, "decisions")
    if is_frozen(before[-1]) or before[-1]["stop"]:
        return None
    best, options = int(before[-1]["best"]), scenegen(step)
    path = step.inputs["rubrics"][best]
    rubric = read_rubric(document(path), path.as_posix())
    where = step.inputs["tasks"][best]
    scenario = with_tasks(read_scenario(step.path("scenario")), document(where), where.as_posix())
    flags, diagnosis = (read_table(step.inputs[name][best]) for name in ("flags", "diagnoses"))
    evidence = document(step.inputs["evidence"][best])
    rewritten = {name for table in step.tables("records") for name in table["metric_id"].to_pylist()}
    spared = unexercised(diagnosis, flags, rewritten, options)
    flat = {
        task: sorted(set(names) & set(spared))
        for task, names in evidence["flat"].items()
        if set(names) & set(spared)
    }
    flagged = flagged_metrics(flags, spared)
    who, number = speaker(step, step.wildcards["model"]), len(before)
    metrics = refine_requests(
        rubric,
        flagged,
        evidence["said"],
        about(scenario),
        who,
        load_prompt(step.path("refine_prompt")),
        options,
        iteration=number,
    )
    tasks = task_requests(
        scenario,
        rubric,
        flat,
        about(scenario),
        who,
        load_prompt(step.path("task_prompt")),
        options,
        iteration=number,
    )
    return Refinement(rubric, scenario, flagged, metrics, flat, tasks)


def flat_by_task(scores: pa.Table, rubric: Rubric) -> dict[str, list[str]]:
    """Tasks on which models do not differ, by any of the rubric's metrics."""
    return flat_tasks(scores, rubric.metric_ids)


def of_iteration(step: Step, name: str, iteration: int) -> pa.Table:
    """The tables of one iteration: the input holds those of all, a judge each, iteration by iteration."""
    count = len(step.params["judges"])
    paths = step.inputs[name][iteration * count : (iteration + 1) * count]
    return pa.concat_tables([read_table(path) for path in paths])
