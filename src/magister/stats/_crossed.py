"""Items crossed with students: intervals for these students and for students like these.

Two estimands. *Fixed students*: the effect on exactly these students, over items like these; only clusters of
items are resampled. *Random students*: the effect on students like these; the few students are a sample too,
and the interval is wider. Every interval of this module says which of the two it is.

A statistic is a function of totals per student and of the students' weights, so that a resample of clusters
is `W @ sums` and a resample of students is a second matrix of weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from magister.stats._bootstrap import BootstrapWeights, percentile_intervals
from magister.stats._estimate import REASONS, Estimates, FloatArray, check_level, choose_status, reasons_of
from magister.stats._expanded import (
    FEW_CLUSTERS,
    cluster_freedom,
    expanded_level,
    student_half_width,
    tails_are_empty,
)
from magister.stats._jackknife import centred, deviations

#: Maps totals (..., S, F) and student weights (..., S) to statistics (..., K); NaN where undefined.
CrossedStatistic = Callable[[FloatArray, FloatArray], FloatArray]

# Below this share of the variances that it is a difference of, a variance is rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class CrossedSample:
    """M statistics of the same clusters and students with all that their intervals need.

    Attributes:
        value: statistics on the data, shape (M,); NaN where undefined.
        replicates: on the resamples of clusters, students as they are, shape (B, M).
        influence: what each cluster adds beyond its stratum's mean, by the jackknife, shape (C, M).
        item_variance: covariances from clusters of items alone, shape (M, M).
        student_variance: covariances from students alone, shape (M, M).
        cell_variance: covariances from the interaction, which both of the above hold, shape (M, M).
        n_students: students used by each statistic, shape (M,).
        weights: the resamples of clusters.
    """

    value: FloatArray
    replicates: FloatArray
    influence: FloatArray
    item_variance: FloatArray
    student_variance: FloatArray
    cell_variance: FloatArray
    n_students: NDArray[np.int64]
    weights: BootstrapWeights

    def differences(self, pairs: Sequence[tuple[int, int]]) -> CrossedSample:
        """The paired differences first - second, on the same resamples.

        Args:
            pairs: positions among the M statistics, length P.

        Returns:
            A sample of P statistics.
        """
        first, second = np.asarray(pairs, dtype=np.int64).reshape(-1, 2).T

        def spread(covariance: FloatArray) -> FloatArray:
            out: FloatArray = covariance[first] - covariance[second]
            out = out[:, first] - out[:, second]
            own = covariance.diagonal()[first] + covariance.diagonal()[second]
            out[np.abs(out) <= _ROUNDING * np.sqrt(np.outer(own, own))] = 0.0
            return out

        return replace(
            self,
            value=self.value[first] - self.value[second],
            replicates=self.replicates[:, first] - self.replicates[:, second],
            influence=self.influence[:, first] - self.influence[:, second],
            item_variance=spread(self.item_variance),
            student_variance=spread(self.student_variance),
            cell_variance=spread(self.cell_variance),
            n_students=np.minimum(self.n_students[first], self.n_students[second]),
        )

    def contributions(self) -> FloatArray:
        """What each cluster adds to each statistic, to first order; columns add up to `value`, shape (C, M)."""
        return self.influence + self.value / max(self.weights.n_clusters, 1)

    def fixed_students(self, level: float = 0.95) -> Estimates:
        """Intervals for exactly these students over items like these.

        Args:
            level: confidence level, 0..1.

        Returns:
            Estimates of shape (M,): expanded percentile intervals (`expanded_level`), or Student's t where
            the clusters are so few that its tails would hold no resample; `n` counts students, `se` comes
            from the jackknife over clusters.
        """
        nominal = expanded_level(self.weights, level)
        found = percentile_intervals(self.value, self.replicates, nominal)
        jackknife = np.sqrt(np.maximum(self.item_variance.diagonal(), 0.0))
        still = (jackknife == 0) & (found.status == "ok")
        found.status[still], found.reason[still] = "all_equal", REASONS["all_equal"]
        found = replace(found, se=np.where(np.isnan(jackknife), found.se, jackknife))
        if tails_are_empty(self.weights, level):
            half = student_half_width(found.se, self.weights, level)
            found = replace(found, ci_low=found.value - half, ci_high=found.value + half)
            found.reason[found.status == "ok"] = FEW_CLUSTERS
        return self._finish(found)

    def random_students(self, level: float = 0.95) -> Estimates:
        """Intervals for students like these over items like these.

        The variance is V_students + max(V_items - V_interaction, 0): each of the first two holds the
        interaction of students and items once. The half-width is sqrt(t_S^2 V_students + t_C^2 max(...)) with
        Student's quantiles of S - 1 and C - H degrees of freedom, so that few students widen their own share
        only.

        Args:
            level: confidence level, 0..1.

        Returns:
            Estimates of shape (M,). One student gives "one_student".

        References:
            Cameron, Gelbach and Miller (2011), JBES 29, 238-249, eq. 2.4 (two-way clusters; here with the
            small-sample corrections of the two-way analysis of variance); Zou and Donner (2008), Statistics in
            Medicine 27, 1693-1702 (the interval of a sum from those of its parts).
        """
        check_level(level)
        items, students, cells = (
            np.maximum(part.diagonal(), 0.0)
            for part in (self.item_variance, self.student_variance, self.cell_variance)
        )
        items = np.maximum(items - cells, 0.0)
        variance = students + items
        freedom = [np.maximum(self.n_students - 1, 1), cluster_freedom(self.weights)]
        of_students, of_items = (special.stdtrit(f, 0.5 + level / 2) for f in freedom)
        half = np.sqrt(of_students**2 * students + of_items**2 * items)
        status = choose_status(
            self.value.shape,
            [
                ("undefined", np.isnan(self.value)),
                ("one_student", self.n_students < 2),
                ("undefined_resamples", np.isnan(variance)),
                ("all_equal", variance == 0),
            ],
        )
        reason = reasons_of(status)
        reason[status == "undefined_resamples"] = "undefined without one of the clusters or students"
        counts = np.zeros(self.value.shape, dtype=np.int64)
        found = Estimates(
            self.value.copy(), self.value - half, self.value + half, np.sqrt(variance),
            counts, counts.copy(), status, reason,
        )  # fmt: skip
        return self._finish(found)

    def _finish(self, found: Estimates) -> Estimates:
        """Counts, what follows from too few clusters, and no interval without status "ok"."""
        found.n[:] = self.n_students
        found.n_clusters[:] = self.weights.n_clusters
        if not (self.weights.sizes > 1).any():
            found.status[~np.isnan(found.value)] = "one_cluster"
            if self.weights.n_clusters == 0:
                found.status[:] = "no_data"
            found.reason[:] = reasons_of(found.status)
        for column in (found.ci_low, found.ci_high, found.se):
            column[found.status != "ok"] = np.nan
        return found


def student_mean(tops: FloatArray, bottoms: FloatArray, students: FloatArray) -> FloatArray:
    """Weighted mean over students of top / bottom (CA: tops are right_T - right_0, bottoms the cells).

    Args:
        tops: shape (..., S).
        bottoms: shape (..., S); 0 for a student in use makes the mean undefined.
        students: weights, broadcast against both, shape (..., S); a student of weight 0 is no part.

    Returns:
        Shape (...); NaN where undefined.
    """
    used = students > 0
    shares = _ratio(tops, np.where(used, bottoms, 1.0))
    return _ratio((np.where(used, shares, 0.0) * students).sum(axis=-1), students.sum(axis=-1))


def student_ratio(tops: FloatArray, bottoms: FloatArray, students: FloatArray) -> FloatArray:
    """Ratio of weighted sums over students (GA: tops are wrong then right, bottoms wrong before).

    Args:
        tops: shape (..., S).
        bottoms: shape (..., S).
        students: weights, broadcast against both, shape (..., S).

    Returns:
        Shape (...); NaN where the bottom is 0.
    """
    return _ratio((tops * students).sum(axis=-1), (bottoms * students).sum(axis=-1))


def crossed_sample(
    sums: ArrayLike,
    statistic: CrossedStatistic,
    weights: BootstrapWeights,
    *,
    present: ArrayLike | None = None,
) -> CrossedSample:
    """Statistics of U units (teachers) on common clusters and students.

    Args:
        sums: sums per cluster, unit and student, shape (C, U, S, F); clusters in the order of `weights`.
        statistic: see `CrossedStatistic`, with K statistics.
        weights: the resamples of clusters; a student keeps its weight in all of them.
        present: students with data per unit, shape (U, S), bool; all by default.

    Returns:
        A sample of M = U K statistics, unit by unit.

    Raises:
        ValueError: if the shapes do not fit.

    References:
        Efron and Stein (1981), Annals of Statistics 9, 586-596 (jackknife variance).
    """
    x = np.asarray(sums)
    if x.ndim != 4 or x.shape[0] != weights.n_clusters:
        raise ValueError(f"sums must have shape ({weights.n_clusters}, U, S, F), not {x.shape}")
    _, units, students, _ = x.shape
    here = np.ones((units, students)) if present is None else np.asarray(present, dtype=np.float64)
    if here.shape != (units, students):
        raise ValueError(f"present must have shape ({units}, {students}), not {here.shape}")
    total = x.sum(axis=0).astype(np.float64)
    value = _call(statistic, total, here)
    drawn = _drawn(x, weights)
    parts = [_without_one(x[:, u], statistic, here[u], weights) for u in range(units)]
    by_cluster, by_student, by_cell = (np.concatenate([part[k] for part in parts], axis=1) for k in range(3))
    size = weights.sizes[weights.stratum][:, None].astype(np.float64)
    return CrossedSample(
        value.ravel(),
        _call(statistic, drawn, here).reshape(weights.resamples, value.size),
        -by_cluster * np.sqrt((size - 1) / size),
        by_cluster.T @ by_cluster,
        by_student.T @ by_student,
        by_cell.T @ by_cell,
        np.repeat(here.sum(axis=1).astype(np.int64), value.shape[1]),
        weights,
    )


def pigeonhole_replicates(
    sums: ArrayLike,
    statistic: CrossedStatistic,
    weights: BootstrapWeights,
    *,
    seed: int,
) -> FloatArray:
    """Statistics on resamples of clusters and, independently, of students.

    For rank intervals under random students. As an interval it is conservative where the interaction
    dominates and too narrow for very few students; `CrossedSample.random_students` is neither.

    Args:
        sums: shape (C, U, S, F), as in `crossed_sample`.
        statistic: see `CrossedStatistic`.
        weights: the resamples of clusters.
        seed: seed of the students' draws; whole number, 0 or more.

    Returns:
        Shape (B, M), M = U K; all units share the draws.

    References:
        Owen (2007), The pigeonhole bootstrap, Annals of Applied Statistics 1, 386-411.
    """
    x = np.asarray(sums)
    _, units, students, _ = x.shape
    drawn = _drawn(x, weights)
    counts = student_weights(students, resamples=weights.resamples, seed=seed).astype(np.float64)
    found = _call(statistic, drawn, np.broadcast_to(counts[:, None, :], drawn.shape[:-1]))
    return found.reshape(weights.resamples, units * found.shape[-1])


def student_weights(students: int, *, resamples: int, seed: int) -> NDArray[np.int64]:
    """Multinomial counts of students, shape (resamples, students), from a stream of their own.

    Args:
        students: S, 1 or more.
        resamples: B.
        seed: whole number, 0 or more.

    Returns:
        Counts whose rows add up to S.
    """
    # The second word keeps the stream apart from those of the clusters under the same seed.
    stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 0x5354])))
    return stream.multinomial(students, np.full(students, 1 / students), size=resamples)


def _without_one(
    x: NDArray[Any], statistic: CrossedStatistic, here: FloatArray, weights: BootstrapWeights
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Deviations of a unit without a cluster (C, K), a student (S, K) and one of their cells (C S, K).

    Each is scaled so that its squares add up to a variance.

    Args:
        x: sums, shape (C, S, F).
        statistic: see `CrossedStatistic`.
        here: 1 for students with data, 0 for others, shape (S,).
        weights: strata of the clusters.
    """
    clusters, students, _ = x.shape
    total = x.sum(axis=0).astype(np.float64)
    count = max(float(here.sum()), 1.0)
    by_cluster = centred(_call(statistic, total - x, here), weights)
    by_student = np.zeros((students, by_cluster.shape[1]))
    by_cell = np.zeros((clusters, students, by_cluster.shape[1]))
    used = np.flatnonzero(here)
    if used.size:
        left = _call(statistic, total, np.where(np.eye(students, dtype=bool)[used], 0.0, here))
        by_student[used] = np.sqrt((count - 1) / count) * deviations(left, left.mean(axis=0))
        for m in used:
            rest = np.repeat(total[None], clusters, axis=0)
            rest[:, m] -= x[:, m]
            by_cell[:, m] = centred(_call(statistic, rest, here), weights)
        cells = by_cell[:, used]
        # Less the clusters' own effects, what is left of a cell is the interaction.
        by_cell[:, used] = np.sqrt(count / max(count - 1, 1)) * (cells - cells.mean(axis=1, keepdims=True))
    return by_cluster, by_student, by_cell.reshape(clusters * students, by_cell.shape[2])


def _drawn(x: NDArray[Any], weights: BootstrapWeights) -> FloatArray:
    """Totals on the resamples, shape (B, U, S, F)."""
    flat = x.reshape(x.shape[0], int(np.prod(x.shape[1:])))
    return weights.totals(flat).reshape(weights.resamples, *x.shape[1:])


def _call(statistic: CrossedStatistic, totals: FloatArray, students: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(statistic(totals, students), dtype=np.float64)


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    return np.where(bottom == 0, np.nan, top / np.where(bottom == 0, 1.0, bottom))
