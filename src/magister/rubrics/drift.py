"""How far judges are from experts on the anchors, and whether that moves as the rubric does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from magister.contracts.rubrics_score_tables import ANCHOR_DRIFT
from magister.rubrics._sums import Resampling, estimate_row
from magister.rubrics.diagnosis import Known, anchor_differences
from magister.rubrics.rubric import Rubric
from magister.stats import Estimate, cluster_mean


def anchor_drift(
    scores: Mapping[int, pa.Table], human: pa.Table, rubrics: Mapping[int, Rubric], plan: Resampling
) -> pa.Table:
    """How far the panel is from the experts in each iteration, and how that moved since the first.

    Args:
        scores: RUBRIC_SCORES table of the anchors by iteration.
        human: HUMAN_SCORES table of the anchors.
        rubrics: the versions they were scored by.
        plan: level of the intervals; they are t intervals over anchors.

    Returns:
        ANCHOR_DRIFT table: signed (`bias`) and absolute (`deviation`) distance of panel and experts, and the change of
        both on the anchors that both iterations have scored. The first iteration has no drift.
    """
    since = min(scores, default=0)
    rows: list[dict[str, Any]] = []
    for iteration in sorted(scores):
        rubric = rubrics[iteration]
        for metric_id in rubric.metric_ids:
            now = _gaps(scores[iteration], human, metric_id)
            then = _gaps(scores[since], human, metric_id)
            names = sorted(now)
            both = [name for name in names if name in then]
            first = iteration == since
            found = {
                "bias": _mean([now[name] for name in names], names, plan),
                "deviation": _mean([abs(now[name]) for name in names], names, plan),
                "bias_drift": _mean([now[name] - then[name] for name in both], both, plan),
                "deviation_drift": _mean([abs(now[name]) - abs(then[name]) for name in both], both, plan),
            }
            for statistic, estimate in found.items():
                if first and statistic.endswith("drift"):
                    estimate = Estimate.absent("undefined", reason="the first iteration: nothing came before")
                about = {
                    "scenario": rubric.scenario,
                    "iteration": iteration,
                    "since": since,
                    "metric_id": metric_id,
                    "statistic": statistic,
                }
                row = estimate_row(estimate, plan, about)
                rows.append({name: row[name] for name in ANCHOR_DRIFT.schema.names})
    return pa.Table.from_pylist(rows, schema=ANCHOR_DRIFT.schema)


def _gaps(scores: pa.Table, human: pa.Table, metric_id: str) -> dict[str, float]:
    """Panel less experts, by anchor (which is its own task)."""
    gap, tasks = anchor_differences(metric_id, Known(human=human, anchors=scores))
    return {str(task): float(value) for task, value in zip(tasks, gap, strict=True)}


def _mean(values: Sequence[float], names: Sequence[str], plan: Resampling) -> Estimate:
    if not values:
        return Estimate.absent("no_data", reason="no anchor was scored by both")
    return cluster_mean(values, names, plan.level)
