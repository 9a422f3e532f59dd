"""Near-duplicates: vectors whose cosine with an earlier one reaches a threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating]
BLOCK = 1024
_DOUBT = 1e-4
"""Products of float32 rows by BLAS are surer than this; what is nearer to the threshold is worked out again."""


@dataclass(frozen=True)
class Neighbour:
    """What a vector is too near to.

    Attributes:
        earlier: whether it is one of the new vectors; else it is one of the existing ones.
        row: its row.
        cosine: their cosine.
    """

    earlier: bool
    row: int
    cosine: float


def near_duplicates(
    new: FloatArray, existing: FloatArray, threshold: float, block: int = BLOCK
) -> list[Neighbour | None]:
    """Go through new vectors in order and drop each that is too near to an existing or an earlier kept one.

    Products are taken block by block; pairs in doubt are decided by a sum of fixed order, so that neither the size of
    a block nor the number of threads decides on a pair.

    Args:
        new: shape (n, d), rows of length 1; a NaN row is near to nothing.
        existing: shape (m, d), likewise.
        threshold: cosine from which two are too near.
        block: rows taken at a time.

    Returns:
        Per new row its nearest neighbour among those at or above the threshold (existing ones first, then the lowest
        row, where cosines are equal to six digits), or None for a row that is kept.
    """
    new32 = np.nan_to_num(np.asarray(new, dtype=np.float32))
    old32 = np.nan_to_num(np.asarray(existing, dtype=np.float32))
    found: list[Neighbour | None] = []
    kept = np.zeros(0, dtype=np.int64)
    for start in range(0, len(new32), block):
        part = new32[start : start + block]
        near: list[list[Neighbour]] = [[] for _ in part]
        for first in range(0, len(old32), block):
            _collect(near, part, old32[first : first + block], np.arange(first, len(old32)), False, threshold)
        for first in range(0, len(kept), block):
            rows = kept[first : first + block]
            _collect(near, part, new32[rows], rows, True, threshold)
        fresh = np.zeros(len(part), dtype=np.bool_)
        close = part @ part.T >= threshold - _DOUBT
        for place in range(len(part)):
            for other in np.flatnonzero(fresh & close[place]).tolist():
                if (cosine := _cosine(part[place], part[other])) >= threshold:
                    near[place].append(Neighbour(True, start + other, cosine))
            fresh[place] = not near[place]
        found += [_nearest(neighbours) for neighbours in near]
        kept = np.concatenate([kept, np.flatnonzero(fresh) + start])
    return found


def _collect(
    near: list[list[Neighbour]],
    part: FloatArray,
    others: FloatArray,
    rows: NDArray[np.int64],
    earlier: bool,
    threshold: float,
) -> None:
    for place, other in zip(*np.nonzero(part @ others.T >= threshold - _DOUBT), strict=True):
        cosine = _cosine(part[place], others[other])
        if cosine >= threshold:
            near[place].append(Neighbour(earlier, int(rows[other]), cosine))


def _cosine(one: FloatArray, two: FloatArray) -> float:
    return float(np.multiply(one, two, dtype=np.float64).sum())


def _nearest(neighbours: list[Neighbour]) -> Neighbour | None:
    return min(neighbours, key=lambda one: (-round(one.cosine, 6), one.earlier, one.row), default=None)
