"""Percentile intervals that allow for few clusters, and what stands in for them where there are too few."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from magister.stats._bootstrap import BootstrapWeights, percentile_intervals
from magister.stats._estimate import Estimates, FloatArray, check_level

FEW_CLUSTERS = "few clusters: Student's t in place of resamples"


def expanded_level(
    weights: BootstrapWeights, level: float = 0.95, clusters: NDArray[np.integer] | None = None
) -> float:
    """The nominal level at which a percentile interval holds `level` in spite of few clusters.

    A resample of n clusters varies (n - 1) / n as much as a sample, and normal quantiles stand where those of
    Student's t belong: both make percentile intervals too narrow. With C clusters in H strata of two or more
    clusters, the tail alpha / 2 becomes Phi(-sqrt(C / (C - H)) t), t the quantile 1 - alpha / 2 of Student's
    distribution with C - H degrees of freedom.

    Args:
        weights: the resamples; strata of one cluster do not vary and are not counted.
        level: the level wanted, 0..1.
        clusters: positions of the clusters that a statistic reads, all by default.

    Returns:
        The level to ask of `percentile_intervals`, `level` or more and below 1; `level` itself where nothing
        varies. With a handful of clusters the tails may hold no resample at all.

    References:
        Hesterberg (2015), The American Statistician 69, 371-386, section 4.2 (expanded percentile interval,
        there for one stratum).
    """
    check_level(level)
    count, freedom = _freedom(weights, clusters)
    if freedom == 0:
        return level
    t = float(special.stdtrit(freedom, 0.5 + level / 2))
    tail = float(special.ndtr(-np.sqrt(count / freedom) * t))
    # Two clusters ask for more than a float below 1 can say.
    return min(1 - 2 * tail, float(np.nextafter(1.0, 0.0)))


def expanded_intervals(
    value: ArrayLike,
    replicates: FloatArray,
    weights: BootstrapWeights,
    level: float = 0.95,
    clusters: NDArray[np.integer] | None = None,
) -> Estimates:
    """Percentile intervals at the `expanded_level`; Student's t where its tails would hold no resample.

    Args:
        value: estimates on the data, shape (K,).
        replicates: the statistics on the resamples, shape (B, K).
        weights: the resamples.
        level: the level wanted, 0..1.
        clusters: positions of the clusters that the statistics read, all by default.

    Returns:
        Estimates of shape (K,), as `percentile_intervals`; `se` is that of the resamples. Where Student's t
        stands in, value +- t sqrt(C / (C - H)) se, the reason says so.
    """
    nominal = expanded_level(weights, level, clusters)
    found = percentile_intervals(value, replicates, nominal)
    count, freedom = _freedom(weights, clusters)
    if freedom == 0 or (1 - nominal) / 2 * replicates.shape[0] >= 1:
        return found
    half = special.stdtrit(freedom, 0.5 + level / 2) * np.sqrt(count / freedom) * found.se
    ok = found.status == "ok"
    found.reason[ok] = [
        "; ".join(part for part in (text, FEW_CLUSTERS) if part) for text in found.reason[ok].tolist()
    ]
    return replace(found, ci_low=found.value - half, ci_high=found.value + half)


def _freedom(weights: BootstrapWeights, clusters: NDArray[np.integer] | None) -> tuple[int, int]:
    """Clusters in strata of two or more, and that less the strata."""
    sizes = weights.sizes if clusters is None else np.bincount(weights.stratum[np.asarray(clusters)])
    sizes = sizes[sizes > 1]
    return int(sizes.sum()), int(sizes.sum()) - sizes.size


def cluster_freedom(weights: BootstrapWeights) -> int:
    """Degrees of freedom of the clusters: C - H over the strata that vary, 1 at least."""
    return max(_freedom(weights, None)[1], 1)


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
