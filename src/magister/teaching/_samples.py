"""Scores of a part of a league on its data and on resamples, and paired differences between two of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from magister.contracts.schemas import METRICS
from magister.stats import (
    FEW_CLUSTERS,
    BootstrapWeights,
    Estimates,
    cluster_jackknife,
    expanded_level,
    holm,
    percentile_intervals,
    sign_flip,
    student_half_width,
    tails_are_empty,
)
from magister.teaching._cube import Bools, Ints
from magister.teaching._marks import Sums
from magister.teaching._scores import Floats, Totals, data_scores, gains, present_students, scores, totals

Statistic = Callable[[Totals, Bools], Floats]


@dataclass(frozen=True)
class Sample:
    """K statistics of U teachers.

    Attributes:
        metrics: names of the statistics, length K.
        rounds: round of each, length K.
        sums: the part of the league.
        weights: resamples of its clusters.
        statistic: from totals and the students present to shape (U, K, B).
        value: on the data, shape (U, K); NaN where undefined.
        replicates: on the resamples, shape (U, K, B).
    """

    metrics: tuple[str, ...]
    rounds: tuple[int, ...]
    sums: Sums
    weights: BootstrapWeights
    statistic: Statistic
    value: Floats
    replicates: Floats

    def only(self, metrics: tuple[str, ...]) -> Sample:
        """The sample with some of its statistics."""
        at = [self.metrics.index(metric) for metric in metrics]
        return replace(
            self,
            metrics=metrics,
            rounds=tuple(self.rounds[k] for k in at),
            statistic=lambda given, present: self.statistic(given, present)[:, at],
            value=self.value[:, at],
            replicates=self.replicates[:, at],
        )

    @cached_property
    def left_out(self) -> Floats:
        """The statistics without one cluster at a time, shape (C, U, K)."""
        flat = self.sums.flat
        rest = totals(self.sums, flat.sum(axis=1, dtype=np.int64)[:, None] - flat)
        return np.moveaxis(_call(self.statistic, rest, present_students(self.sums)), 2, 0)


def drawn_sums(sums: Sums, weights: BootstrapWeights, clusters: Ints | None = None) -> Floats:
    """Sums on the resamples in the layout of `Sums.flat`, shape (K, B): whole numbers, exactly.

    Args:
        sums: the part of the league.
        weights: resamples.
        clusters: where the clusters of `sums` stand among those of the weights; all by default.
    """
    return weights.totals(sums.flat.T, clusters).T


def headline(sums: Sums, weights: BootstrapWeights, drawn: Floats) -> Sample:
    """The headline metrics of a part of a league.

    Args:
        sums: the part.
        weights: resamples of its clusters.
        drawn: see `drawn_sums`.
    """
    last = sums.rounds - 1
    at = {"CA": last, "AA": 0, "JA": 1, "GA": 1, "RA": last}
    replicates = _call(scores, totals(sums, drawn), present_students(sums))
    rounds = tuple(at[metric] for metric in METRICS)
    return Sample(METRICS, rounds, sums, weights, scores, data_scores(sums), replicates)


def gains_by_round(whole: Sample, drawn: Floats) -> list[Sample]:
    """CA at every round from 1 on, a sample each."""
    sums, present = whole.sums, present_students(whole.sums)
    data = totals(sums, sums.flat.sum(axis=1, dtype=np.int64)[:, None])
    value, replicates = (_call(gains, part, present) for part in (data, totals(sums, drawn)))

    def gain(t: int) -> Statistic:
        return lambda given, there: gains(given, there)[:, t - 1 : t]

    return [
        Sample(("CA",), (t,), sums, whole.weights, gain(t), value[:, t - 1 : t, 0], replicates[:, t - 1 : t])
        for t in range(1, sums.rounds)
    ]


@dataclass(frozen=True)
class Paired:
    """Differences of a sample from another on the same resamples.

    Attributes:
        value: on the data, shape (U, K).
        replicates: shape (U, K, B).
        weights: resamples of the clusters that both rest on.
        left_out: differences without one cluster at a time, shape (C, U, K), worked out when asked for.
    """

    value: Floats
    replicates: Floats
    weights: BootstrapWeights
    left_out: Callable[[], Floats]

    def less(self, at: int, other: int) -> Paired:
        """One of the K differences less another."""
        return Paired(
            self.value[:, [at]] - self.value[:, [other]],
            self.replicates[:, [at]] - self.replicates[:, [other]],
            self.weights,
            lambda: self.left_out()[:, :, [at]] - self.left_out()[:, :, [other]],
        )


def compare(sample: Sample, whole: Sample, clusters: Ints | None = None) -> Paired:
    """The paired differences sample - whole.

    Args:
        sample: a part of the league, or the league under another condition.
        whole: the league, with all of the headline metrics.
        clusters: where the clusters of `sample` stand among those of the whole; all by default.
    """
    at = [whole.metrics.index(metric) for metric in sample.metrics]

    def left_out() -> Floats:
        if clusters is None:
            return sample.left_out - whole.left_out[:, :, at]
        # Without a cluster that it does not hold, a part stays what it is.
        found = np.repeat(sample.value[None], whole.weights.n_clusters, axis=0)
        found[clusters] = sample.left_out
        return found - whole.left_out[:, :, at]

    return Paired(
        sample.value - whole.value[:, at],
        sample.replicates - whole.replicates[:, at],
        whole.weights,
        left_out,
    )


def estimates(
    value: Floats, replicates: Floats, weights: BootstrapWeights, level: float, left_out: Callable[[], Floats]
) -> Estimates:
    """Intervals for these students over items like these.

    Args:
        value: shape (U, K).
        replicates: shape (U, K, B).
        weights: the resamples.
        level: confidence level, 0..1.
        left_out: see `Paired`; asked for only where the clusters are too few to resample.

    Returns:
        Expanded percentile intervals, or Student's t where their tails would hold no resample; shape (U K,).
    """
    drawn = replicates.reshape(value.size, replicates.shape[2]).T
    found = percentile_intervals(value.ravel(), drawn, expanded_level(weights, level))
    if not drawn.shape[0] or not tails_are_empty(weights, level):
        return found
    variance = cluster_jackknife(left_out().reshape(weights.n_clusters, value.size), weights).variance
    with np.errstate(invalid="ignore"):
        se = np.sqrt(variance)
    half = student_half_width(se, weights, level)
    good = (found.status == "ok") & (half > 0)
    lost = (found.status == "ok") & ~good
    found.status[lost], found.reason[lost] = "undefined_resamples", "undefined without one of the clusters"
    found.reason[good] = FEW_CLUSTERS
    ends = (found.value - half, found.value + half, se)
    low, high, error = (np.where(good, end, np.nan) for end in ends)
    return replace(found, ci_low=low, ci_high=high, se=error)


def flip_tests(paired: Paired, *, flips: int, seed: int) -> tuple[Floats, Floats]:
    """Sign flips of clusters, and Holm's p over the teachers of every statistic.

    Args:
        paired: the differences.
        flips: random sign patterns; without any there are no tests.
        seed: their seed.

    Returns:
        p and its adjusted value, shape (U, K) each; NaN where there is no test.
    """
    shape, clusters = paired.value.shape, max(paired.weights.n_clusters, 1)
    unknown = np.full(shape, np.nan)
    if flips < 1 or not (paired.weights.sizes > 1).any():
        # Where no dataset has two clusters, nothing says how far one strays from the rest.
        return unknown, unknown.copy()
    left_out = paired.left_out().reshape(paired.weights.n_clusters, paired.value.size)
    influence = cluster_jackknife(left_out, paired.weights).influence
    # To first order what each cluster adds to the difference; its columns add up to it.
    p = sign_flip(influence + paired.value.ravel() / clusters, flips=flips, seed=seed).p.reshape(shape)
    return p, np.stack([holm(p[:, k]) for k in range(shape[1])], axis=1)


def _call(statistic: Statistic, given: Totals, present: Bools) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return statistic(given, present)
