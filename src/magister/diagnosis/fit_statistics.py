"""Does DINA fit at all: M2, RMSEA2 and SRMSR, from the shares of right responses to items and pairs of items.

- M2 (Maydeu-Olivares and Joe 2006, Psychometrika 71; for cognitive diagnosis: Liu, Tian and Xin 2016, Journal of
  Educational and Behavioral Statistics 41): N r' C r, r the residuals of the J + J (J - 1) / 2 shares, C = Dc (Dc' W
  Dc)^-1 Dc', W the shares' covariance under the model and Dc an orthogonal complement of their derivatives by the free
  parameters. Chi-square with as many degrees of freedom as there are shares less free parameters.
- RMSEA2 = sqrt(max(M2 - df, 0) / (N df)), interval from the noncentral chi-square (Maydeu-Olivares and Joe 2014,
  Multivariate Behavioral Research 49; below 0.045 is a good fit for cognitive diagnosis: Liu et al.).
- SRMSR: root mean square of the differences between observed and expected correlations of pairs of items (0.05 is
  acceptable, Maydeu-Olivares 2013, Measurement 11).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2

from magister.diagnosis._blas import one_thread
from magister.diagnosis._dina_errors import distinct
from magister.diagnosis.fits import EmFit
from magister.diagnosis.item_fit import unlocked
from magister.diagnosis.matrix import ResponseMatrix, response_matrix
from magister.errors import UserError

Array = NDArray[np.float64]
MOST_ITEMS = 120
"""Of M2, whose work grows with the sixth power of the number of items."""
_RANK = 1e-8


@dataclass(frozen=True)
class FitStatistics:
    """Limited-information fit of a model.

    Attributes:
        m2: the statistic; NaN with its reason where it does not exist.
        df: degrees of freedom.
        p: P(chi-square with df >= m2) where the model holds.
        rmsea2, ci_low, ci_high: and its interval.
        level: of the interval.
        srmsr: root mean squared residual correlation; NaN where no pair of items has one.
        reason: why m2 is unknown; empty where it is known.
    """

    m2: float
    df: int
    p: float
    rmsea2: float
    ci_low: float
    ci_high: float
    level: float
    srmsr: float
    reason: str


def fit_statistics(fit: EmFit, responses: ResponseMatrix, *, level: float = 0.9) -> FitStatistics:
    """M2, RMSEA2 and SRMSR of `fit_exact_em` with saturated classes.

    Classes that no item tells apart are one, and free parameters are those that the shares depend on: where a
    Q-matrix leaves no class apart, that is 2J + 2^K - 1, as elsewhere.

    Args:
        fit: with `prior="saturated"`.
        responses: those that it is of; none missing (M2 is of complete responses).
        level: of RMSEA2's interval.

    Raises:
        UserError: missing responses, responses of another fit, more than 120 items, or another class prior.
    """
    matrix = response_matrix(responses)
    _check(fit, matrix, level)
    group_of = distinct(fit.q.astype(np.int64) @ (1 << np.arange(len(fit.attributes))), len(fit.classes))
    _, first = np.unique(group_of, return_index=True)
    probability: Array = np.bincount(group_of, weights=fit.class_probability).astype(np.float64)
    masters = unlocked(fit.classes[first], fit.q > 0.5)
    # Items by name: sums do not depend on the order they are given in.
    order = np.array(sorted(range(len(fit.items)), key=lambda at: fit.items[at]), dtype=np.intp)
    model = _Model(probability, masters[:, order], fit.guess[order], fit.slip[order])
    with one_thread():
        observed = _observed(matrix.correct[:, order])
        return _statistics(model, observed, len(matrix.models), level)


@dataclass(frozen=True)
class _Model:
    """G classes with their probability; G x J, who masters an item; J, guess and slip."""

    probability: Array
    masters: NDArray[np.bool_]
    guess: Array
    slip: Array

    @property
    def chance(self) -> Array:
        """G x J, P(right)."""
        return np.where(self.masters, 1 - self.slip, self.guess)

    @property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return np.triu_indices(len(self.guess), k=1)


def _check(fit: EmFit, matrix: ResponseMatrix, level: float) -> None:
    if not 0 < level < 1:
        raise UserError(f"level: expected a number between 0 and 1, found {level}")
    if matrix.items != fit.items or matrix.models != fit.models:
        raise UserError("fit statistics: the responses are not those of the fit (other models or items)")
    missing = int((~matrix.answered).sum())
    if missing:
        raise UserError(
            f"fit statistics: {missing} responses are missing; M2 is of complete responses: leave out the models or "
            "items that have gaps and fit again"
        )
    if fit.parameters != len(fit.classes) - 1 + 2 * len(fit.items):
        raise UserError('fit statistics: expected a fit with prior="saturated"')
    if len(fit.items) > MOST_ITEMS:
        raise UserError(
            f"fit statistics: M2 of {len(fit.items)} items is too much work (at most {MOST_ITEMS})"
        )


def _observed(correct: NDArray[np.int8]) -> tuple[Array, Array]:
    """Shares of right responses to items, and to both of pairs."""
    # Counts are whole numbers: exact.
    right = correct.astype(np.float64)
    both = right.T @ right
    return np.diag(both) / len(right), both[np.triu_indices(both.shape[0], k=1)] / len(right)


def _statistics(model: _Model, observed: tuple[Array, Array], models: int, level: float) -> FitStatistics:
    chance, (first, second) = model.chance, model.pairs
    single = model.probability @ chance
    double = model.probability @ (chance[:, first] * chance[:, second])
    residual = np.concatenate([observed[0] - single, observed[1] - double])
    srmsr = _srmsr(observed, single, double, first, second)
    derivatives = _derivatives(model)
    basis, triangle, _ = qr(derivatives, pivoting=True)
    size = np.abs(np.diag(triangle))
    rank = int(np.sum(size > _RANK * size.max()))
    df = residual.size - rank
    if df < 1:
        reason = f"{rank} free parameters and only {residual.size} shares: nothing is left to test"
        return _unknown(df, level, srmsr, reason)
    complement = basis[:, rank:]
    middle = complement.T @ _covariance(model) @ complement
    values, vectors = np.linalg.eigh(middle)
    if values[0] <= 1e-12 * values[-1]:
        reason = "the shares' covariance is singular (a class or an item parameter is at its bound)"
        return _unknown(df, level, srmsr, reason)
    m2 = float(models * np.sum((vectors.T @ (complement.T @ residual)) ** 2 / values))
    low, high = rmsea_interval(m2, df, models, level)
    return FitStatistics(
        m2,
        df,
        float(chi2.sf(m2, df)),
        math.sqrt(max(m2 - df, 0.0) / (models * df)),
        low,
        high,
        level,
        srmsr,
        "",
    )


def _unknown(df: int, level: float, srmsr: float, reason: str) -> FitStatistics:
    nan = math.nan
    return FitStatistics(nan, df, nan, nan, nan, nan, level, srmsr, reason)


def _srmsr(
    observed: tuple[Array, Array],
    single: Array,
    double: Array,
    first: NDArray[np.intp],
    second: NDArray[np.intp],
) -> float:
    def correlations(one: Array, two: Array) -> Array:
        spread = np.sqrt(one * (1 - one))
        product = spread[first] * spread[second]
        safe = np.where(product > 0, product, 1.0)
        return np.where(product > 0, (two - one[first] * one[second]) / safe, np.nan)

    difference = correlations(*observed) - correlations(single, double)
    known = difference[~np.isnan(difference)]
    return math.sqrt(math.fsum(known**2) / known.size) if known.size else math.nan


def _derivatives(model: _Model) -> Array:
    """Of the shares (items, then pairs) by P(right) without and with mastery, and by class probabilities."""
    chance, (first, second) = model.chance, model.pairs
    by_items = [
        _by_items(model.probability, chance, level, first, second)
        for level in (~model.masters, model.masters)
    ]
    moments = np.concatenate([chance, chance[:, first] * chance[:, second]], axis=1)
    reference = int(np.argmax(model.probability))
    others = np.flatnonzero(np.arange(len(moments)) != reference)
    return np.concatenate([*by_items, (moments[others] - moments[reference]).T], axis=1)


def _by_items(
    probability: Array,
    chance: Array,
    level: NDArray[np.bool_],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
) -> Array:
    """Derivatives of the shares by P(right) of each item in the classes of `level`, J + pairs x J."""
    items = chance.shape[1]
    # weighted[j, i]: sum over classes of p [j in level] P_i.
    inside = probability[:, None] * level
    weighted = inside.T @ chance
    out = np.zeros((items + first.size, items))
    out[np.arange(items), np.arange(items)] = inside.sum(axis=0)
    row = items + np.arange(first.size)
    out[row, first] = weighted[first, second]
    out[row, second] = weighted[second, first]
    return out


def _covariance(model: _Model) -> Array:
    """Covariance of one model's right responses to items and pairs, under the model."""
    chance, (first, second) = model.chance, model.pairs
    items = len(model.guess)
    moments = np.concatenate([chance, chance[:, first] * chance[:, second]], axis=1)
    product = (moments * model.probability[:, None]).T @ moments
    mean = model.probability @ moments
    # A product of two moments that share an item counts its P(right) once, not twice.
    place = np.zeros((items, items), dtype=np.intp)
    place[first, second] = place[second, first] = items + np.arange(first.size)
    place[np.arange(items), np.arange(items)] = np.arange(items)
    for item in range(items):
        rest = chance.copy()
        rest[:, item] = 1.0
        # Moments with the item, by their other item (itself: the item alone).
        block = (rest * (model.probability * chance[:, item])[:, None]).T @ rest
        rows = place[item]
        product[np.ix_(rows, rows)] = block
    own = np.arange(items, items + first.size)
    # Two equal pairs share both items; equal other items are shared too.
    product[own, own] = mean[items:]
    result: Array = product - np.outer(mean, mean)
    return result


def rmsea_interval(statistic: float, df: int, models: int, level: float) -> tuple[float, float]:
    """Interval of RMSEA by inverting the noncentral chi-square.

    Args:
        statistic: chi-square with df degrees of freedom where the model holds.
        df: degrees of freedom.
        models: N.
        level: of the interval.
    """

    def bound(quantile: float) -> float:
        # P(chi-square(df, noncentrality) <= statistic) falls with the noncentrality.
        if chi2.cdf(statistic, df) <= quantile:
            return 0.0
        high = 2 * statistic + 100
        while ncx2.cdf(statistic, df, high) > quantile:
            high *= 2
        return float(brentq(lambda shift: ncx2.cdf(statistic, df, shift) - quantile, 1e-9, high))

    tail = (1 - level) / 2
    low, high = bound(1 - tail), bound(tail)
    return math.sqrt(low / (models * df)), math.sqrt(high / (models * df))
