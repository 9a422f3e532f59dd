"""Statistics of cluster sums with bootstrap intervals whose bits no number of threads can change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from magister.stats import BootstrapWeights, Estimate, UnitBootstrap, bootstrap_weights, statistic_intervals

FloatArray = NDArray[np.float64]
Statistic = Callable[[FloatArray], FloatArray]
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Resampling:
    """How intervals are drawn: clusters are tasks.

    Attributes:
        resamples: B; 0 for no interval.
        seed: whole number, 0 or more.
        level: confidence level, 0..1.
    """

    resamples: int
    seed: int
    level: float = 0.95
    _drawn: dict[tuple[str, ...], BootstrapWeights] = field(
        default_factory=dict, repr=False, compare=False, hash=False
    )

    def units(self, clusters: ArrayLike) -> UnitBootstrap:
        """The same for functions of `magister.stats` that take units."""
        return UnitBootstrap(self.resamples, self.seed, self.level, np.asarray(clusters, dtype=str))

    def interval(self, sums: FloatArray, statistic: Statistic, strata: tuple[str, ...] = ()) -> Estimate:
        """The first of a statistic's values, with its interval.

        Args:
            sums: sums per cluster, shape (C, F), rows in the order of sorted cluster labels.
            statistic: maps totals (..., F) to (..., K); NaN where undefined.
            strata: stratum of each cluster; one by default.
        """
        return self.intervals(sums, statistic, strata)[0]

    def intervals(
        self, sums: FloatArray, statistic: Statistic, strata: tuple[str, ...] = ()
    ) -> list[Estimate]:
        """All values of a statistic, on the same resamples."""
        key = strata or ("tasks",) * sums.shape[0]
        if key not in self._drawn:
            self._drawn[key] = bootstrap_weights(key, resamples=self.resamples, seed=self.seed)
        found = statistic_intervals(on_grid(sums), statistic, self._drawn[key], level=self.level)
        return [found[place] for place in range(found.value.size)]


def on_grid(sums: FloatArray) -> FloatArray:
    """Round each column to multiples of a power of two so fine that every total of a resample is exact.

    Then no order of additions can change a bit of it. What is lost is about the number of clusters times the float's
    own rounding.
    """
    bound = np.maximum(np.abs(sums).max(axis=0, initial=0.0), 1e-300) * max(sums.shape[0], 1)
    bits = 52 - np.ceil(np.log2(bound)).astype(np.int64)
    return np.asarray(np.ldexp(np.rint(np.ldexp(sums, bits)), -bits), dtype=np.float64)


def cluster_sums(rows: FloatArray, clusters: NDArray[Any]) -> FloatArray:
    """Sum rows (n, F) per cluster, in the order of sorted labels, shape (C, F)."""
    labels, code = np.unique(clusters.astype(str), return_inverse=True)
    out = np.zeros((labels.size, rows.shape[1]))
    # Within a cluster by value, so that the order of the rows cannot change the last bit.
    order = np.lexsort((*rows.T[::-1], code))
    np.add.at(out, code[order], rows[order])
    return out


def share(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """A ratio; NaN where there is nothing below."""
    return np.where(bottom == 0, np.nan, top / np.where(bottom == 0, 1.0, bottom))


def pearson(first: FloatArray, second: FloatArray, clusters: NDArray[Any], plan: Resampling) -> Estimate:
    """Pearson's r over units of which both are known, with an interval over clusters.

    Args:
        first: shape (n,); NaN where unknown.
        second: shape (n,).
        clusters: labels, shape (n,).
        plan: the resamples.

    Returns:
        The estimate; "undefined" for fewer than three units, or where one of them does not vary.
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    x, y, labels = first[both], second[both], clusters[both]
    n, groups = int(x.size), int(np.unique(labels.astype(str)).size)
    if n < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        why = "fewer than three units" if n < 3 else "one of the two does not vary"
        return Estimate.absent("undefined", n=n, n_clusters=groups, reason=why)
    # About the means of all: sums of squares then lose nothing.
    u, v = x - np.sort(x).mean(), y - np.sort(y).mean()
    rows = np.column_stack([np.ones(n), u, v, u * u, v * v, u * v])

    def statistic(totals: FloatArray) -> FloatArray:
        count, a, b, aa, bb, ab = np.moveaxis(totals, -1, 0)
        one, two = aa - share(a * a, count), bb - share(b * b, count)
        fine = (one > _ROUNDING * aa) & (two > _ROUNDING * bb)
        scale = np.sqrt(np.where(fine, one, 1.0)) * np.sqrt(np.where(fine, two, 1.0))
        return np.where(fine, np.clip((ab - share(a * b, count)) / scale, -1, 1), np.nan)[..., None]

    return replace(plan.interval(cluster_sums(rows, labels), statistic), n=n)


def variance_shares(
    values: FloatArray, groups: NDArray[Any], clusters: NDArray[Any], plan: Resampling
) -> list[Estimate]:
    """Share of the variance that lies between groups: eta squared, and omega squared.

    Args:
        values: shape (n,), all known.
        groups: the group (the model) of each, shape (n,).
        clusters: the cluster (the task) of each, shape (n,).
        plan: the resamples.

    Returns:
        Both; "undefined" for one group, one value a group, or values all alike. Eta squared is SSB / SST and grows with
        the number of groups whatever they do; omega squared takes that out and may fall below 0.

    References:
        Olejnik and Algina (2003), Psychological Methods 8, 434-447.
    """
    names, code = np.unique(groups.astype(str), return_inverse=True)
    n, count = int(values.size), int(np.unique(clusters.astype(str)).size)
    if names.size < 2 or n <= names.size or np.ptp(values) == 0:
        why = (
            "one model: nothing lies between models"
            if names.size < 2
            else "all scores are equal"
            if n and np.ptp(values) == 0
            else "one score a model"
        )
        absent = Estimate.absent("undefined", n=n, n_clusters=count, reason=why)
        return [absent, absent]
    centred = values - np.sort(values).mean()
    marks = np.eye(names.size)[code]
    rows = np.hstack([marks, marks * centred[:, None], (centred**2)[:, None]])

    def statistic(totals: FloatArray) -> FloatArray:
        sizes, sums = totals[..., : names.size], totals[..., names.size : 2 * names.size]
        total, squares = sizes.sum(axis=-1), totals[..., -1]
        middle = share(sums.sum(axis=-1) ** 2, total)
        between = np.where(sizes > 0, sums**2 / np.where(sizes > 0, sizes, 1.0), 0.0).sum(axis=-1) - middle
        whole = squares - middle
        present = (sizes > 0).sum(axis=-1)
        whole = np.where((whole > _ROUNDING * squares) & (present > 1), whole, 0.0)
        within = share(whole - between, np.where(total > present, total - present, 0.0))
        omega = share(between - (present - 1) * within, np.where(whole > 0, whole + within, 0.0))
        return np.stack([np.clip(share(between, whole), 0, 1), omega], axis=-1)

    return [replace(found, n=n) for found in plan.intervals(cluster_sums(rows, clusters), statistic)]


def estimate_row(found: Estimate, plan: Resampling, more: Mapping[str, Any]) -> dict[str, Any]:
    """An estimate as a table's columns."""
    status = "not_computable" if found.value is None else "no_interval" if found.ci_low is None else "ok"
    return {
        **more,
        "status": status,
        "reason": found.reason if found.reason or status == "ok" else found.status,
        "n": found.n,
        "n_clusters": found.n_clusters,
        "level": plan.level,
        "resamples": plan.resamples,
        "seed": plan.seed,
        "value": found.value,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "se": found.se,
    }


def scaled(found: Estimate, factor: float, shift: float = 0.0) -> Estimate:
    """(x - shift) * factor of an estimate, for a factor above 0."""

    def put(value: float | None) -> float | None:
        return None if value is None else (value - shift) * factor

    se = None if found.se is None else found.se * factor
    return replace(found, value=put(found.value), ci_low=put(found.ci_low), ci_high=put(found.ci_high), se=se)
