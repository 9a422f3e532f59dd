"""Ranks, intervals and p values of one league that must not contradict one another.

They come from resamples and flips that the gate does not draw again, so what is asked holds for any draw.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.contracts._columns import Mask, member, numbers, true
from magister.contracts._estimates import EQUAL, by_group
from magister.contracts.gate import RowCheck

Floats = NDArray[np.float64]

# Means and shares, which percentile intervals surround; RA is a mean of products.
_SURROUNDED = ("CA", "AA", "JA", "GA")
# A sum of flipped numbers lies one standard deviation or more from 0 with at least this probability.
_BEYOND_ONE = 7 / 32
# Standard errors that a share of random flips may be off by chance.
_CHANCE = 6.0


def rank_checks(standings: pa.Table) -> list[RowCheck]:
    """Ranks, their intervals and shares of first places, which come from the same resamples.

    The interval has equal tails of at most (1 - level) / 2, each end is a rank that was seen, and somebody is first in
    every resample.

    Args:
        standings: STANDINGS.
    """
    rank, low, high = (numbers(standings[name]) for name in ("rank", "rank_low", "rank_high"))
    first, value = numbers(standings["p_first"]), numbers(standings["value"])
    tail = (1 - numbers(standings["level"])) / 2
    group = ("league", "metric")
    ranked = ~np.isnan(rank)
    bounded = ~np.isnan(low) & ~np.isnan(high) & ~np.isnan(first)
    best = np.where(low == 1, first > 0, first <= tail + EQUAL)
    worst = np.where(high == 1, first >= 1 - tail - EQUAL, first < 1)
    size = by_group(standings, group, lambda rows: np.full(rows.size, ranked[rows].sum(), dtype=np.float64))
    total = by_group(standings, group, lambda rows: np.full(rows.size, np.nansum(first[rows])))
    # A teacher without an interval may have been the first.
    whole = by_group(
        standings, group, lambda rows: np.full(rows.size, (bounded | ~ranked)[rows].all(), dtype=float)
    )
    rounded = np.round(value, 12)
    tied = by_group(
        standings,
        group,
        lambda rows: (rounded[rows][None, :] == rounded[rows][:, None]).sum(axis=1).astype(float),
    )
    # Of n teachers, one is first in a resample of n: the rank on the data is a tail only where there are many.
    few = (size * 2 * tail < 1) & member(standings["metric"], _SURROUNDED)

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("standings", name, columns, expected, passed)

    return [
        check(
            "first_places_fit_interval",
            ("rank_low", "rank_high", "p_first"),
            "rank_low 1 where p_first is above (1 - level) / 2, and only where it is above 0; rank_high 1 where "
            "p_first leaves no more than that to others",
            ~bounded | (best & worst & (high <= size)),
        ),
        check(
            "somebody_is_first",
            ("metric", "p_first"),
            "shares of first places that add up to 1 or more",
            ~bounded | (whole == 0) | (total >= 1 - EQUAL),
        ),
        check(
            "rank_within_interval",
            ("metric", "rank", "rank_low", "rank_high"),
            "the rank between rank_low and rank_high, ties allowed for",
            ~bounded | ~few | ((rank <= high) & (low <= rank + tied - 1)),
        ),
    ]


def pair_checks(compared: pa.Table) -> list[RowCheck]:
    """Differences, their intervals and p values, which come from the same clusters.

    p is a share of sign patterns of C clusters: all 2^C of them, or as many as there are resamples and the pattern of
    the data. With s = se of the difference D, the flipped numbers have squares that add up to V with
    s^2 / 2 + D^2 / C <= V <= s^2 + D^2 / C. Hence p <= 2 exp(-D^2 / (2 V)) (Hoeffding), and p >= 7/32 where D^2 <= V,
    both but for chance where flips are random.

    Args:
        compared: COMPARISONS.

    References:
        Hoeffding (1963), JASA 58, 13-30, theorem 2; Dvorak and Tiep (2021), Probability mass of Rademacher sums beyond
        one standard deviation.
    """
    difference, se, p = (numbers(compared[name]) for name in ("difference", "se", "p"))
    low, high = numbers(compared["ci_low"]), numbers(compared["ci_high"])
    random_low, random_high = numbers(compared["random_ci_low"]), numbers(compared["random_ci_high"])
    clusters, differ = numbers(compared["n_clusters"]), numbers(compared["n_differ"])
    exact = true(compared["exact"])
    surrounded = member(compared["metric"], _SURROUNDED)
    inside = np.isnan(low) | ~surrounded | ((low <= difference + EQUAL) & (difference <= high + EQUAL))
    inside &= np.isnan(random_low) | (
        (random_low <= difference + EQUAL) & (difference <= random_high + EQUAL)
    )
    flips = numbers(compared["resamples"]) + 1
    patterns = np.where(exact, 2.0 ** np.minimum(clusters, 60), flips)
    times = p * patterns
    # The pattern of the data counts, and where all do its opposite as well.
    whole = np.abs(times - np.round(times)) <= EQUAL * patterns
    counted = np.isnan(p) | (whole & (times >= np.where(exact, 2, 1) - 0.5))
    still = differ == 0
    agreed = (differ <= clusters) & (~still | np.isnan(p) | (p == 1))
    squares = difference**2
    most = se**2 + squares / np.maximum(clusters, 1)
    least = se**2 / 2 + squares / np.maximum(clusters, 1)
    known = ~np.isnan(p) & ~np.isnan(se) & (most > 0)
    bound = np.minimum(2 * np.exp(-squares / (2 * np.where(known, most, 1.0))), 1.0)
    chance = np.where(exact, 0.0, _CHANCE * (np.sqrt(bound / flips) + _CHANCE / flips))
    small = np.where(squares <= least, _BEYOND_ONE, 0.0)
    slack = np.where(exact, 0.0, _CHANCE * np.sqrt(_BEYOND_ONE / flips))

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("comparisons", name, columns, expected, passed)

    return [
        check(
            "difference_within_interval",
            ("metric", "difference", "ci_low", "ci_high", "random_ci_low", "random_ci_high"),
            "the difference within both of its intervals",
            inside,
        ),
        check(
            "p_of_flips",
            ("p", "exact", "n_clusters", "n_differ", "resamples"),
            "p a share of the sign patterns, 1 where no cluster differs",
            counted & agreed,
        ),
        check(
            "p_fits_difference",
            ("difference", "se", "p", "n_clusters"),
            "p neither above what a difference of so many se can have, nor below what one within its se has",
            ~known | ((p <= bound + chance + EQUAL) & (p >= small - slack - EQUAL)),
        ),
    ]
