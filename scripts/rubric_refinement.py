"""What the steps of a refinement ask: of each scenario's best version so far, or nothing once its loop has stopped."""

from __future__ import annotations

from typing import Any, NamedTuple

from magister.llm import Request
from magister.prompts import load_prompt
from magister.rubrics.coevolve import task_requests, unexercised
from magister.rubrics.initial import about
from magister.rubrics.iterations import is_frozen
from magister.rubrics.parts import ByScenario
from magister.rubrics.refine import flagged_metrics, refine_requests
from magister.rubrics.rubric import Rubric, read_rubric
from magister.rubrics.scenario import Scenario
from magister.rubrics.tasks import with_tasks
from scripts.rubric_iterations import documents, scenarios, scenegen, together
from scripts.speakers import speaker
from scripts.step import Step


class Refinement(NamedTuple):
    """What is asked for a scenario in an iteration after the first.

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


class Past(NamedTuple):
    """The iterations before: documents by scenario, tables in parts, each in a list by iteration."""

    decisions: list[Any]
    rubrics: list[Any]
    tasks: list[Any]
    evidence: list[Any]
    flags: list[ByScenario]
    diagnoses: list[ByScenario]
    rewritten: ByScenario


def last_decisions(step: Step) -> dict[str, Any]:
    """The decision on each scenario in the iteration before."""
    last: dict[str, Any] = documents(step, "decisions")[-1]
    return last


def refinements(step: Step) -> dict[str, Refinement | None]:
    """What the step's iteration asks, by scenario; None where the loop has stopped."""
    past = Past(
        *(documents(step, name) for name in ("decisions", "rubrics", "tasks", "evidence")),
        *([ByScenario(table) for table in step.tables(name)] for name in ("flags", "diagnoses")),
        ByScenario(together(step.tables("records"), "rubric_refinements")),
    )
    return {name: _refinement(step, scenario, past) for name, scenario in scenarios(step).items()}


def _refinement(step: Step, written: Scenario, past: Past) -> Refinement | None:
    name = written.name
    last = past.decisions[-1][name]
    if is_frozen(last) or last["stop"]:
        return None
    best, options = int(last["best"]), scenegen(step)
    rubric = read_rubric(past.rubrics[best][name], f"{step.inputs['rubrics'][best]}: {name}")
    scenario = with_tasks(written, past.tasks[best][name], f"{step.inputs['tasks'][best]}: {name}")
    flags, diagnosis = past.flags[best][name], past.diagnoses[best][name]
    evidence = past.evidence[best][name]
    spared = unexercised(diagnosis, flags, set(past.rewritten[name]["metric_id"].to_pylist()), options)
    flat = {
        task: sorted(set(names) & set(spared))
        for task, names in evidence["flat"].items()
        if set(names) & set(spared)
    }
    flagged = flagged_metrics(flags, spared)
    who, number = speaker(step, step.params["writer"]), len(past.decisions)
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
