"""CA, AA, JA, GA and RA from the sums of `magister.teaching._marks`, on the data and on resamples alike.

The definitions are those of `magister.teaching.metrics`; here only the headline is needed, of many parts of a league.
Sums over students have one fixed order, so that the shape of an array changes no bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from magister.contracts.schemas import METRICS
from magister.teaching._cube import Bools
from magister.teaching._marks import Sums

Floats = NDArray[np.float64]


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
        "CA": _mean(right[:, :, last] - right[:, :, 0], cells, present),
        "AA": _ratio(given.own[:, 1], given.own[:, 0]),
        "JA": _ratio(_added(hits), _added(judged)),
        "GA": _ratio(_added(fixed), _added(cells - right[:, :, 0])),
        "RA": _mean(_retained(right, cells), np.ones_like(cells), present),
    }
    return np.stack([found[metric] for metric in METRICS], axis=1)


def gains(given: Totals, present: Bools) -> Floats:
    """CA at round 1..R-1, shape (U, R - 1, B)."""
    cells, right = given.cells[:, :, 0], given.right
    return np.stack(
        [_mean(right[:, :, t] - right[:, :, 0], cells, present) for t in range(1, right.shape[2])], axis=1
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


def _retained(right: Floats, cells: Floats) -> Floats:
    """prod_{t>=2} r_{m,t} - 1 per student, shape (U, S, B); a round before which nothing was right has r = 1."""
    product = np.where(cells == 0, np.nan, 1.0)
    for t in range(2, right.shape[2]):
        before = right[:, :, t - 1]
        some = before > 0
        product *= np.where(some, 1 + (right[:, :, t] - before) / np.where(some, before, 1.0), 1.0)
    return product - 1


def _ratio(top: Floats, bottom: Floats) -> Floats:
    some = bottom != 0
    return np.where(some, top / np.where(some, bottom, 1.0), np.nan)


def _added(parts: Floats) -> Floats:
    """Sum over students, shape (U, B)."""
    total = parts[:, 0].copy()
    for m in range(1, parts.shape[1]):
        total += parts[:, m]
    return total


def _mean(top: Floats, bottom: Floats, present: Bools) -> Floats:
    """Mean over present students of top / bottom, shape (U, B); NaN where one of them has no cell."""
    share = np.where(present[:, :, None], _ratio(top, bottom), 0.0)
    return _ratio(_added(share), present.sum(axis=1)[:, None].astype(np.float64))
