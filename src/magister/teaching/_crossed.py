"""The headline metrics as statistics of sums per cluster and student, for what compares teachers.

`magister.teaching.metrics` defines them; a test holds these against those.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from magister.stats import BootstrapWeights, CrossedSample, crossed_sample, student_mean, student_ratio
from magister.teaching._cube import CORRECT, NONE, WRONG, Cube, Ints
from magister.teaching._formulas import Floats
from magister.teaching._measure import Policy

#: The metrics of `taught_sums`, in order.
CROSSED_METRICS = ("CA", "JA", "GA", "RA")
# Sums of a teacher, a student and a cluster before those per round.
_FIXED, _JUDGED, _HIT, _CELLS, _ROUND0 = range(5)


@dataclass(frozen=True)
class Taught:
    """The teachers of a cube and their sums.

    Attributes:
        teachers: names, length U.
        rounds: rounds T of the headline.
        sums: per cluster, teacher and student, shape (C, U, S, 4 + R), see `taught_statistics`.
        present: students with a cell in use, shape (U, S).
        n_items: items with a cell in use, shape (U,).
        n_cells: cells in use, shape (U,).
        asked: cells before any is dropped, shape (U,).
        n_judged: cells of the denominator of JA, shape (U,).
    """

    teachers: tuple[str, ...]
    rounds: int
    sums: NDArray[np.int32]
    present: NDArray[np.bool_]
    n_items: Ints
    n_cells: Ints
    asked: Ints
    n_judged: Ints


def taught_sums(cube: Cube, policy: Policy) -> Taught | None:
    """Sums of the teachers of a cube; None where it has control arms alone.

    Args:
        cube: trajectories.
        policy: which cells count, as in `teaching_metrics`.
    """
    units = [u for u, (arm, _) in enumerate(cube.units) if arm == "taught"]
    if not units:
        return None
    used = cube.kept(policy)[units]
    right = cube.right[units] & used[..., None]
    verdict = cube.verdict[units]
    judged = used & (verdict != NONE) if policy == "drop" else used
    before = right[..., 0]
    cluster = cube.items.cluster
    starts = np.flatnonzero(np.concatenate([[True], cluster[1:] != cluster[:-1]]))
    marks = {
        _FIXED: used & ~before & right[..., 1],
        _JUDGED: judged,
        _HIT: judged & np.where(before, verdict == CORRECT, verdict == WRONG),
        _CELLS: used,
        **{_ROUND0 + t: right[..., t] for t in range(cube.rounds)},
    }
    sums = np.empty((starts.size, len(units), len(cube.students), _ROUND0 + cube.rounds), dtype=np.int32)
    for place, cells in marks.items():
        sums[..., place] = np.moveaxis(np.add.reduceat(cells, starts, axis=-1, dtype=np.int32), -1, 0)
    return Taught(
        tuple(cube.units[u][1] for u in units),
        cube.rounds - 1,
        sums,
        np.asarray(used.any(axis=2)),
        used.any(axis=1).sum(axis=1),
        used.sum(axis=(1, 2)),
        cube.asked()[units].sum(axis=(1, 2)),
        judged.sum(axis=(1, 2)),
    )


def taught_statistics(totals: Floats, students: Floats) -> Floats:
    """CA, JA, GA and RA of totals.

    Args:
        totals: shape (..., S, 4 + R): wrong at 0 and right at 1; cells judged; verdicts that are right; cells; right
            at every round.
        students: weights, broadcast against (..., S).

    Returns:
        Shape (..., 4); NaN where undefined.
    """
    cells, right0 = totals[..., _CELLS], totals[..., _ROUND0]
    return np.stack(
        [
            student_mean(totals[..., -1] - right0, cells, students),
            student_ratio(totals[..., _HIT], totals[..., _JUDGED], students),
            student_ratio(totals[..., _FIXED], cells - right0, students),
            _growth(totals[..., _ROUND0:], cells, students),
        ],
        axis=-1,
    )


def _growth(right: Floats, cells: Floats, students: Floats) -> Floats:
    """RA: weighted mean over students of prod_{t>=2} C_t / C_{t-1} - 1; r = 1 where C_{t-1} = 0."""
    product = np.where(cells == 0, np.nan, 1.0)
    for t in range(2, right.shape[-1]):
        before, now = right[..., t - 1], right[..., t]
        product = product * np.where(before == 0, 1.0, now / np.where(before == 0, 1.0, before))
    grown: Floats = student_mean(product - 1, np.ones_like(product), students)
    # Without a round after 1, or anything right at one, no r is more than a convention.
    retained = ((right[..., 1:-1] > 0).any(axis=-1) & (students > 0)).any(axis=-1)
    return np.where(retained, grown, np.nan)


def taught_sample(taught: Taught, weights: BootstrapWeights) -> CrossedSample:
    """The metrics of every teacher on the data and on the resamples, teacher by teacher.

    Args:
        taught: the sums.
        weights: resamples of the clusters of the cube.
    """
    return crossed_sample(taught.sums, taught_statistics, weights, present=taught.present)


def own_share(totals: Floats, students: Floats) -> Floats:
    """AA of totals (..., 1, 2): cells and right; shape (..., 1)."""
    return student_ratio(totals[..., 1], totals[..., 0], students)[..., None]


def own_sums(cube: Cube, policy: Policy) -> NDArray[np.int32]:
    """Cells and right answers of the teachers' own answers, per cluster, shape (C, U, 1, 2).

    Args:
        cube: zero-shot answers.
        policy: which answers count.
    """
    used = cube.kept(policy)
    right = cube.right[..., 0] & used
    cluster = cube.items.cluster
    starts = np.flatnonzero(np.concatenate([[True], cluster[1:] != cluster[:-1]]))
    parts = [np.add.reduceat(marks, starts, axis=-1, dtype=np.int32) for marks in (used, right)]
    return np.moveaxis(np.stack(parts, axis=-1), 2, 0)
