"""The E-step of DINA over all 2^K attribute patterns (classes), compiled.

An item with needs q (a bit mask) is unlocked in class c where q is a subset of c. A response then multiplies the
likelihood of all those classes by one ratio; so the log-likelihood of every class is the sum of log-ratios over the
subsets of its bits, and the mass of the classes that unlock an item is the sum over the supersets of the item's needs.
Both are sums over a lattice, K 2^K / 2 additions each instead of J 2^K (Yates 1937).

All is serial and in a fixed order: bytes do not depend on cores or on a BLAS.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]
NEGLIGIBLE = -60.0
"""Log of the share of a model's likelihood below which a class counts as nothing (1e-26)."""


@njit(cache=True, nogil=True)
def _sum_over_subsets(values):  # type: ignore[no-untyped-def]
    """values[c] <- sum of values[d] over d subset of c."""
    size = values.shape[0]
    half = 1
    if size >= 4:
        # The lowest two bits at once: alone they are too short for vector instructions.
        for at in range(0, size, 4):
            values[at + 3] += values[at + 1] + values[at + 2] + values[at]
            values[at + 1] += values[at]
            values[at + 2] += values[at]
        half = 4
    while half < size:
        for start in range(0, size, 2 * half):
            low, high = values[start : start + half], values[start + half : start + 2 * half]
            for at in range(half):
                high[at] += low[at]
        half *= 2


@njit(cache=True, nogil=True)
def _sum_over_supersets(values):  # type: ignore[no-untyped-def]
    """values[c] <- sum of values[d] over d superset of c."""
    size = values.shape[0]
    half = 1
    if size >= 4:
        for at in range(0, size, 4):
            values[at] += values[at + 1] + values[at + 2] + values[at + 3]
            values[at + 1] += values[at + 3]
            values[at + 2] += values[at + 3]
        half = 4
    while half < size:
        for start in range(0, size, 2 * half):
            low, high = values[start : start + half], values[start + half : start + 2 * half]
            for at in range(half):
                low[at] += high[at]
        half *= 2


@njit(cache=True, nogil=True)
def _class_shares(pattern, needs, ratio, base, log_prior, shares):  # type: ignore[no-untyped-def]
    """Posterior of the classes up to a factor, into `shares`; returns their sum and the log of the factor."""
    shares[:] = 0.0
    constant = 0.0
    for item in range(pattern.shape[0]):
        response = pattern[item]
        if response >= 0:
            constant += base[response, item]
            shares[needs[item]] += ratio[response, item]
    _sum_over_subsets(shares)
    top = -np.inf
    for at in range(shares.shape[0]):
        shares[at] += log_prior[at]
        top = max(top, shares[at])
    total = 0.0
    for at in range(shares.shape[0]):
        below = shares[at] - top
        if below > NEGLIGIBLE:
            share = np.exp(below)
            shares[at] = share
            total += share
        else:
            shares[at] = 0.0
    return total, constant + top


@njit(cache=True, nogil=True)
def expect(patterns, weights, needs, ratio, base, log_prior):  # type: ignore[no-untyped-def]
    """One E-step.

    Args:
        patterns: int8, U x J, distinct response patterns of 1, 0 and -1 (missing).
        weights: float64, U, how many models have the pattern.
        needs: int64, J, the item's attributes as bits.
        ratio: float64, 2 x J, log-ratio of a wrong and of a right response, with mastery against without.
        base: float64, 2 x J, log P(wrong) and log P(right) without mastery.
        log_prior: float64, 2^K, log of the classes' probabilities.

    Returns:
        Log-likelihood; expected models in each class, 2^K; expected models that answered the item and unlock it, J;
        those of them that were right, J.
    """
    count, items = patterns.shape
    in_class = np.zeros(log_prior.shape[0])
    unlocked, unlocked_right = np.zeros(items), np.zeros(items)
    shares = np.empty(log_prior.shape[0])
    loglik = 0.0
    for row in range(count):
        total, scale = _class_shares(patterns[row], needs, ratio, base, log_prior, shares)
        loglik += weights[row] * (scale + np.log(total))
        factor = weights[row] / total
        for at in range(shares.shape[0]):
            shares[at] *= factor
            in_class[at] += shares[at]
        _sum_over_supersets(shares)
        for item in range(items):
            response = patterns[row, item]
            if response >= 0:
                unlocked[item] += shares[needs[item]]
                if response == 1:
                    unlocked_right[item] += shares[needs[item]]
    return loglik, in_class, unlocked, unlocked_right


@njit(cache=True, nogil=True)
def posteriors(patterns, needs, ratio, base, log_prior):  # type: ignore[no-untyped-def]
    """Posterior of the classes of each pattern, U x 2^K, and its log-likelihood, U; arguments as of `expect`."""
    count = patterns.shape[0]
    out = np.empty((count, log_prior.shape[0]))
    loglik = np.empty(count)
    for row in range(count):
        total, scale = _class_shares(patterns[row], needs, ratio, base, log_prior, out[row])
        loglik[row] = scale + np.log(total)
        for at in range(out.shape[1]):
            out[row, at] /= total
    return out, loglik
