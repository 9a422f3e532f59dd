"""How far raters agree: all coefficients are functions of sums over units, so a resample is `W @ sums`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from magister.stats._bootstrap import bootstrap_weights, statistic_intervals
from magister.stats._estimate import Estimate, FloatArray, check_level

Measurement = Literal["nominal", "ordinal", "interval"]
Raters = Literal["single", "average"]
Weighting = Literal["none", "linear", "quadratic"]

#: Distinct ratings of an ordinal scale; interval scales have no limit.
MAX_CATEGORIES = 64
# Totals of one block of resamples.
_BLOCK_CELLS = 2**22


@dataclass(frozen=True)
class UnitBootstrap:
    """How intervals over units are drawn.

    Attributes:
        resamples: B; 0 for no interval.
        seed: whole number, 0 or more.
        level: confidence level, 0..1.
        clusters: label of each unit's cluster, length U; None where units are independent. Clusters are
            taken in the order of their labels.
    """

    resamples: int
    seed: int
    level: float = 0.95
    clusters: ArrayLike | None = None


def krippendorff_alpha(ratings: ArrayLike, measurement: Measurement, plan: UnitBootstrap) -> Estimate:
    """Krippendorff's alpha, 1 - D_o / D_e, from coincidences; missing ratings are left out.

    Args:
        ratings: ratings of U units by R raters, shape (U, R); NaN where a rater gave none. Nominal ratings
            are codes, whose values and order mean nothing.
        measurement: "nominal", "ordinal" (distances follow the ranks of the resample at hand) or "interval".
        plan: the resamples of units.

    Returns:
        The estimate; `n` counts ratings that can be paired, `n_clusters` clusters with such ratings. No unit
        with two ratings gives "no_data"; ratings all alike leave nothing to expect: "undefined".

    Raises:
        ValueError: for another shape, or more than `MAX_CATEGORIES` ordinal ratings.

    References:
        Krippendorff (2011), Computing Krippendorff's Alpha-Reliability; Hayes and Krippendorff (2007),
        Communication Methods and Measures 1, 77-89.
    """
    x = _table(ratings, plan)
    given = ~np.isnan(x)
    counts = given.sum(axis=1)
    units = counts >= 2
    if not units.any():
        reason = "no unit has two ratings"
        return Estimate.absent("no_data", n=0, n_clusters=0, reason=reason)
    x, given, m = x[units], given[units], counts[units].astype(np.float64)
    statistic: Callable[[FloatArray], FloatArray]
    if measurement == "interval":
        # Moments about the mean of all; sum of squared distances of pairs = 2 (m sum x^2 - (sum x)^2).
        centred = np.where(given, x - x[given].mean(), 0.0)
        first, second = centred.sum(axis=1), (centred**2).sum(axis=1)
        observed = 2 * (m * second - first**2) / (m - 1)
        sums, statistic = np.stack([m, observed, first, second], axis=1), _interval
    else:
        values, code = np.unique(x[given], return_inverse=True)
        rows = np.nonzero(given)[0]
        shape = (x.shape[0], values.size)
        table = np.bincount(rows * values.size + code, minlength=shape[0] * shape[1]).reshape(shape)
        if measurement == "nominal":
            observed = (m**2 - (table.astype(np.float64) ** 2).sum(axis=1)) / (m - 1)
            sums, statistic = np.column_stack([m, observed, table]), _nominal
        elif measurement == "ordinal":
            if values.size > MAX_CATEGORIES:
                raise ValueError(
                    f"{values.size} ordinal ratings; expected {MAX_CATEGORIES} at most: bin them"
                )
            pairs = table[:, :, None] * table[:, None, :] / (m - 1)[:, None, None]
            sums, statistic = np.column_stack([m, pairs.reshape(shape[0], -1), table]), _ordinal(values.size)
        else:
            raise ValueError(f"measurement {measurement!r} is unknown; expected nominal, ordinal or interval")
    why = "all ratings are equal: no disagreement can be expected"
    return _estimate(
        sums, statistic, _kept(plan, units), n=int(m.sum()), undefined=why, on_grid=measurement == "nominal"
    )


def intraclass_correlation(ratings: ArrayLike, raters: Raters, plan: UnitBootstrap) -> Estimate:
    """Absolute agreement in the two-way random model, ICC(2,1) or ICC(2,k).

    Args:
        ratings: ratings of U units by R raters, shape (U, R); units with a NaN are left out.
        raters: "single" for ICC(2,1), one rater's reliability; "average" for ICC(2,k), that of the mean of
            all R.
        plan: the resamples of units; the raters stay as they are.

    Returns:
        The estimate; `n` counts units in use. Fewer than two units or raters, or ratings all alike, are
        "undefined".

    Raises:
        ValueError: for another shape.

    References:
        Shrout and Fleiss (1979), Psychological Bulletin 86, 420-428; McGraw and Wong (1996), Psychological
        Methods 1, 30-46 (ICC(A,1) and ICC(A,k)).
    """
    if raters not in ("single", "average"):
        raise ValueError(f"raters {raters!r} is unknown; expected single or average")
    x = _table(ratings, plan)
    whole = np.asarray(~np.isnan(x).any(axis=1))
    if not whole.any():
        return Estimate.absent("no_data", reason="no unit has a rating of every rater")
    x, k = x[whole] - x[whole].mean(), x.shape[1]
    units = np.ones((x.shape[0], 1))
    sums = np.column_stack([units, (x**2).sum(axis=1), x.sum(axis=1) ** 2, x])
    scale = float((x**2).sum())

    def statistic(totals: FloatArray) -> FloatArray:
        n, squares, rows, columns = totals[..., 0], totals[..., 1], totals[..., 2], totals[..., 3:]
        mean = columns.sum(axis=-1) ** 2 / (n * k)
        between, judges = rows / k - mean, (columns**2).sum(axis=-1) / n - mean
        ms_units, ms_raters = between / (n - 1), judges / (k - 1)
        ms_rest = (squares - mean - between - judges) / ((n - 1) * (k - 1))
        bottom = (
            ms_units + (k - 1) * ms_rest + k * (ms_raters - ms_rest) / n
            if raters == "single"
            else ms_units + (ms_raters - ms_rest) / n
        )
        fine = (n > 1) & (np.abs(bottom) > 1e-13 * scale / n)
        return _share(ms_units - ms_rest, np.where(fine, bottom, 0.0))[..., None]

    why = "two units and two raters are needed, and ratings that vary"
    if k < 2:
        return Estimate.absent("undefined", n=x.shape[0], n_clusters=x.shape[0], reason=why)
    return _estimate(
        sums, statistic, _kept(plan, whole), n=x.shape[0], undefined=why, left=int((~whole).sum())
    )


def weighted_kappa(
    first: ArrayLike, second: ArrayLike, weighting: Weighting, plan: UnitBootstrap
) -> Estimate:
    """Cohen's kappa of two raters, 1 - sum w O / sum w E.

    Args:
        first: ratings of U units, shape (U,); NaN where there is none.
        second: ratings by the other rater, shape (U,).
        weighting: "none" (unequal is 1), "linear" or "quadratic" in the values' distance: with whole-number
            codes these are the usual weights.
        plan: the resamples of units.

    Returns:
        The estimate; `n` counts units with both ratings. Ratings all alike are "undefined".

    Raises:
        ValueError: for shapes that differ.

    References:
        Cohen (1968), Psychological Bulletin 70, 213-220.
    """
    distances: dict[str, Callable[[FloatArray], FloatArray]] = {
        "none": lambda gap: (gap != 0).astype(np.float64),
        "linear": np.abs,
        "quadratic": np.square,
    }
    if weighting not in distances:
        raise ValueError(f"weighting {weighting!r} is unknown; expected none, linear or quadratic")
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"both raters need one shape (U,): {a.shape}, {b.shape}")
    x = _table(np.stack([a, b], axis=1), plan)
    both = np.asarray(~np.isnan(x).any(axis=1))
    if not both.any():
        return Estimate.absent("no_data", reason="no unit has both ratings")
    x = x[both]
    values, code = np.unique(x, return_inverse=True)
    code = code.reshape(x.shape)
    distance = distances[weighting](values[:, None] - values[None, :])
    marks = [np.eye(values.size)[code[:, side]] for side in range(2)]
    sums = np.column_stack([np.ones(x.shape[0]), distance[code[:, 0], code[:, 1]], *marks])

    def statistic(totals: FloatArray) -> FloatArray:
        one, two = totals[..., 2 : 2 + values.size], totals[..., 2 + values.size :]
        expected = ((one @ distance) * two).sum(axis=-1) / totals[..., 0]
        return 1 - _share(totals[..., 1], expected)[..., None]

    why = "all ratings are equal: no disagreement can be expected"
    return _estimate(sums, statistic, _kept(plan, both), n=x.shape[0], undefined=why, left=int((~both).sum()))


def _nominal(totals: FloatArray) -> FloatArray:
    n, observed, marks = totals[..., 0], totals[..., 1], totals[..., 2:]
    return _alpha(n, observed, n**2 - (marks**2).sum(axis=-1))


def _interval(totals: FloatArray) -> FloatArray:
    n, observed, first, second = np.moveaxis(totals, -1, 0)
    expected = 2 * (n * second - first**2)
    return _alpha(n, observed, np.where(expected <= 1e-12 * n * second, 0.0, expected))


def _ordinal(categories: int) -> Callable[[FloatArray], FloatArray]:
    """Squared distances of mid-ranks: the sum of counts from c to k less half of both ends."""

    def part(totals: FloatArray) -> FloatArray:
        n, marks = totals[..., 0], totals[..., 1 + categories**2 :]
        pairs = totals[..., 1 : 1 + categories**2].reshape(*n.shape, categories, categories)
        middle = marks.cumsum(axis=-1) - marks / 2
        # sum_ck o_ck (r_c - r_k)^2 with o symmetric and its rows adding up to the marks.
        cross = np.einsum("...c,...ck,...k->...", middle, pairs, middle)
        observed = 2 * ((pairs.sum(axis=-1) * middle**2).sum(axis=-1) - cross)
        expected = 2 * (n * (marks * middle**2).sum(axis=-1) - (marks * middle).sum(axis=-1) ** 2)
        return _alpha(n, observed, np.where((marks > 0).sum(axis=-1) < 2, 0.0, expected))

    def statistic(totals: FloatArray) -> FloatArray:
        if totals.ndim != 2:
            return part(totals)
        step = max(1, _BLOCK_CELLS // categories**2)
        starts = range(0, totals.shape[0], step)
        return np.concatenate([part(totals[s : s + step]) for s in starts] or [np.zeros((0, 1))])

    return statistic


def _alpha(n: FloatArray, observed: FloatArray, expected: FloatArray) -> FloatArray:
    """1 - (n - 1) sum_ck o_ck d_ck / sum_ck n_c n_k d_ck, shape (..., 1)."""
    return (1 - _share((n - 1) * observed, expected))[..., None]


def _share(top: FloatArray, bottom: FloatArray) -> FloatArray:
    return np.where(bottom == 0, np.nan, top / np.where(bottom == 0, 1.0, bottom))


def _table(ratings: ArrayLike, plan: UnitBootstrap) -> FloatArray:
    check_level(plan.level)
    x = np.asarray(ratings, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"ratings must have shape (units, raters), not {x.shape}")
    if plan.clusters is not None and np.asarray(plan.clusters).shape != x.shape[:1]:
        raise ValueError(f"clusters must have shape ({x.shape[0]},), one per unit")
    return x


def _kept(plan: UnitBootstrap, units: NDArray[np.bool_]) -> UnitBootstrap:
    """The plan of the units in use."""
    return plan if plan.clusters is None else replace(plan, clusters=np.asarray(plan.clusters)[units])


def _estimate(
    sums: FloatArray,
    statistic: Callable[[FloatArray], FloatArray],
    plan: UnitBootstrap,
    *,
    n: int,
    undefined: str,
    left: int = 0,
    on_grid: bool = False,
) -> Estimate:
    """Add sums up per cluster and resample those; sums on a grid have the same totals on any number of threads."""
    if plan.clusters is not None:
        labels, code = np.unique(np.asarray(plan.clusters), return_inverse=True)
        order = np.argsort(code, kind="stable")
        starts = np.searchsorted(code[order], np.arange(labels.size))
        sums = np.add.reduceat(sums[order], starts, axis=0)
    if on_grid:
        sums = _on_grid(sums)
    weights = bootstrap_weights(["units"] * sums.shape[0], resamples=plan.resamples, seed=plan.seed)
    found = statistic_intervals(sums, statistic, weights, level=plan.level).item()
    reason = undefined if found.value is None else found.reason
    if left:
        reason = "; ".join(part for part in (reason, f"{left} units without every rating left out") if part)
    status = "undefined" if found.value is None else found.status
    return replace(found, n=n, status=status, reason=reason)


def _on_grid(sums: FloatArray) -> FloatArray:
    """Round to multiples of a power of two so fine that every total of a resample is exact in a float.

    Then no order of additions, and so no number of threads, can change a bit of it. What is lost is about the number
    of clusters times the float's own rounding.
    """
    bound = np.abs(sums).max(initial=1.0) * sums.shape[0]
    bits = 52 - int(np.ceil(np.log2(bound)))
    return np.ldexp(np.rint(np.ldexp(sums, bits)), -bits)
