"""What the steps of a refinement ask: of the best version so far, or nothing once the loop has stopped."""

from __future__ import annotations

from typing import NamedTuple

from magister.llm import Request
from magister.prompts import load_prompt
from magister.rubrics.coevolve import task_requests, unexercised
from magister.rubrics.initial import about
from magister.rubrics.iterations import is_frozen
from magister.rubrics.reader import read_scenario
from magister.rubrics.refine import flagged_metrics, refine_requests
from magister.rubrics.rubric import Rubric, read_rubric
from magister.rubrics.scenario import Scenario
from magister.rubrics.tasks import with_tasks
from scripts.rubric_iterations import document, documents, scenegen
from scripts.speakers import speaker
from scripts.step import Step, read_table


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
