"""CA, AA, JA, GA and RA from the sums of `magister.teaching._marks`, on the data and on resamples alike.

The definitions are those of `magister.teaching.metrics`; here only the headline is needed, of many parts of a league.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from magister.contracts.schemas import METRICS
from magister.teaching._cube import Bools
from magister.teaching._formulas import Floats, added, mean_over_students, ratio, retained
from magister.teaching._marks import Sums


class Totals(NamedTuple):
    """Sums over clusters on B boards (the data, resamples, or the data without a cluster).

    Attributes:
        cells: shape (U, S, R + 4, B), see `Marks`.
        own: shape (U, 2, B).
    """

    cells: Floats
    own: Floats

    @property
    def right(self) -> Floats:
        """Cells right at round 0..R-1, shape (U, S, R, B)."""
        return self.cells[:, :, 1:-3]


def totals(sums: Sums, flat: NDArray[np.generic]) -> Totals:
    """Rows of sums in the layout of `Sums.flat`, shape (K, B), as totals."""
    cells, own = sums.split(np.asarray(flat, dtype=np.float64))
    return Totals(cells, own)


def present_students(sums: Sums) -> Bools:
    """Students with a cell in use, shape (U, S); others are no part of a mean."""
    return np.asarray(sums.cells[:, :, 0].any(axis=-1))


def scores(given: Totals, present: Bools) -> Floats:
    """The headline metrics in the order of `METRICS`.

    Args:
        given: the totals.
        present: see `present_students`.

    Returns:
        Shape (U, 5, B); NaN where undefined.
    """
    cells, right = given.cells[:, :, 0], given.right
    fixed, judged, hits = np.moveaxis(given.cells[:, :, -3:], 2, 0)
    # No round after 1: nothing grew, and nothing could.
    last = right.shape[2] - 1
    found = {
        "CA": mean_over_students(right[:, :, last] - right[:, :, 0], cells, present),
        "AA": ratio(given.own[:, 1], given.own[:, 0]),
        "JA": ratio(added(hits), added(judged)),
        "GA": ratio(added(fixed), added(cells - right[:, :, 0])),
        "RA": mean_over_students(retained(right, cells), np.ones_like(cells), present),
    }
    return np.stack([found[metric] for metric in METRICS], axis=1)


def gains(given: Totals, present: Bools) -> Floats:
    """CA at round 1..R-1, shape (U, R - 1, B)."""
    cells, right = given.cells[:, :, 0], given.right
    return np.stack(
        [
            mean_over_students(right[:, :, t] - right[:, :, 0], cells, present)
            for t in range(1, right.shape[2])
        ],
        axis=1,
    )


def data_scores(sums: Sums) -> Floats:
    """The headline metrics on the data, shape (U, 5).

    RA is unknown where nothing could be retained: no round after 1, or nothing right before the last.
    """
    given = totals(sums, sums.flat.sum(axis=1, dtype=np.int64)[:, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        found = scores(given, present_students(sums))[:, :, 0]
    some = (given.right[:, :, 1:-1] > 0).any(axis=(1, 2, 3))
    found[:, METRICS.index("RA")] = np.where(some, found[:, METRICS.index("RA")], np.nan)
    return found
