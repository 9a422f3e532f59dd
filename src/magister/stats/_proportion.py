"""Intervals for single, unclustered proportions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from magister.stats._estimate import Estimates, FloatArray, check_level, choose_status, reasons_of

IntArray = NDArray[np.int64]


def wilson(successes: ArrayLike, n: ArrayLike, level: float = 0.95) -> Estimates:
    """Wilson score interval of k / n.

    The interval of 30 right out of 30 is not [1, 1]. `se` is the half-width over z, so it stays positive at 0
    and at n, unlike sqrt(p (1 - p) / n).

    Args:
        successes: counts k, any shape.
        n: trials, broadcast against `successes`; 0 gives status "no_data".
        level: confidence level, 0..1.

    Returns:
        Estimates of the broadcast shape; `n_clusters` equals `n`.

    References:
        Wilson (1927), JASA 22, 209-212.
    """
    k, trials = _counts(successes, n)
    z = float(special.ndtri(0.5 + check_level(level) / 2))
    some = np.maximum(trials, 1)
    p = k / some
    denominator = 1 + z**2 / some
    centre = (p + z**2 / (2 * some)) / denominator
    half = z * np.sqrt(p * (1 - p) / some + z**2 / (4 * some**2)) / denominator
    # At the ends rounding could step outside the closed form's exact 0 and 1.
    low = np.where(k == 0, 0.0, centre - half)
    high = np.where(k == trials, 1.0, centre + half)
    return _proportions(p, low, high, half / z, trials)


def clopper_pearson(successes: ArrayLike, n: ArrayLike, level: float = 0.95) -> Estimates:
    """Exact (conservative) interval of k / n from the beta distribution.

    Args:
        successes: counts k, any shape.
        n: trials, broadcast against `successes`; 0 gives status "no_data".
        level: confidence level, 0..1.

    Returns:
        Estimates of the broadcast shape; `se` is absent: the interval is not symmetric and implies none.

    References:
        Clopper and Pearson (1934), Biometrika 26, 404-413.
    """
    k, trials = _counts(successes, n)
    tail = (1 - check_level(level)) / 2
    some = np.maximum(trials, 1)
    low = np.where(k == 0, 0.0, special.betaincinv(np.maximum(k, 1), some - k + 1, tail))
    high = np.where(k == trials, 1.0, special.betaincinv(k + 1, np.maximum(some - k, 1), 1 - tail))
    return _proportions(k / some, low, high, np.full(k.shape, np.nan), trials)


def _counts(successes: ArrayLike, n: ArrayLike) -> tuple[IntArray, IntArray]:
    k, trials = np.broadcast_arrays(np.asarray(successes), np.asarray(n))
    for name, counts in (("successes", k), ("n", trials)):
        if not np.issubdtype(counts.dtype, np.integer) and np.any(counts != np.floor(counts)):
            raise ValueError(f"{name} must be whole counts, not {counts.tolist()!r}")
    if np.any(k < 0) or np.any(k > trials):
        raise ValueError("successes must lie between 0 and n")
    return k.astype(np.int64), trials.astype(np.int64)


def _proportions(p: FloatArray, low: FloatArray, high: FloatArray, se: FloatArray, n: IntArray) -> Estimates:
    status = choose_status(n.shape, [("no_data", n == 0)])
    value, low, high, se = (np.where(n == 0, np.nan, column) for column in (p, low, high, se))
    return Estimates(value, low, high, se, n, n, status, reasons_of(status))
