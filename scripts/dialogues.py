"""Dialogues as steps read them: scenarios, who speaks for whom, and the state after the waves so far."""

from __future__ import annotations

import json

from magister.rubrics.reader import read_scenario
from magister.rubrics.scenario import Scenario
from magister.rubrics.tasks import iteration_tasks
from magister.rubrics.waves import Cast, Dialogue, open_dialogues, replay
from scripts.step import Step


def scenarios(step: Step) -> list[Scenario]:
    """The scenarios of a step with the tasks of its iteration; none of those whose iteration does not take place."""
    where = step.path("tasks")
    tasks = json.loads(where.read_text(encoding="utf-8"))
    grown = [
        iteration_tasks(scenario, tasks[scenario.name], f"{where}: {scenario.name}")
        for scenario in map(read_scenario, step.inputs["scenarios"])
    ]
    return [scenario for scenario in grown if scenario is not None]


def cast(step: Step) -> Cast:
    """Who speaks for whom."""
    return Cast(step.params["partners"], step.params["max_turns"], step.params["semantics"])


def dialogues(step: Step) -> list[Dialogue]:
    """All dialogues after the waves that the step is given, in their order."""
    opened = open_dialogues(
        scenarios(step),
        step.params["models"],
        semantics=step.params["semantics"],
        samples=step.params["samples"],
    )
    return replay(opened, step.tables("waves"), cast(step))
