"""Tasks grow with the metrics: where no task lets models differ by a metric, the tasks are written anew."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from magister.config.rubrics_judging import SceneGen
from magister.contracts.rubrics_score_tables import TASK_CHANGES
from magister.errors import UserError
from magister.llm import Request, Response, Speaker, canonical_json
from magister.prompts import Prompt
from magister.rubrics._cube import cube
from magister.rubrics.diagnosis import development, judged_only
from magister.rubrics.heard import task_line
from magister.rubrics.judging import criterion, holds_schema, json_format
from magister.rubrics.metric_text import Unfit, told
from magister.rubrics.rubric import Rubric
from magister.rubrics.scenario import Scenario, Task
from magister.rubrics.tasks import task_key


def unexercised(
    diagnosis: pa.Table, flags: pa.Table, rewritten: Collection[str], options: SceneGen
) -> list[str]:
    """Metrics that cannot discriminate because tasks do not exercise them.

    Flagged `low_discrimination`, with models that differ on fewer than `min_exercised` of the tasks, and after their
    text was rewritten already: the first remedy is the metric's own text.

    Args:
        diagnosis: RUBRIC_DIAGNOSIS table.
        flags: RUBRIC_FLAGS table of the same version.
        rewritten: metrics that an earlier iteration has rewritten.
        options: `min_exercised`.
    """
    low = {row["metric_id"] for row in flags.to_pylist() if row["flag"] == "low_discrimination"}
    return sorted(
        row["metric_id"]
        for row in diagnosis.to_pylist()
        if row["statistic"] == "exercised_share"
        and row["metric_id"] in low & set(rewritten)
        and row["value"] is not None
        and row["value"] < options.min_exercised
    )


def flat_tasks(scores: pa.Table, metric_ids: Sequence[str]) -> dict[str, list[str]]:
    """Tasks, not held out, on which no two models differ by some of the metrics: which metrics, by task."""
    data = development(judged_only(cube(scores)))
    panel = data.panel()
    found: dict[str, list[str]] = {}
    if data.held_out.all():
        return found
    for metric_id in metric_ids:
        at = np.flatnonzero(data.metric == metric_id)
        column = panel[:, at[0]] if at.size else np.full(panel.shape[0], np.nan)
        for task in np.unique(data.task_id.astype(str)):
            own = column[data.task_id == task]
            own = own[~np.isnan(own)]
            if own.size > 1 and own.min() == own.max():
                found.setdefault(str(task), []).append(metric_id)
    return {task: found[task] for task in sorted(found)}


def task_requests(
    scenario: Scenario,
    rubric: Rubric,
    flat: Mapping[str, Sequence[str]],
    about: str,
    speaker: Speaker,
    prompt: Prompt,
    options: SceneGen,
    *,
    iteration: int,
) -> dict[str, Request]:
    """Ask for other tasks, a call each.

    Args:
        scenario: with the tasks of this iteration.
        rubric: whose metrics the new tasks are to exercise.
        flat: `flat_tasks`.
        about: the scenario in a line.
        speaker: who writes.
        prompt: template over scenario, task, metrics, form.
        options: lengths.
        iteration: of the tasks to be made: the same task asked for again is another draw.

    Returns:
        Requests by the old task's id.

    Raises:
        UserError: a task is unknown or held out.
    """
    tasks = {task.task_id: task for task in scenario.tasks}
    found = {}
    for task_id in sorted(flat):
        if task_id not in tasks or tasks[task_id].held_out:
            why = "held out: the objective would change with it" if task_id in tasks else "unknown"
            raise UserError(f"scenario {scenario.name}: task {task_id} is {why}")
        variables = tasks[task_id].variables
        messages = prompt.render(
            scenario=about,
            task=task_line(variables),
            metrics="\n".join(criterion(rubric.metric(name)) for name in flat[task_id]),
            form=json.dumps(dict.fromkeys(sorted(variables), "..."), ensure_ascii=False),
        )
        text = {"type": "string"}
        schema = {
            "type": "object",
            "properties": dict.fromkeys(sorted(variables), text),
            "required": sorted(variables),
            "additionalProperties": False,
        }
        held = holds_schema(speaker.model, options.structured)
        found[task_id] = speaker.request(
            messages, options.max_tokens, iteration - 1, json_format("task", schema) if held else None
        )
    return found


class Grown(NamedTuple):
    """The tasks of the next iteration.

    Attributes:
        scenario: with the new tasks in the old ones' places.
        record: TASK_CHANGES table, a row per task that was to be written anew.
    """

    scenario: Scenario
    record: pa.Table


def parse_tasks(
    scenario: Scenario,
    flat: Mapping[str, Sequence[str]],
    requests: Mapping[str, Request],
    responses: Mapping[str, Response],
    options: SceneGen,
) -> Grown:
    """Read new tasks; one that lacks a variable, has another, or is there already leaves the old one in place.

    Args:
        scenario: with the tasks of this iteration.
        flat: `flat_tasks`.
        requests: `task_requests`.
        responses: by request key.
        options: lengths.
    """
    known = {task.task_id for task in scenario.tasks}
    new: dict[str, Task] = {}
    rows = []
    for task in sorted((one for one in scenario.tasks if one.task_id in flat), key=lambda one: one.task_id):
        response = responses[requests[task.task_id]["custom_id"]]
        found = told(response, dict.fromkeys(sorted(task.variables), "str"))
        status, detail, variables = found.status, found.detail, dict(task.variables)
        if status == "ok":
            try:
                variables = _variables(found.values, task.variables, options.max_chars)
                task_id = task_key(variables)
                if variables == dict(task.variables):
                    status = "unchanged"
                elif task_id in known:
                    raise Unfit("the scenario has this task already")
                else:
                    status = "rewritten"
                    known.add(task_id)
                    new[task.task_id] = replace(task, task_id=task_id, variables=variables)
            except Unfit as unfit:
                status, detail, variables = "invalid", str(unfit), dict(task.variables)
        rows.append(
            {
                "scenario": scenario.name,
                "old_task_id": task.task_id,
                "task_id": new[task.task_id].task_id if task.task_id in new else task.task_id,
                "status": status,
                "detail": detail,
                "raw": response.text,
                "request_id": response.custom_id,
                "metric_ids": ",".join(sorted(flat[task.task_id])),
                "old_variables": canonical_json(dict(task.variables)),
                "variables": canonical_json(variables),
            }
        )
    grown = replace(scenario, tasks=tuple(new.get(task.task_id, task) for task in scenario.tasks))
    return Grown(grown, pa.Table.from_pylist(rows, schema=TASK_CHANGES.schema))


def _variables(values: Mapping[str, Any], old: Mapping[str, str], max_chars: int) -> dict[str, str]:
    made = {name: str(values[name]).strip() for name in sorted(old)}
    for name, text in made.items():
        if not text.strip(". "):
            raise Unfit(f"{name}: no words")
        if len(text) > max_chars:
            raise Unfit(f"{name}: {len(text)} characters, {max_chars} are allowed")
    return made
