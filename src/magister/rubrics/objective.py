"""How good a version of a rubric is: on held-out tasks and anchors, every term shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.config.rubrics_judging import Objective
from magister.rubrics._cube import Cube, cube, median
from magister.rubrics._sums import FloatArray, Resampling, cluster_sums, share
from magister.rubrics.diagnosis import Known, anchor_differences, judged_only
from magister.rubrics.rubric import Rubric
from magister.stats import Estimate

TERMS = ("discrimination", "unreliability", "human", "missing")


@dataclass(frozen=True)
class Evidence:
    """What a version's objective rests on.

    Attributes:
        value: discrimination less the weighted others; None where a term that is asked for cannot be computed.
        terms: each term before its weight, in 0..1; those that are not asked for are left out.
    """

    value: Estimate
    terms: Mapping[str, Estimate]


def objective(
    scores: pa.Table, rubric: Rubric, known: Known, weights: Objective, plan: Resampling
) -> Evidence:
    """How good a version is.

    J = discrimination - l1 unreliability - l2 human - l3 missing, each a mean over metrics by their weights, of
    held-out tasks (all tasks where none is held out):

    * discrimination: share of a metric's variance between models, eta squared; a metric with one score for all
      dialogues tells nobody apart and counts 0.
    * unreliability: mean distance of two judges' scores of one dialogue (of a judge's two repeats where there is one
      judge), as share of the scale. Asked for where a dialogue is scored more than once.
    * human: mean distance of the panel from people on the anchors, as share of the scale. Asked for with anchors.
    * missing: share of scores that were asked for and did not come.

    Args:
        scores: RUBRIC_SCORES table of this version.
        rubric: the version.
        known: people's scores of anchors, and this version's.
        weights: l1, l2, l3.
        plan: how intervals are drawn, over tasks; anchors are a stratum of their own.

    Returns:
        The objective with its standard error, and its terms.
    """
    data = judged_only(cube(scores))
    if data.held_out.any():
        data = data.part(data.held_out)
    models = np.unique(data.model.astype(str))
    if models.size < 2:
        absent = Estimate.absent("undefined", reason="one model: nothing lies between models")
        return Evidence(absent, {})
    wanted = ["discrimination", "missing"]
    if data.value.shape[2] > 1 or data.value.shape[3] > 1:
        wanted.insert(1, "unreliability")
    blocks, layout = _task_sums(data, rubric, models)
    strata = ["tasks"] * blocks.shape[0]
    gaps = [anchor_differences(metric_id, known) for metric_id in rubric.metric_ids]
    if any(gap.size for gap, _ in gaps):
        wanted.insert(-1, "human")
        blocks, strata = _with_anchors(blocks, strata, gaps)
    w, span = rubric.weights, float(rubric.scale[1] - rubric.scale[0])
    scale = {"discrimination": 1.0, "missing": 1.0, "unreliability": span, "human": span}
    factor = {"discrimination": 1.0, "missing": -weights.missing}
    factor |= {"unreliability": -weights.unreliability, "human": -weights.human}

    def statistic(totals: FloatArray) -> FloatArray:
        parts = {
            "discrimination": _eta(totals, layout, w),
            "missing": _weighted(totals, layout["missing"], w),
            "unreliability": _weighted(totals, layout["unreliability"], w),
        }
        if "human" in wanted:
            at = totals.shape[-1] - 2 * len(w)
            parts["human"] = _weighted(totals, (at, totals.shape[-1]), w)
        found = [parts[name] / scale[name] for name in wanted]
        whole = sum(factor[name] * part for name, part in zip(wanted, found, strict=True))
        return np.stack([np.asarray(whole), *found], axis=-1)

    found = plan.intervals(blocks, statistic, tuple(strata))
    terms = dict(zip(wanted, found[1:], strict=True))
    return Evidence(found[0], terms)


Layout = dict[str, tuple[int, int]]


def _task_sums(data: Cube, rubric: Rubric, models: NDArray[Any]) -> tuple[FloatArray, Layout]:
    """Sums per task that all terms but `human` are functions of, and where each metric's stand."""
    parts: list[FloatArray] = []
    layout: Layout = {"models": (models.size, 0)}
    code = np.searchsorted(models, data.model.astype(str))
    marks = np.eye(models.size)[code]
    low = rubric.scale[0]
    cells = [_cells(data, name) for name in rubric.metric_ids]
    start = 0

    def put(name: str, columns: list[FloatArray]) -> None:
        nonlocal start
        parts.extend(columns)
        width = sum(column.shape[1] for column in columns)
        layout[name] = (start, start + width)
        start += width

    columns = []
    for value, _ in cells:
        x = _panel(value)
        there = ~np.isnan(x)
        y = np.where(there, x - low, 0.0)
        columns.append(np.hstack([marks * there[:, None], marks * y[:, None], (y**2)[:, None]]))
    put("discrimination", columns)
    put("unreliability", [_distances(value) for value, _ in cells])
    put("missing", [_lost(value, status) for value, status in cells])
    return cluster_sums(np.hstack(parts), data.task_id), layout


def _cells(data: Cube, metric_id: str) -> tuple[FloatArray, NDArray[np.object_]]:
    at = np.flatnonzero(data.metric == metric_id)
    if at.size:
        return data.value[:, at[0]], data.status[:, at[0]]
    shape = (data.dialogue_id.size, *data.value.shape[2:])
    return np.full(shape, np.nan), np.full(shape, "", dtype=object)


def _panel(value: FloatArray) -> FloatArray:
    return median(median(value))


def _distances(value: FloatArray) -> FloatArray:
    """Sum and number of distances between two judges' medians, or one judge's repeats, per dialogue."""
    ratings = median(value) if value.shape[1] > 1 else value[:, 0]
    one, two = np.triu_indices(ratings.shape[1], 1)
    gap = np.abs(ratings[:, one] - ratings[:, two])
    return np.stack([np.nansum(gap, axis=1), (~np.isnan(gap)).sum(axis=1).astype(float)], axis=1)


def _lost(value: FloatArray, status: NDArray[np.object_]) -> FloatArray:
    asked = ~np.isin(status, ("", "excluded", "vetoed"))
    lost = (asked & np.isnan(value)).sum(axis=(1, 2))
    return np.stack([lost, asked.sum(axis=(1, 2))], axis=1).astype(np.float64)


def _with_anchors(
    blocks: FloatArray, strata: list[str], gaps: Sequence[tuple[FloatArray, NDArray[Any]]]
) -> tuple[FloatArray, list[str]]:
    """Add people's distances: columns of their own, rows of a stratum of their own."""
    labels = sorted({str(task) for _, tasks in gaps for task in tasks})
    place = {label: at for at, label in enumerate(labels)}
    own = np.zeros((len(labels), 2 * len(gaps)))
    for metric, (gap, tasks) in enumerate(gaps):
        for size, task in sorted(zip(np.abs(gap).tolist(), map(str, tasks), strict=True)):
            own[place[task], 2 * metric] += size
            own[place[task], 2 * metric + 1] += 1
    top = np.hstack([blocks, np.zeros((blocks.shape[0], own.shape[1]))])
    bottom = np.hstack([np.zeros((own.shape[0], blocks.shape[1])), own])
    return np.vstack([top, bottom]), [*strata, *["anchors"] * len(labels)]


def _eta(totals: FloatArray, layout: Layout, weights: FloatArray) -> FloatArray:
    """Weighted mean of the metrics' eta squared; one without any score is unknown and leaves the mean."""
    (count, _), (start, stop) = layout["models"], layout["discrimination"]
    own = totals[..., start:stop].reshape(*totals.shape[:-1], weights.size, 2 * count + 1)
    sizes, sums, squares = own[..., :count], own[..., count : 2 * count], own[..., -1]
    total = sizes.sum(axis=-1)
    middle = share(sums.sum(axis=-1) ** 2, total)
    between = np.where(sizes > 0, sums**2 / np.where(sizes > 0, sizes, 1.0), 0.0).sum(axis=-1) - middle
    whole = squares - middle
    varies = whole > 1e-12 * np.maximum(squares, 1e-300)
    eta = np.where(varies, np.clip(between / np.where(varies, whole, 1.0), 0, 1), 0.0)
    there = total > 0
    return share((np.where(there, eta, 0.0) * weights).sum(axis=-1), (there * weights).sum(axis=-1))


def _weighted(totals: FloatArray, at: tuple[int, int], weights: FloatArray) -> FloatArray:
    """Weighted mean of ratios of two sums; metrics with nothing below leave the mean."""
    own = totals[..., at[0] : at[1]]
    ratio = share(own[..., 0::2], own[..., 1::2])
    there = ~np.isnan(ratio)
    return share((np.where(there, ratio, 0.0) * weights).sum(axis=-1), (there * weights).sum(axis=-1))
