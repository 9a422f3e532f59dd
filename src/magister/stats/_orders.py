"""How alike two boards order the same models, on many resamples at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from magister.stats._estimate import FloatArray
from magister.stats._rank import DECIMALS


@dataclass(frozen=True)
class Orders:
    """Which of every two models scores higher, on B boards.

    Attributes:
        sign: per pair i < j 1 where i scores higher, -1 where j does, 0 for a tie, shape (n (n - 1) / 2, B).
        lead: per model how many others score lower less how many score higher, shape (n, B): mid-ranks, counted from
            the middle and doubled.
        missing: boards on which a model has no score, shape (B,).
    """

    sign: NDArray[np.int8]
    lead: NDArray[np.int32]
    missing: NDArray[np.bool_]


def model_orders(scores: ArrayLike) -> Orders:
    """Compare every two of n models once, for all that follows.

    Args:
        scores: shape (n, B), a column a board; scores equal to twelve decimals are ties, as in `shared_ranks`.

    Returns:
        The orders.
    """
    x = np.round(np.asarray(scores, dtype=np.float64), DECIMALS)
    n, boards = x.shape
    sign = np.empty((n * (n - 1) // 2, boards), dtype=np.int8)
    lead = np.zeros((n, boards), dtype=np.int32)
    start = 0
    for i in range(n - 1):
        rest = x[i + 1 :]
        found = sign[start : start + n - 1 - i]
        np.subtract(x[i] > rest, x[i] < rest, out=found, dtype=np.int8)
        lead[i] += found.sum(axis=0, dtype=np.int32)
        lead[i + 1 :] -= found
        start += n - 1 - i
    return Orders(sign, lead, np.asarray(np.isnan(x).any(axis=0)))


def order_agreement(first: Orders, second: Orders) -> tuple[FloatArray, FloatArray]:
    """Spearman's rho (mid-ranks) and Kendall's tau-b of two boards, resample by resample.

    All sums are sums of whole numbers, so that equal orders have exactly 1.

    Args:
        first: orders of n models on B boards.
        second: orders of the same models on as many boards, or either of the two on one.

    Returns:
        Both coefficients, shape (B,) each; NaN where a board has equal scores only, or lacks one.

    References:
        Kendall (1945), Biometrika 33, 239-251.
    """
    leads = [side.lead.astype(np.float64) for side in (first, second)]
    rho = _share((leads[0] * leads[1]).sum(axis=0), *((lead * lead).sum(axis=0) for lead in leads))
    tau = _share(
        (first.sign * second.sign).sum(axis=0, dtype=np.int64).astype(np.float64),
        *(np.count_nonzero(side.sign, axis=0).astype(np.float64) for side in (first, second)),
    )
    lost = first.missing | second.missing
    return np.where(lost, np.nan, rho), np.where(lost, np.nan, tau)


def swapped_pairs(first: Orders, second: Orders) -> NDArray[np.int64]:
    """Pairs of models whose strict order the boards contradict, shape (B,); a tie contradicts nothing."""
    return np.asarray((first.sign * second.sign < 0).sum(axis=0), dtype=np.int64)


def _share(top: FloatArray, one: FloatArray, other: FloatArray) -> FloatArray:
    # One root of the product: the root of a square is exact.
    scale = np.sqrt(one * other)
    return np.where(scale > 0, top / np.where(scale > 0, scale, 1.0), np.nan)
