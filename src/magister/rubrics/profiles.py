"""Dimension profiles: how good each model is on each dimension of a rubric, with intervals over tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.contracts.rubrics_score_tables import OVERALL, RUBRIC_PROFILES, RUBRIC_STANDINGS
from magister.errors import UserError
from magister.rubrics._cube import FloatArray
from magister.rubrics._sums import Resampling, cluster_sums, estimate_row, on_grid, share
from magister.rubrics.rubric import Missing, Rubric
from magister.stats import (
    Estimate,
    bootstrap_weights,
    cluster_mean,
    holm,
    rank_intervals,
    sign_flip,
    significance_groups,
)

Row = dict[str, Any]


class _Scored:
    """Dialogues by dimension.

    Attributes:
        model, task: shape (D,).
        vetoed: bool, shape (D,).
        value: by dimension and overall, shape (D,); NaN where unknown.
    """

    def __init__(self, metrics: pa.Table, rubric: Rubric, policy: Missing) -> None:
        versions = sorted(set(metrics["rubric_sha"].to_pylist()))
        if versions != [rubric.sha]:
            raise UserError(
                f"the scores are of rubric {', '.join(sha[:12] for sha in versions) or 'none'}, not of "
                f"{rubric.sha[:12]}; score the dialogues by this version first"
            )
        rows = metrics.sort_by([("dialogue_id", "ascending"), ("metric_id", "ascending")])
        names = np.array(rows["dialogue_id"].to_pylist(), dtype=object)
        ids, first, at = np.unique(names, return_index=True, return_inverse=True)
        place = {name: column for column, name in enumerate(rubric.metric_ids)}
        table = np.full((ids.size, len(place)), np.nan)
        columns = np.array([place[name] for name in rows["metric_id"].to_pylist()])
        table[at, columns] = rows["value"].cast(pa.float64()).to_numpy()
        self.model = np.array(rows["model"].to_pylist(), dtype=object)[first]
        self.task = np.array(rows["task_id"].to_pylist(), dtype=object)[first]
        self.vetoed = np.zeros(ids.size, dtype=bool)
        self.vetoed[at[np.array(rows["status"].to_pylist(), dtype=object) == "vetoed"]] = True
        self.value = {
            dim.id: _mean(
                table,
                np.array([metric.weight if metric.dim == dim.id else 0.0 for metric in rubric.metrics]),
                policy,
            )
            for dim in rubric.dimensions
        }
        self.value[OVERALL] = _mean(table, rubric.weights, policy)


def _mean(table: FloatArray, weights: FloatArray, policy: Missing) -> FloatArray:
    """Weighted mean of the metrics that have a weight."""
    used = weights > 0
    given = ~np.isnan(table[:, used])
    known = (given * weights[used]).sum(axis=1)
    total = (np.where(given, table[:, used], 0.0) * weights[used]).sum(axis=1)
    usable = given.all(axis=1) if policy == "unknown" else known > 0
    return np.where(usable, share(total, known), np.nan)


def dimension_profiles(
    metrics: pa.Table, rubric: Rubric, policy: Missing, plan: Resampling, models: tuple[str, ...] = ()
) -> pa.Table:
    """Each model's mean on each dimension and overall.

    Args:
        metrics: METRIC_SCORES table of one scenario by this version.
        rubric: the version.
        policy: what becomes of a dialogue with a metric that has no score (see `score_dialogues`).
        plan: level of the intervals, which are t intervals over tasks.
        models: models that have a row whatever is known of them.

    Returns:
        RUBRIC_PROFILES table. `n` counts dialogues with a score, `n_missing` those without.
    """
    scored = _Scored(metrics, rubric, policy)
    weight = {dim.id: dim.weight for dim in rubric.dimensions} | {OVERALL: 1.0}
    rows = []
    for model in sorted({*scored.model.tolist(), *models}):
        own = scored.model == model
        for dim, values in scored.value.items():
            x = values[own]
            there = ~np.isnan(x)
            found = cluster_mean(x[there], scored.task[own][there].astype(str), plan.level)
            about = {
                "scenario": rubric.scenario,
                "rubric_sha": rubric.sha,
                "model": model,
                "dim": dim,
                "weight": weight[dim],
                "policy": policy,
                "n_missing": int((~there).sum()),
                "n_vetoed": int(scored.vetoed[own].sum()),
                "low": rubric.scale[0],
                "high": rubric.scale[1],
            }
            row = estimate_row(_on_scale(found, rubric), plan, about)
            rows.append({name: row[name] for name in RUBRIC_PROFILES.schema.names})
    return pa.Table.from_pylist(rows, schema=RUBRIC_PROFILES.schema).sort_by(
        [(name, "ascending") for name in RUBRIC_PROFILES.key]
    )


def _on_scale(found: Estimate, rubric: Rubric) -> Estimate:
    """A mean of scores lies on the scale; a t interval may not."""
    if found.ci_low is None or found.ci_high is None:
        return found
    low, high = (float(end) for end in rubric.scale)
    return replace(found, ci_low=max(found.ci_low, low), ci_high=min(found.ci_high, high))


def board_rows(
    metrics: pa.Table,
    rubric: Rubric,
    iteration: int,
    policy: Missing,
    plan: Resampling,
    models: tuple[str, ...] = (),
) -> pa.Table:
    """A scenario's part of the board: profiles, ranks with intervals, and who is not told apart.

    Ranks are bootstrapped over tasks with the same resamples for all models; models of a dimension are told apart by a
    sign-flip test over the tasks that both have, adjusted for all pairs (Holm).

    Args:
        metrics: METRIC_SCORES table of one scenario by this version.
        rubric: its best version.
        iteration: that the version is of.
        policy: see `dimension_profiles`.
        plan: how intervals are drawn.
        models: models that have a row whatever is known of them.

    Returns:
        RUBRIC_STANDINGS table.
    """
    profiles = dimension_profiles(metrics, rubric, policy, plan, models)
    scored = _Scored(metrics, rubric, policy)
    ranked = {dim: _ranks(scored, values, plan) for dim, values in scored.value.items()}
    rows = []
    for row in profiles.to_pylist():
        standing = ranked[row["dim"]].get(row["model"], {})
        rows.append({"iteration": iteration, "group": "", **row, **standing})
    return pa.Table.from_pylist(rows, schema=RUBRIC_STANDINGS.schema).sort_by(
        [(name, "ascending") for name in RUBRIC_STANDINGS.key]
    )


def _ranks(scored: _Scored, values: FloatArray, plan: Resampling) -> Mapping[str, Row]:
    """Rank, its interval and the group's letters, by model."""
    there = ~np.isnan(values)
    if not there.any():
        return {}
    models, code = np.unique(scored.model[there].astype(str), return_inverse=True)
    tasks = scored.task[there].astype(str)
    marks = np.eye(models.size)[code]
    sums = on_grid(cluster_sums(np.hstack([marks * values[there][:, None], marks]), tasks))
    total = sums.sum(axis=0)
    mean = share(total[: models.size], total[models.size :])
    drawn = bootstrap_weights(["tasks"] * sums.shape[0], resamples=plan.resamples, seed=plan.seed).totals(
        sums
    )
    found = rank_intervals(mean, share(drawn[:, : models.size], drawn[:, models.size :]), plan.level)
    by_task = share(sums[:, : models.size], sums[:, models.size :])
    letters = _letters(mean, by_task, plan)
    single = sums.shape[0] < 2
    return {
        str(model): {
            "rank": int(found.rank[at]) or None,
            "rank_low": None if single else int(found.ci_low[at]) or None,
            "rank_high": None if single else int(found.ci_high[at]) or None,
            "group": letters[at],
        }
        for at, model in enumerate(models)
    }


def _letters(mean: FloatArray, by_task: FloatArray, plan: Resampling) -> list[str]:
    pairs = list(combinations(range(mean.size), 2))
    raw: NDArray[np.float64] = np.full(len(pairs), np.nan)
    for at, (one, two) in enumerate(pairs):
        gap = by_task[:, one] - by_task[:, two]
        gap = np.sort(gap[~np.isnan(gap)])
        if gap.size:
            raw[at] = sign_flip(gap, flips=max(plan.resamples, 1), seed=plan.seed).p[0]
    return significance_groups(mean, pairs, holm(raw), 1 - plan.level)
