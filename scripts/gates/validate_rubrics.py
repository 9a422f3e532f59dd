"""Gate between a set of scenarios and the boards."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from magister.contracts.gate import run_gate
from magister.contracts.rubrics_score_tables import TASK_CHANGES
from magister.contracts.rubrics_suite import (
    RubricPlan,
    RubricTables,
    decision_table,
    expert_table,
    iterated,
    metric_table,
    rubrics_suite,
    task_table,
)
from magister.rubrics.checks import EMPTY_TURN, ROLE_LEAK
from magister.rubrics.iterations import is_frozen
from magister.rubrics.rubric import read_rubric
from magister.rubrics.scenario import Scenario
from magister.rubrics.waves import Cast
from scripts.gates.verdict import conclude
from scripts.rubric_iterations import Experts, documents, scenarios
from scripts.step import Step, read_table, run_step


def _check_names(scenario: Scenario) -> list[str]:
    """Checks that each dialogue of a scenario goes through."""
    rules = [veto.name for veto in scenario.evaluation.vetoes] if scenario.evaluation is not None else []
    return sorted({*rules, EMPTY_TURN, ROLE_LEAK})


def _experts(step: Step, rubrics: Sequence[Any]) -> pa.Table:
    """What experts gave the anchors that judges score."""
    experts = Experts(step)
    rows = []
    for name, found in rubrics[0].items():
        if not is_frozen(found):
            human = experts.of(read_rubric(found, name)).human
            rows += [
                (row["scenario"], row["dialogue_id"], row["metric_id"], row["value"])
                for row in human.to_pylist()
            ]
    return expert_table(rows)


def _by_iteration(step: Step, name: str) -> list[pa.Table]:
    """An input's tables by iteration: as many files of each as its number says."""
    counts: list[int] = step.params["files"][name]
    paths = iter(step.inputs.get(name, []))
    return [_together([next(paths) for _ in range(count)], name) for count in counts]


def _together(paths: list[Path], name: str) -> pa.Table:
    if not paths:
        # The first iteration changes no task.
        return TASK_CHANGES.schema.empty_table()
    return pa.concat_tables([read_table(path) for path in paths])


def run(step: Step) -> None:
    """Hold all tables of a set to what they promise."""
    one, judging = step.params["set_options"], step.params["judging"]
    read = scenarios(step)
    cast = Cast(one["partners"], one["max_turns"], one["semantics"])
    rubrics = documents(step, "rubrics")
    plan = RubricPlan(
        models=one["models"],
        partners=one["partners"],
        judges=one["judges"],
        repeats=judging["repeats"],
        samples=one["samples"],
        semantics=one["semantics"],
        candidates={name: scenario.candidate for name, scenario in read.items()},
        limits={name: cast.limit(scenario) for name, scenario in read.items()},
        checks={name: _check_names(scenario) for name, scenario in read.items()},
        iterations=one["iterations"],
        min_delta=step.params["min_delta"],
        missing=judging["missing"],
    )
    tables = RubricTables(
        metrics=metric_table(rubrics),
        tasks=task_table(documents(step, "tasks")),
        decisions=decision_table(documents(step, "decisions")),
        experts=_experts(step, rubrics),
        **{name: iterated(name, _by_iteration(step, name)) for name in step.params["files"]},
        metric_scores=step.table("metric_scores"),
        dialogue_scores=step.table("dialogue_scores"),
        standings=step.table("standings"),
        drift=step.table("drift"),
    )
    conclude(step, run_gate("rubrics", *rubrics_suite(tables, plan)))


if __name__ == "__main__":
    run_step(__spec__.name, run)
