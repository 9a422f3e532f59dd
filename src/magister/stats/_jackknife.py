"""The jackknife over clusters: what each of them adds to a statistic."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from magister.stats._bootstrap import BootstrapWeights
from magister.stats._estimate import FloatArray


class Jackknife(NamedTuple):
    """M statistics without one cluster at a time.

    Attributes:
        influence: what each cluster adds beyond its stratum's mean, shape (C, M); columns add up to 0.
        variance: jackknife variance over clusters, shape (M,).
    """

    influence: FloatArray
    variance: FloatArray


def cluster_jackknife(left_out: ArrayLike, weights: BootstrapWeights) -> Jackknife:
    """The jackknife of clusters within strata.

    Args:
        left_out: the statistics without cluster c, shape (C, M).
        weights: strata of the clusters; a stratum of one cluster has nothing to compare with and adds nothing.

    Returns:
        Influence and variance.

    References:
        Efron and Stein (1981), Annals of Statistics 9, 586-596; for strata Davison and Hinkley (1997), section 3.2.
    """
    scaled = centred(np.asarray(left_out, dtype=np.float64), weights)
    size = weights.sizes[weights.stratum][:, None].astype(np.float64)
    return Jackknife(-scaled * np.sqrt((size - 1) / size), np.sum(scaled * scaled, axis=0))


def centred(left_out: FloatArray, weights: BootstrapWeights) -> FloatArray:
    """sqrt((n_h - 1) / n_h) (theta_(-c) - mean over the stratum): squares add up to the jackknife variance."""
    sizes = weights.sizes.astype(np.float64)
    flat = left_out.reshape(left_out.shape[0], int(np.prod(left_out.shape[1:])))
    order = np.argsort(weights.stratum, kind="stable")
    starts = np.searchsorted(weights.stratum[order], np.arange(sizes.size))
    mean = np.add.reduceat(flat[order], starts, axis=0) / sizes[:, None] if sizes.size else flat
    scale = np.sqrt((sizes - 1) / sizes)[weights.stratum][:, None]
    # A stratum of one cluster has nothing to compare with, and may be undefined without it.
    out = np.where(scale > 0, scale * deviations(flat, mean[weights.stratum]), 0.0)
    return out.reshape(left_out.shape)


def deviations(values: FloatArray, mean: FloatArray) -> FloatArray:
    """Deviations from a mean; those of equal values are 0 and not its rounding."""
    out = values - mean
    return np.where(np.abs(out) <= 1e-13 * np.maximum(np.abs(mean), 1.0), 0.0, out)
