"""Means of clustered observations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from magister.stats._estimate import Estimate, check_level

# Below this share of the scale of the data a sum of residuals is rounding, not variation.
_ROUNDING = 1e-13


def cluster_mean(values: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> Estimate:
    """Mean with a cluster-robust standard error and a t interval.

    With residual sums u_g = sum_{i in g} (x_i - mean), the variance is G / (G - 1) * sum_g u_g^2 / n^2 and
    the interval uses G - 1 degrees of freedom.

    Args:
        values: scores, shape (n,).
        clusters: cluster labels, shape (n,).
        level: confidence level, 0..1.

    Returns:
        The estimate. Without an interval for one cluster ("one_cluster"), for equal scores or cluster sums
        that do not vary ("all_equal"); without a value for n = 0 ("no_data") or NaN scores
        ("missing_values").

    References:
        Liang and Zeger (1986), Biometrika 73, 13-22; Miller (2024), Adding Error Bars to Evals, eq. 4 (there
        without the correction G / (G - 1)).
    """
    check_level(level)
    x = np.asarray(values, dtype=np.float64)
    labels = np.asarray(clusters)
    if x.ndim != 1 or labels.shape != x.shape:
        raise ValueError(
            f"values and clusters must be one-dimensional and equal, not {x.shape}, {labels.shape}"
        )
    n = x.size
    if n == 0:
        return Estimate.absent("no_data")
    _, code = np.unique(labels, return_inverse=True)
    groups = int(code.max()) + 1
    if np.isnan(x).any():
        reason = f"{int(np.isnan(x).sum())} of {n} scores are NaN"
        return Estimate.absent("missing_values", n=n, n_clusters=groups, reason=reason)
    # Sums are taken in a fixed order, so that the order of the rows cannot change the last bit.
    order = np.lexsort((x, code))
    x, code = x[order], code[order]
    mean = float(np.sort(x).sum() / n)
    if groups == 1:
        return Estimate.absent("one_cluster", value=mean, n=n, n_clusters=1)
    sums = np.bincount(code, weights=x - mean, minlength=groups)
    scale = float(np.abs(x).sum())
    if x.min() == x.max() or float(np.abs(sums).max()) <= _ROUNDING * scale:
        return Estimate.absent("all_equal", value=mean, n=n, n_clusters=groups)
    se = float(np.sqrt(groups / (groups - 1) * np.sum(sums**2)) / n)
    half = float(special.stdtrit(groups - 1, 0.5 + level / 2)) * se
    return Estimate(mean, mean - half, mean + half, se, n, groups)
