"""What is wrong with a metric, from its scores alone: no model is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.contracts.rubrics_score_tables import RUBRIC_DIAGNOSIS
from magister.rubrics._cube import Cube, cube, median
from magister.rubrics._sums import (
    FloatArray,
    Resampling,
    cluster_sums,
    estimate_row,
    pearson,
    scaled,
    share,
    variance_shares,
)
from magister.rubrics.rubric import Rubric
from magister.stats import Estimate, cluster_mean, intraclass_correlation, krippendorff_alpha, wilson


@dataclass(frozen=True)
class Known:
    """What is known besides the scores.

    Attributes:
        lengths: characters of the candidate's turns, by dialogue.
        families: family by model and by judge.
        human: HUMAN_SCORES table of the anchors; None without any.
        anchors: RUBRIC_SCORES table of the same anchors by this version; None without any.
    """

    lengths: Mapping[str, int] = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)
    human: pa.Table | None = None
    anchors: pa.Table | None = None


def diagnose(scores: pa.Table, rubric: Rubric, known: Known, plan: Resampling) -> pa.Table:
    """Work out what is known of each metric.

    Vetoed dialogues say nothing about a metric and are left out; so are held-out tasks, which the objective is for,
    unless all tasks are held out.

    Args:
        scores: RUBRIC_SCORES table of all judges and models by this version.
        rubric: the version.
        known: what else is known.
        plan: how intervals are drawn; clusters are tasks.

    Returns:
        RUBRIC_DIAGNOSIS table, a row per metric and statistic. What cannot be computed has a reason and no value.
    """
    data = development(judged_only(cube(scores)))
    rows = []
    values = aligned(data, rubric)
    for place, metric_id in enumerate(rubric.metric_ids):
        found = _of_metric(data, rubric, values, place, known, plan)
        about = {"scenario": rubric.scenario, "rubric_sha": rubric.sha, "metric_id": metric_id}
        for statistic, (estimate, partner) in found.items():
            rows.append(estimate_row(estimate, plan, about | {"statistic": statistic, "partner": partner}))
    return pa.Table.from_pylist(rows, schema=RUBRIC_DIAGNOSIS.schema).sort_by(
        [(name, "ascending") for name in RUBRIC_DIAGNOSIS.key]
    )


def judged_only(data: Cube) -> Cube:
    """The scores that judges gave: those of a veto are not theirs."""
    return replace(data, value=np.where(data.status == "vetoed", np.nan, data.value))


def development(data: Cube) -> Cube:
    """The dialogues on tasks that are not held out; all where every task is."""
    return data if data.held_out.all() else data.part(~data.held_out)


def aligned(data: Cube, rubric: Rubric) -> FloatArray:
    """The panel's scores, columns in the order of the rubric's metrics, shape (D, metrics)."""
    panel = data.panel()
    out = np.full((panel.shape[0], len(rubric.metrics)), np.nan)
    for place, name in enumerate(rubric.metric_ids):
        at = np.flatnonzero(data.metric == name)
        if at.size:
            out[:, place] = panel[:, at[0]]
    return out


Found = dict[str, tuple[Estimate, str | None]]


def _of_metric(
    data: Cube, rubric: Rubric, values: FloatArray, place: int, known: Known, plan: Resampling
) -> Found:
    metric_id = rubric.metric_ids[place]
    low, high = rubric.scale
    column = values[:, place]
    there = ~np.isnan(column)
    x, tasks, models = column[there], data.task_id[there], data.model[there]
    at = np.flatnonzero(data.metric == metric_id)
    cells = data.value[:, at[0]] if at.size else np.full((column.size, 1, 1), np.nan)
    status = data.status[:, at[0]] if at.size else np.full(cells.shape, "", dtype=object)
    mean = cluster_mean(x, tasks.astype(str), plan.level)
    eta, omega = variance_shares(x, models, tasks, plan)
    found = {
        "mean": mean,
        "mean_share": scaled(mean, 1 / (high - low), low),
        "sd": _sd(x, tasks, plan),
        "floor_share": _rate(x == low, plan),
        "ceiling_share": _rate(x == high, plan),
        "missing_share": _missing(cells, status, plan),
        "eta_squared": eta,
        "omega_squared": omega,
        "exercised_share": _exercised(x, tasks, models, plan),
        "item_total_r": _item_total(values, rubric, place, data.task_id, plan),
        "repeat_sd": _repeat_sd(cells, data.task_id, plan),
        **_judges(median(cells), data.task_id, plan),
        "length_r": _length(column, data, known, plan),
        "same_family_gap": _family_gap(median(cells), data, known, plan),
        **_human(metric_id, rubric, known, plan),
    }
    result: Found = {name: (estimate, None) for name, estimate in found.items()}
    result["redundancy_r"] = _redundancy(values, rubric, place, data.task_id, plan)
    return result


def _absent(reason: str, n: int = 0) -> Estimate:
    return Estimate.absent("undefined", n=n, reason=reason)


def _rate(hits: NDArray[np.bool_], plan: Resampling) -> Estimate:
    return wilson(int(hits.sum()), int(hits.size), plan.level).item()


def _missing(cells: FloatArray, status: NDArray[np.object_], plan: Resampling) -> Estimate:
    asked = ~np.isin(status, ("", "excluded", "vetoed"))
    return _rate(np.isnan(cells[asked]), plan)


def _sd(x: FloatArray, tasks: NDArray[Any], plan: Resampling) -> Estimate:
    if x.size < 2:
        return _absent("fewer than two scores", x.size)
    centred = x - np.sort(x).mean()
    rows = np.column_stack([np.ones(x.size), centred, centred**2])

    def statistic(totals: FloatArray) -> FloatArray:
        n, first, second = np.moveaxis(totals, -1, 0)
        rest = np.maximum(second - share(first**2, n), 0)
        return np.sqrt(share(rest, np.where(n > 1, n - 1, 0.0)))[..., None]

    return replace(plan.interval(cluster_sums(rows, tasks), statistic), n=x.size)


def _exercised(x: FloatArray, tasks: NDArray[Any], models: NDArray[Any], plan: Resampling) -> Estimate:
    """Tasks on which models differ, among those on which several have a score."""
    _, code = np.unique(tasks.astype(str), return_inverse=True)
    if not x.size:
        return Estimate.absent("no_data")
    size = int(code.max()) + 1
    least, most = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(least, code, x)
    np.maximum.at(most, code, x)
    pairs = np.unique(np.stack([code, np.unique(models.astype(str), return_inverse=True)[1]]), axis=1)
    several = np.bincount(pairs[0], minlength=size) > 1
    if not several.any():
        return _absent("no task has scores of two models")
    return _rate((most > least)[several], plan)


def _item_total(
    values: FloatArray, rubric: Rubric, place: int, tasks: NDArray[Any], plan: Resampling
) -> Estimate:
    """Correlation with the weighted mean of the other metrics, where all of them have a score."""
    others = [other for other in range(values.shape[1]) if other != place]
    if not others:
        return _absent("the rubric has one metric")
    weight = rubric.weights[others]
    rest = (values[:, others] * weight).sum(axis=1) / weight.sum()
    return pearson(values[:, place], rest, tasks, plan)


def _redundancy(
    values: FloatArray, rubric: Rubric, place: int, tasks: NDArray[Any], plan: Resampling
) -> tuple[Estimate, str | None]:
    """The highest correlation with another metric, and which one that is; of equal ones the first by id."""
    cheap = Resampling(0, plan.seed, plan.level)
    best: tuple[float, int] | None = None
    for other in range(values.shape[1]):
        if other == place:
            continue
        found = pearson(values[:, place], values[:, other], tasks, cheap).value
        if found is not None and (best is None or found > best[0] + 1e-12):
            best = (found, other)
    if best is None:
        return _absent("no other metric that varies with this one"), None
    return pearson(values[:, place], values[:, best[1]], tasks, plan), rubric.metric_ids[best[1]]


def _repeat_sd(cells: FloatArray, tasks: NDArray[Any], plan: Resampling) -> Estimate:
    """Pooled standard deviation of a judge's repeats on one dialogue."""
    given = ~np.isnan(cells)
    k = given.sum(axis=2)
    several = k > 1
    if not several.any():
        return _absent("no judge scored a dialogue twice")
    middle = np.where(given, cells, 0.0).sum(axis=2) / np.maximum(k, 1)
    squares = np.where(given, (cells - middle[..., None]) ** 2, 0.0).sum(axis=2)
    rows = np.stack(
        [np.where(several, squares, 0.0).sum(axis=1), np.where(several, k - 1, 0).sum(axis=1)], axis=1
    )
    used = several.any(axis=1)

    def statistic(totals: FloatArray) -> FloatArray:
        return np.sqrt(share(totals[..., 0], totals[..., 1]))[..., None]

    return replace(plan.interval(cluster_sums(rows[used], tasks[used]), statistic), n=int(used.sum()))


def _judges(ratings: FloatArray, tasks: NDArray[Any], plan: Resampling) -> dict[str, Estimate]:
    """Agreement of judges on dialogues; ratings are their medians, shape (D, J)."""
    several = int(((~np.isnan(ratings)).sum(axis=1) > 1).sum())
    if several == 0:
        absent = _absent("no dialogue was scored by two judges")
        return dict.fromkeys(("icc_single", "icc_average", "alpha_ordinal"), absent)
    units = plan.units(tasks)
    return {
        "icc_single": intraclass_correlation(ratings, "single", units),
        "icc_average": intraclass_correlation(ratings, "average", units),
        "alpha_ordinal": replace(krippendorff_alpha(ratings, "ordinal", units), n=several),
    }


def _length(column: FloatArray, data: Cube, known: Known, plan: Resampling) -> Estimate:
    lengths = np.array([known.lengths.get(name, np.nan) for name in data.dialogue_id], dtype=np.float64)
    return pearson(column, np.log1p(lengths), data.task_id, plan)


def _family_gap(ratings: FloatArray, data: Cube, known: Known, plan: Resampling) -> Estimate:
    """How much better judges find models of their family than the other judges do, beyond what they find of others.

    Of each judge with both kinds: (own - others on its family) - (own - others on the rest), so that a judge that is
    lenient to everybody shows no gap; averaged over judges.
    """
    family = np.array([known.families.get(name, "") for name in data.model], dtype=object)
    given = ~np.isnan(ratings)
    parts, used = [], np.zeros(ratings.shape[0], dtype=bool)
    for at, judge in enumerate(data.judge):
        others = np.delete(ratings, at, axis=1)
        count = (~np.isnan(others)).sum(axis=1)
        both = given[:, at] & (count > 0) & (family != "")
        own = family == known.families.get(judge, "")
        if not (both & own).any() or not (both & ~own).any():
            continue
        gap = np.where(both, ratings[:, at] - np.nansum(others, axis=1) / np.maximum(count, 1), 0.0)
        for kind in (both & own, both & ~own):
            parts += [np.where(kind, gap, 0.0), kind.astype(np.float64)]
        used |= both
    if not parts:
        return _absent("no judge scored models of its own family and of others beside another judge")
    rows = np.column_stack(parts)

    def statistic(totals: FloatArray) -> FloatArray:
        means = share(totals[..., 0::2], totals[..., 1::2])
        return (means[..., 0::2] - means[..., 1::2]).mean(axis=-1)[..., None]

    return replace(plan.interval(cluster_sums(rows[used], data.task_id[used]), statistic), n=int(used.sum()))


def anchor_differences(metric_id: str, known: Known) -> tuple[FloatArray, NDArray[Any]]:
    """The panel's score less people's mean on each anchor that both scored, and the anchors' tasks."""
    if known.human is None or known.anchors is None or not known.anchors.num_rows:
        return np.empty(0), np.empty(0, dtype=object)
    data = judged_only(cube(known.anchors))
    at = np.flatnonzero(data.metric == metric_id)
    if not at.size:
        return np.empty(0), np.empty(0, dtype=object)
    given: dict[str, list[float]] = {}
    for row in known.human.to_pylist():
        if row["metric_id"] == metric_id and row["scenario"] == data.scenario:
            given.setdefault(row["dialogue_id"], []).append(row["value"])
    means = {name: float(np.sort(values).mean()) for name, values in given.items()}
    human = np.array([means.get(name, np.nan) for name in data.dialogue_id], dtype=np.float64)
    gap = data.panel()[:, at[0]] - human
    there = ~np.isnan(gap)
    return gap[there], data.task_id[there]


def _human(metric_id: str, rubric: Rubric, known: Known, plan: Resampling) -> dict[str, Estimate]:
    gap, tasks = anchor_differences(metric_id, known)
    if not gap.size:
        return dict.fromkeys(("human_deviation", "human_bias"), _absent("no dialogue was scored by people"))
    labels = tasks.astype(str)
    return {
        "human_deviation": cluster_mean(np.abs(gap), labels, plan.level),
        "human_bias": cluster_mean(gap, labels, plan.level),
    }
