"""Percentile intervals that allow for few clusters, and what stands in for them where there are too few."""

from __future__ import annotations

import numpy as np
from scipy import special

from magister.stats._bootstrap import BootstrapWeights
from magister.stats._estimate import FloatArray, check_level


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
    if not sizes.size:
        return level
    freedom = cluster_freedom(weights)
    t = float(special.stdtrit(freedom, 0.5 + level / 2))
    tail = float(special.ndtr(-np.sqrt(sizes.sum() / freedom) * t))
    # Two clusters ask for more than a float below 1 can say.
    return min(1 - 2 * tail, float(np.nextafter(1.0, 0.0)))


def cluster_freedom(weights: BootstrapWeights) -> int:
    """Degrees of freedom of the clusters: C - H over the strata that vary, 1 at least."""
    sizes = weights.sizes[weights.sizes > 1]
    return max(int(sizes.sum()) - sizes.size, 1)


def tails_are_empty(weights: BootstrapWeights, level: float = 0.95) -> bool:
    """Whether the tails of the expanded interval hold no resample, so that its ends would be the extremes.

    Args:
        weights: the resamples.
        level: the level wanted, 0..1.
    """
    return (1 - expanded_level(weights, level)) / 2 * weights.resamples < 1


def student_half_width(se: FloatArray, weights: BootstrapWeights, level: float = 0.95) -> FloatArray:
    """Half the width of Student's interval, for clusters too few to resample.

    Args:
        se: standard errors over clusters, by the jackknife.
        weights: the clusters and their strata.
        level: confidence level, 0..1.
    """
    return np.asarray(special.stdtrit(cluster_freedom(weights), 0.5 + level / 2) * se)
