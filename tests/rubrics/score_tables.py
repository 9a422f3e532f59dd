"""RUBRIC_SCORES tables made from arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from rubric_tables import metric, rubric

from magister.contracts.rubrics_score_tables import HUMAN_SCORES, RUBRIC_SCORES
from magister.rubrics._sums import Resampling
from magister.rubrics.rubric import Rubric

PLAN = Resampling(400, 0)
TASKS, MODELS, JUDGES = 12, ("a", "b", "c"), ("ann", "bob")
Rule = Callable[[int, int, int, int], float | None]
"""A score by the numbers of task, model, judge and repeat."""


def named(*names: str, **more: Any) -> Rubric:
    """A rubric of one dimension with metrics of equal weight."""
    return rubric(*(metric(name, weight=1 / len(names)) for name in names), **more)


def scores(
    made: Rubric,
    rules: dict[str, Rule],
    *,
    tasks: int = TASKS,
    models: tuple[str, ...] = MODELS,
    judges: tuple[str, ...] = JUDGES,
    repeats: int = 1,
    held_out: Callable[[int], bool] = lambda task: False,
    status: Callable[[str, int, int], str] | None = None,
) -> pa.Table:
    """What judges said of a dialogue per task and model; a rule that gives None is a parse error."""
    rows = []
    for t in range(tasks):
        for m, model in enumerate(models):
            for name, rule in rules.items():
                for j, judge in enumerate(judges):
                    for r in range(repeats):
                        value = rule(t, m, j, r)
                        told = "ok" if value is not None else "parse_error"
                        told = told if status is None else status(name, t, m) or told
                        if told not in ("ok", "vetoed"):
                            value = None
                        rows.append(
                            {
                                "scenario": made.scenario,
                                "rubric_sha": made.sha,
                                "dialogue_id": f"t{t:02}-{model}",
                                "task_id": f"t{t:02}",
                                "model": model,
                                "held_out": held_out(t),
                                "metric_id": name,
                                "judge": judge,
                                "repeat": r + 1,
                                "status": told,
                                "reason": "",
                                "was_repaired": False,
                                "value": value,
                            }
                        )
    return pa.Table.from_pylist(rows, schema=RUBRIC_SCORES.schema)


def human(made: Rubric, values: dict[tuple[str, str], float], annotator: str = "hal") -> pa.Table:
    """People's scores by (dialogue, metric)."""
    rows = [
        {
            "scenario": made.scenario,
            "dialogue_id": dialogue,
            "metric_id": name,
            "annotator": annotator,
            "value": value,
        }
        for (dialogue, name), value in values.items()
    ]
    return pa.Table.from_pylist(rows, schema=HUMAN_SCORES.schema)


def shuffled(table: pa.Table, seed: int = 0) -> pa.Table:
    """The same rows in another order."""
    return table.take(np.random.default_rng(seed).permutation(table.num_rows))


def spread(task: int, model: int, judge: int, repeat: int) -> float:
    """A score that tells models apart, with some noise between tasks."""
    return float(min(5, max(1, 2 + model + (task % 3 == 0))))
