"""What a panel says of a dialogue: the median of its judges on each metric, and the rubric's score."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.contracts.rubrics_score_tables import DIALOGUE_SCORES, METRIC_SCORES, SCORED
from magister.errors import UserError
from magister.rubrics._cube import Cube, Texts, cube, numeric
from magister.rubrics.rubric import Missing, Rubric, score_dialogues


def metric_scores(scores: pa.Table) -> pa.Table:
    """The median over judges of their medians over repeats; a judge without a score abstains.

    Args:
        scores: RUBRIC_SCORES table of all judges, of one scenario and version.

    Returns:
        METRIC_SCORES table, a row per dialogue and metric.
    """
    if not scores.num_rows:
        return METRIC_SCORES.schema.empty_table()
    found = cube(scores)
    value = found.panel()
    seen = ~np.isnan(found.by_judge())
    asked = _mask(found.status != "").max(axis=3)
    scored = _mask(np.isin(found.status, SCORED)).sum(axis=(2, 3))
    vetoed = _mask(np.isin(found.status, ("vetoed",))).max(axis=(2, 3))
    all_excluded = _mask(np.isin(found.status, ("", "excluded"))).min(axis=(2, 3))
    rows = []
    for d in range(found.dialogue_id.size):
        for m in range(found.metric.size):
            known, judges = int(seen[d, m].sum()), int(asked[d, m].sum())
            status = "ok" if known else "excluded" if all_excluded[d, m] else "no_score"
            if known and vetoed[d, m]:
                status = "vetoed"
            reason = "" if status == "ok" else _why(found.status[d, m])
            rows.append(
                _about(found, d)
                | {"metric_id": found.metric[m], "status": status, "reason": reason}
                | {"n_judges": known, "n_abstained": judges - known, "n_ratings": int(scored[d, m])}
                | {"value": numeric(value[d, m])}
            )
    return pa.Table.from_pylist(rows, schema=METRIC_SCORES.schema)


def dialogue_scores(metrics: pa.Table, rubric: Rubric, policy: Missing) -> pa.Table:
    """Score(tau, R) of each dialogue.

    Args:
        metrics: METRIC_SCORES table of one scenario and version.
        rubric: that version.
        policy: what becomes of a dialogue with a metric that has no score (see `score_dialogues`).

    Returns:
        DIALOGUE_SCORES table. A dialogue that is `vetoed` has the score that the rule gives.

    Raises:
        UserError: the table is of another version, or of metrics that the rubric does not have.
    """
    if not metrics.num_rows:
        return DIALOGUE_SCORES.schema.empty_table()
    _check_version(metrics, rubric)
    ordered = metrics.sort_by([("dialogue_id", "ascending"), ("metric_id", "ascending")])
    ids, first, at = np.unique(
        np.array(ordered["dialogue_id"].to_pylist(), dtype=object), return_index=True, return_inverse=True
    )
    column = {name: place for place, name in enumerate(rubric.metric_ids)}
    values = np.full((ids.size, len(column)), np.nan)
    where = np.array([column[name] for name in ordered["metric_id"].to_pylist()])
    values[at, where] = ordered["value"].cast(pa.float64()).to_numpy()
    vetoed = np.zeros(ids.size, dtype=bool)
    vetoed[at[np.array(ordered["status"].to_pylist(), dtype=object) == "vetoed"]] = True
    found = score_dialogues(rubric, values, policy)
    facts = ordered.select(["scenario", "rubric_sha", "dialogue_id", "task_id", "model", "held_out"])
    rows = []
    for d, about in enumerate(facts.take(pa.array(first)).to_pylist()):
        lost = [name for name, place in column.items() if np.isnan(values[d, place])]
        status = "vetoed" if vetoed[d] else "ok" if not lost else "incomplete"
        if not found.known[d]:
            status = "no_score"
        reason = f"no score on {', '.join(lost)}" if lost else ""
        rows.append(
            about
            | {"status": status, "reason": reason, "policy": policy, "n_metrics": len(column)}
            | {"n_known": int(found.known[d]), "weight_known": float(found.weight[d])}
            | {"value": numeric(found.value[d])}
        )
    return pa.Table.from_pylist(rows, schema=DIALOGUE_SCORES.schema)


def _mask(values: object) -> NDArray[np.int64]:
    """Truth values as 0 and 1."""
    return np.asarray(values, dtype=np.int64)


def _check_version(metrics: pa.Table, rubric: Rubric) -> None:
    versions = sorted(set(metrics["rubric_sha"].to_pylist()))
    if versions != [rubric.sha]:
        raise UserError(
            f"the scores are of rubric {', '.join(sha[:12] for sha in versions)}, not of {rubric.sha[:12]}; "
            "score the dialogues by this version first"
        )
    unknown = sorted(set(metrics["metric_id"].to_pylist()) - set(rubric.metric_ids))
    if unknown:
        raise UserError(f"rubric {rubric.sha[:12]} has no metric {', '.join(unknown)}")


def _about(found: Cube, d: int) -> dict[str, object]:
    return {
        "scenario": found.scenario,
        "rubric_sha": found.rubric_sha,
        "dialogue_id": found.dialogue_id[d],
        "task_id": found.task_id[d],
        "model": found.model[d],
        "held_out": bool(found.held_out[d]),
    }


def _why(status: Texts) -> str:
    """How often each status occurred, sorted."""
    names, counts = np.unique(status[status != ""].astype(str), return_counts=True)
    return ", ".join(f"{name} {count}" for name, count in zip(names.tolist(), counts.tolist(), strict=True))
