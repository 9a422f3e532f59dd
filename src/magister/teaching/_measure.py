"""Counting and measuring a slice of a cube: sums per cluster, then every metric on the data and on the resamples.

`magister.teaching.metrics` says what the metrics mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from magister.contracts.schemas import STATUSES
from magister.stats import BootstrapWeights
from magister.teaching._cube import CORRECT, NONE, WRONG, Bools, Cube, Ints
from magister.teaching._formulas import (
    BY_LEAK,
    POOLED,
    RELATIVE,
    TAUGHT_ONLY,
    Floats,
    Layout,
    final_gain,
    nothing_retained,
    relative,
    statistics,
)

Policy = Literal["wrong", "drop"]

Controls = dict[tuple[str, str], tuple[Floats, Floats]]
"""CA of units that others are compared with: its value, shape (), and its replicates, shape (B,)."""


@dataclass(frozen=True)
class Job:
    """What all slices of a cube share.

    Attributes:
        cube: the cells.
        layout: of the sums.
        policy: which cells count.
        weights: the resamples of clusters.
        kept: cells in use, shape (U, S, N).
        n_options: number of options of each item as a position in `layout.options`, shape (N,).
    """

    cube: Cube
    layout: Layout
    policy: Policy
    weights: BootstrapWeights
    kept: Bools
    n_options: Ints


def job_of(cube: Cube, policy: Policy, weights: BootstrapWeights) -> Job:
    """Prepare a cube for counting.

    Args:
        cube: trajectories, or zero-shot answers with one round.
        policy: which cells count.
        weights: resamples of the clusters of the cube.
    """
    labels = [int(text or -1) for text in cube.items.slices["n_options"]]
    options, place = np.unique(np.asarray(labels, dtype=np.int64), return_inverse=True)
    layout = Layout(
        len(cube.students), cube.rounds, own=cube.rounds == 1, options=tuple(int(k) for k in options)
    )
    return Job(cube, layout, policy, weights, cube.kept(policy), place)


@dataclass(frozen=True)
class Counts:
    """Whole-number sums of one slice for a batch of units.

    Attributes:
        units: arm and teacher of each unit.
        sums: shape (U, F, c), see `Layout`.
        clusters: positions of the c clusters among those of the cube.
        n_items: items with a cell in use, shape (U,).
        statuses: replies before any cell is dropped, shape (U, R, len(STATUSES)).
        asked: cells before any is dropped, shape (U,).
    """

    units: tuple[tuple[str, str], ...]
    sums: NDArray[np.int32]
    clusters: Ints
    n_items: Ints
    statuses: Ints
    asked: Ints


def count(job: Job, items: Ints, chosen: slice) -> Counts:
    """Sums per unit and cluster over some items, for some units.

    Args:
        job: the cube.
        items: positions of the items, in order.
        chosen: the units.
    """
    cube, layout, kept = job.cube, job.layout, job.kept
    asked = cube.asked()[chosen][:, :, items]
    status = cube.status[chosen][:, :, items]
    used = kept[chosen][:, :, items]
    right = cube.right[chosen][:, :, items] & used[..., None]
    cluster = cube.items.cluster[items]
    starts = np.flatnonzero(np.concatenate([[True], cluster[1:] != cluster[:-1]]))

    def per_cluster(marks: Bools) -> NDArray[np.int32]:
        return np.asarray(np.add.reduceat(marks, starts, axis=-1, dtype=np.int32))

    def pooled(marks: Bools) -> NDArray[np.int32]:
        return per_cluster(marks.sum(axis=1, dtype=np.int32))

    sums = np.empty((asked.shape[0], layout.width, starts.size), dtype=np.int32)
    sums[:, : layout.students] = per_cluster(used)
    by_round = per_cluster(np.moveaxis(right, -1, 2))  # (U, S, R, c)
    sums[:, layout.students : layout.pooled] = by_round.reshape(asked.shape[0], -1, starts.size)
    if not layout.own:
        verdict = cube.verdict[chosen][:, :, items]
        judged = used & (verdict != NONE) if job.policy == "drop" else used
        before = right[..., 0]
        marks = {
            "judged": judged,
            "judged_right": judged & before,
            "hit_right": judged & before & (verdict == CORRECT),
            "hit_wrong": judged & ~before & (verdict == WRONG),
            "none": used & (verdict == NONE),
        }
        for k, name in enumerate(POOLED):
            sums[:, layout.pooled + k] = pooled(marks[name])
        for t in range(1, cube.rounds):
            was, now = right[..., t - 1], right[..., t]
            sums[:, layout.moves + t - 1] = pooled(used & ~was & now)
            sums[:, layout.moves + cube.rounds - 1 + t - 1] = pooled(was & ~now)
        leaked = cube.leaked[chosen][:, :, items].astype(np.int64)
        kept_at = np.minimum(leaked, cube.rounds) - 1
        held = np.take_along_axis(right, kept_at[..., None], axis=-1)[..., 0]
        sums[:, layout.masked : layout.by_leak] = per_cluster(held)
        worst = cube.leak[chosen][:, :, items]
        for k in range(len(BY_LEAK)):
            cells = used & (worst == k)
            for place, part in enumerate((cells, cells & before, cells & right[..., -1])):
                sums[:, layout.by_leak + 3 * k + place] = pooled(part)
        for k in range(len(layout.options)):
            at = layout.by_options + layout.students * k
            sums[:, at : at + layout.students] = per_cluster(used & (job.n_options[items] == k))
    statuses = np.stack([(status == code).sum(axis=(1, 2)) for code in range(len(STATUSES))], axis=-1)
    n_items = used.any(axis=1).sum(axis=1)
    return Counts(cube.units[chosen], sums, cluster[starts], n_items, statuses, asked.sum(axis=(1, 2)))


def controls_of(job: Job, items: Ints, teachers: set[str]) -> Controls:
    """CA of the control arms in one slice.

    Args:
        job: the cube.
        items: positions of the items of the slice.
        teachers: whose arm `verdict_only` is wanted.
    """
    found: Controls = {}
    for u, (arm, teacher) in enumerate(job.cube.units):
        wanted = arm in ("sham", "oracle_tell") or (arm == "verdict_only" and teacher in teachers)
        if job.layout.own or not wanted:
            continue
        counts = count(job, items, slice(u, u + 1))
        total = counts.sums.sum(axis=2, dtype=np.int64)
        present = total[:, : job.layout.students] > 0
        value = final_gain(total[:, :, None].astype(np.float64), job.layout, present)[0, 0]
        some = counts.sums[:, : job.layout.pooled].reshape(-1, counts.clusters.size).T
        drawn = job.weights.totals(some, counts.clusters).T[None]
        found[arm, teacher] = np.asarray(value), final_gain(drawn, job.layout, present)[0]
    return found


def shown(metric: str, unit: tuple[str, str], controls: Controls) -> bool:
    """Whether a metric means anything for a unit, given the control arms that were run."""
    arm, teacher = unit
    if metric in TAUGHT_ONLY and arm != "taught":
        return False
    sham, oracle = ("sham", "sham") in controls, ("oracle_tell", "oracle_tell") in controls
    if metric == "net_CA":
        return sham and arm != "sham"
    if metric == "headroom":
        return sham and oracle
    return metric != "net_verdict" or ("verdict_only", teacher) in controls


def measure(job: Job, counts: Counts, controls: Controls) -> tuple[Floats, Floats]:
    """Every metric of every unit.

    Args:
        job: the cube.
        counts: sums of a slice.
        controls: CA of the control arms in that slice.

    Returns:
        Values, shape (U, M), and replicates, shape (U, M, B), in the order of `Layout.metrics`.
    """
    layout, weights = job.layout, job.weights
    total = counts.sums.sum(axis=2, dtype=np.int64)
    present = total[:, : layout.students] > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        value = statistics(total[:, :, None].astype(np.float64), layout, present)[:, :, 0]
        flat = counts.sums.reshape(-1, counts.clusters.size).T
        drawn = weights.totals(flat, counts.clusters).T.reshape(*counts.sums.shape[:2], weights.resamples)
        replicates = statistics(drawn, layout, present)
    if not layout.own:
        names = [metric for metric, _ in layout.metrics]
        at = names.index("RA")
        value[:, at] = np.where(nothing_retained(total, layout), np.nan, value[:, at])
        last, first = layout.metrics.index(("CA", layout.rounds - 1)), names.index(RELATIVE[0])
        span = slice(first, first + len(RELATIVE))
        value[:, span] = _beside(counts.units, value[:, last, None], controls, 0)[:, :, 0]
        replicates[:, span] = _beside(counts.units, replicates[:, last], controls, 1)
    return value, replicates


def _beside(units: Sequence[tuple[str, str]], gain: Floats, controls: Controls, of: int) -> Floats:
    """`relative` of some units, on values (`of` 0) or replicates (1); shape (U, 3, B)."""
    unknown = np.full(gain.shape[1], np.nan)

    def control(arm: str, teacher: str) -> Floats:
        return (
            np.broadcast_to(controls[arm, teacher][of], unknown.shape)
            if (arm, teacher) in controls
            else unknown
        )

    verdict = np.stack([control("verdict_only", teacher) for _, teacher in units])
    return relative(gain, control("sham", "sham"), control("oracle_tell", "oracle_tell"), verdict)
