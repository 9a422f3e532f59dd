"""The tasks of an iteration: which are held out, and how they are kept in a file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from magister.errors import UserError
from magister.llm import canonical_json, uniform
from magister.rubrics.iterations import is_frozen
from magister.rubrics.scenario import Scenario, Task


def held_out_tasks(scenario: Scenario, share: float) -> frozenset[str]:
    """Tasks kept for the objective: those that the scenario names, else a share of them, drawn by their ids.

    One at least is held out and one at least is not, where there are two.
    """
    named = frozenset(task.task_id for task in scenario.tasks if task.held_out)
    if named or len(scenario.tasks) < 2:
        return named
    ids = sorted(
        (task.task_id for task in scenario.tasks), key=lambda name: (uniform(name, "held_out"), name)
    )
    count = min(max(round(share * len(ids)), 1), len(ids) - 1)
    return frozenset(ids[:count])


def task_key(variables: Mapping[str, str]) -> str:
    """A task's id, as the readers of scenarios give it."""
    return hashlib.sha256(canonical_json(dict(variables)).encode()).hexdigest()[:12]


def tasks_document(scenario: Scenario) -> list[dict[str, Any]]:
    """The tasks of an iteration, as a JSON document."""
    return [
        {"task_id": task.task_id, "variables": dict(task.variables), "held_out": task.held_out}
        for task in scenario.tasks
    ]


def with_tasks(scenario: Scenario, document: Sequence[Mapping[str, Any]], where: str) -> Scenario:
    """A scenario with the tasks of an iteration.

    Args:
        scenario: as its file has it.
        document: what `tasks_document` made.
        where: the document's file, for messages.

    Raises:
        UserError: a task does not have the scenario's variables.
    """
    wanted, at = set(scenario.variables), scenario.at
    tasks = []
    for number, entry in enumerate(document, start=1):
        if set(entry["variables"]) != wanted:
            raise UserError(
                f"{where}: task {number} has the variables {', '.join(sorted(entry['variables']))}, scenario "
                f"{scenario.name} {', '.join(sorted(wanted))}; make the tasks of this scenario again"
            )
        tasks.append(Task(entry["task_id"], number, dict(entry["variables"]), at, bool(entry["held_out"])))
    return replace(scenario, tasks=tuple(tasks))


def iteration_tasks(scenario: Scenario, document: object, where: str) -> Scenario | None:
    """A scenario with the tasks of an iteration; None where the iteration does not take place.

    Args:
        scenario: as its file has it.
        document: what `tasks_document` made, or a stub.
        where: the document's file, for messages.
    """
    return None if is_frozen(document) else with_tasks(scenario, document, where)  # type: ignore[arg-type]


def first_tasks(scenario: Scenario, share: float) -> Scenario:
    """A scenario with its tasks divided for the evolution of its rubric."""
    held = held_out_tasks(scenario, share)
    return replace(
        scenario, tasks=tuple(replace(task, held_out=task.task_id in held) for task in scenario.tasks)
    )
