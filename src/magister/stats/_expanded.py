"""Percentile intervals that allow for few clusters."""

from __future__ import annotations

import numpy as np
from scipy import special

from magister.stats._bootstrap import BootstrapWeights
from magister.stats._estimate import check_level


def expanded_level(weights: BootstrapWeights, level: float = 0.95) -> float:
    """The nominal level at which a percentile interval holds `level` in spite of few clusters.

    A resample of n clusters varies (n - 1) / n as much as a sample, and normal quantiles stand where those of
    Student's t belong: both make percentile intervals too narrow. With C clusters in H strata of two or more
    clusters, the tail alpha / 2 becomes Phi(-sqrt(C / (C - H)) t), t the quantile 1 - alpha / 2 of Student's
    distribution with C - H degrees of freedom.

    Args:
        weights: the resamples; strata of one cluster do not vary and are not counted.
        level: the level wanted, 0..1.

    Returns:
        The level to ask of `percentile_intervals`, `level` or more and below 1; `level` itself where nothing
        varies. With a handful of clusters the tails may hold no resample at all.

    References:
        Hesterberg (2015), The American Statistician 69, 371-386, section 4.2 (expanded percentile interval,
        there for one stratum).
    """
    check_level(level)
    sizes = weights.sizes[weights.sizes > 1]
    freedom = int(sizes.sum()) - sizes.size
    if freedom == 0:
        return level
    t = float(special.stdtrit(freedom, 0.5 + level / 2))
    tail = float(special.ndtr(-np.sqrt(sizes.sum() / freedom) * t))
    # Two clusters ask for more than a float below 1 can say.
    return min(1 - 2 * tail, float(np.nextafter(1.0, 0.0)))
