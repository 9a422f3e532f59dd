"""Shares of votes with intervals that know of instructions: many groups at once, from counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from magister.stats import Estimate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Below this share of the counts a sum of residuals is rounding, not variation.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Shares:
    """Shares of groups, shape (groups,); NaN stands for "absent".

    Attributes:
        value: the share, 0..1.
        ci_low: lower end.
        ci_high: upper end.
        se: half the interval over the t quantile.
        n: observations.
        n_clusters: clusters with observations.
    """

    value: FloatArray
    ci_low: FloatArray
    ci_high: FloatArray
    se: FloatArray
    n: IntArray
    n_clusters: IntArray

    def __getitem__(self, group: int) -> Estimate:
        """The share of one group, with its status."""
        n, clusters = int(self.n[group]), int(self.n_clusters[group])
        if n == 0:
            return Estimate.absent("no_data")
        value = float(self.value[group])
        if np.isnan(self.ci_low[group]):
            return Estimate.absent("one_cluster", value=value, n=n, n_clusters=clusters)
        low, high, se = (float(column[group]) for column in (self.ci_low, self.ci_high, self.se))
        return Estimate(value, low, high, se, n, clusters)


def clustered_shares(
    hits: ArrayLike,
    trials: ArrayLike,
    group: ArrayLike,
    cluster: ArrayLike,
    *,
    groups: int,
    level: float,
    weight: ArrayLike | None = None,
) -> Shares:
    """Shares sum(w hits) / sum(w trials) per group, with intervals that take clusters for units.

    The variance is the cluster-robust one of a ratio; the interval is Wilson's at the effective number of trials,
    p (1 - p) / variance, with the t quantile of clusters - 1. It stays within 0..1; where all trials agree, clusters
    count as trials, so that 30 of 30 is no certainty. One cluster has no interval.

    Args:
        hits: hits of each observation, shape (n,).
        trials: trials of each observation, shape (n,); 1 each for votes.
        group: group of each observation, 0..groups - 1, shape (n,).
        cluster: cluster code of each observation, shape (n,), shared between groups.
        groups: number of groups.
        level: confidence level, 0..1.
        weight: weight of each observation, shape (n,); 1 by default.

    Returns:
        One share per group.

    References:
        Wilson (1927), JASA 22, 209-212; Dean and Pagano (2015), Journal of Survey Statistics and Methodology 3,
        484-503 (Wilson's interval for clustered data).
    """
    top, size = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    of, unit = np.asarray(group, dtype=np.int64), np.asarray(cluster, dtype=np.int64)
    scale = np.ones(top.shape) if weight is None else np.asarray(weight, dtype=np.float64)
    if weight is not None:
        # Sums are taken in a fixed order, so that the order of the rows cannot change the last bit.
        order = np.lexsort((size, top, scale, unit, of))
        top, size, scale, of, unit = top[order], size[order], scale[order], of[order], unit[order]
    cells, cell = np.unique(of * (unit.max(initial=0) + 1) + unit, return_inverse=True)
    owner = cells // (unit.max(initial=0) + 1)
    used = size > 0
    cell_hits = np.bincount(cell, weights=scale * top, minlength=cells.size)
    cell_size = np.bincount(cell, weights=scale * size, minlength=cells.size)
    cell_n = np.bincount(cell, weights=size, minlength=cells.size)

    def total(values: ArrayLike) -> FloatArray:
        return np.bincount(owner, weights=values, minlength=groups).astype(np.float64)

    n = total(cell_n)
    clusters = total(cell_n > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = total(cell_size)
        p = total(cell_hits) / whole
        residual = cell_hits - p[owner] * cell_size
        residual[np.abs(residual) <= _ROUNDING * cell_size] = 0.0
        variance = clusters / (clusters - 1) * total(residual**2) / whole**2
        # What the weights leave of the number of trials.
        most = whole**2 / np.bincount(of[used], weights=(scale**2 * size)[used], minlength=groups)
        alike = (p <= 0) | (p >= 1)
        effective = np.where(alike, np.minimum(most, clusters), np.minimum(most, p * (1 - p) / variance))
        t = special.stdtrit(np.maximum(clusters - 1, 1), 0.5 + level / 2)
        denominator = 1 + t**2 / effective
        centre = (p + t**2 / (2 * effective)) / denominator
        half = t * np.sqrt(p * (1 - p) / effective + t**2 / (4 * effective**2)) / denominator
    lone = clusters < 2
    low = np.where(lone, np.nan, np.where(p <= 0, 0.0, centre - half))
    high = np.where(lone, np.nan, np.where(p >= 1, 1.0, centre + half))
    se = np.where(lone, np.nan, half / t)
    return Shares(p, low, high, se, n.astype(np.int64), clusters.astype(np.int64))
