"""How far two sets of resamples may lie apart by chance alone, from exact distributions of counts.

No normal approximation: in a tail few resamples decide, and their number is far from normal.

References:
    Clopper and Pearson (1934), Biometrika 26, 404-413; David and Nagaraja (2003), Order Statistics, section 2.1 (the
    distribution function at an order statistic has a beta distribution).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy import stats

from magister.audit.recompute._ledger import Floats

#: Chance that a difference is taken for wrong though it is not, on each side of each step.
EPSILON = 1e-10
# Resamples that leave a statistic undefined are left out of its order, up to this share.
_LEFT_OUT = 0.06


@cache
def tail_share(probability: float, published: int, own: int) -> tuple[float, float]:
    """Share of our own resamples that may lie below a published quantile.

    A quantile of B resamples lies between two of their order statistics, k and k + 1; the share of all possible
    resamples below the first is at least the beta quantile of k and B - k + 1, and so on. Of that share our own
    resamples show a binomial count.

    Args:
        probability: of the quantile, 0..1.
        published: B; up to `_LEFT_OUT` of them may be undefined.
        own: B'.

    Returns:
        Least and greatest share, 0..1.
    """
    count = max(published, 1)
    few = max(int(count * (1 - _LEFT_OUT)), 1)
    first = max(int(np.floor(probability * (few - 1))), 1)
    last = min(int(np.ceil(probability * (count - 1))) + 2, count)
    low = float(stats.beta.ppf(EPSILON, first, count - first + 1)) if first > 0 else 0.0
    high = float(stats.beta.isf(EPSILON, last, count - last + 1))
    if probability > 0.5:
        # Seen from the other end, where the few that decide are.
        below = tail_share(1 - probability, published, own)
        return 1 - below[1], 1 - below[0]
    least = float(stats.binom.ppf(EPSILON, own, low)) / own
    most = float(stats.binom.isf(EPSILON, own, high)) / own
    return max(least, 0.0), min(most, 1.0)


def share_range(share: Floats, own: int, published: int) -> tuple[Floats, Floats]:
    """Shares that a published set of resamples may show where our own shows these.

    Args:
        share: of our own resamples, 0..1.
        own: B'.
        published: B.

    Returns:
        Least and greatest share, of the shape of `share`.
    """
    hits = np.rint(np.nan_to_num(share) * own)
    low = np.where(hits > 0, stats.beta.ppf(EPSILON, np.maximum(hits, 1), own - hits + 1), 0.0)
    high = np.where(hits < own, stats.beta.isf(EPSILON, hits + 1, np.maximum(own - hits, 1)), 1.0)
    count = max(published, 1)
    least = np.asarray(stats.binom.ppf(EPSILON, count, low)) / count
    most = np.asarray(stats.binom.isf(EPSILON, count, high)) / count
    return np.maximum(least, 0.0), np.minimum(most, 1.0)
