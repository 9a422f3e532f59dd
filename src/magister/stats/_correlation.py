"""Correlations between two boards over their common models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from magister.errors import UserError
from magister.stats._bootstrap import bootstrap_weights, percentile_intervals
from magister.stats._estimate import Estimate, FloatArray, check_level

Coefficient = Literal["spearman", "kendall", "pearson"]
Draws = ArrayLike | Mapping[str, ArrayLike]
"""Scores on resamples of items, shape (B, n): of the first board, or by the name of the argument they belong to."""

#: Fewer models than this say nothing about a correlation.
MIN_MODELS = 4
# Comparisons of one block of resamples.
_BLOCK_CELLS = 2**22
# A variance below this share of its scale is rounding.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class ModelBootstrap:
    """How intervals over models are drawn.

    Attributes:
        resamples: B; 0 for no interval.
        seed: whole number, 0 or more.
        level: confidence level, 0..1.
    """

    resamples: int
    seed: int
    level: float = 0.95


@dataclass(frozen=True)
class DependentCorrelations:
    """Two correlations with one variable in common.

    Attributes:
        first: correlation of the first board with the target; value without interval.
        second: correlation of the second board with the target.
        between: correlation of the two boards.
        difference: first - second with a paired bootstrap interval over models.
        statistic: Williams' t; None where undefined.
        freedom: its degrees of freedom, n - 3.
        p: two-sided p value of Williams' t; None where undefined.
        n: models.
        status: "ok", "undefined" or "missing_values".
        reason: a sentence; empty when there is nothing to add.
    """

    first: float | None
    second: float | None
    between: float | None
    difference: Estimate
    statistic: float | None
    freedom: int
    p: float | None
    n: int
    status: str = "ok"
    reason: str = ""


def correlation(
    first: ArrayLike,
    second: ArrayLike,
    coefficient: Coefficient,
    plan: ModelBootstrap,
    draws: Draws | None = None,
) -> Estimate:
    """Correlation of two boards with a bootstrap interval over models and, nested, items.

    Args:
        first: scores of n models, shape (n,).
        second: scores of the same models, shape (n,).
        coefficient: "spearman" (mid-ranks), "kendall" (tau-b) or "pearson".
        plan: the resamples of models.
        draws: scores of the first board on resamples of items, shape (B, n), such as
            `CrossedSample.replicates`; resample b of the models then reads row b. Boards that rest on the same
            items take theirs by name, {"first": ..., "second": ...}, from the same resamples. NaN marks a
            score that a resample leaves undefined.

    Returns:
        The estimate; `n` and `n_clusters` count models. Equal scores of all models give "undefined", NaN
        scores "missing_values".

    Raises:
        UserError: for fewer than `MIN_MODELS` models.
        ValueError: if the shapes do not fit.

    References:
        Kendall (1945), Biometrika 33, 239-251 (tau-b); Davison and Hinkley (1997), section 3.8 (nested).
    """
    boards = {"first": first, "second": second}
    return _bootstrapped(boards, lambda r: r[..., 0, 1], coefficient, plan, draws)


def partial_correlation(
    first: ArrayLike,
    second: ArrayLike,
    given: ArrayLike,
    coefficient: Coefficient,
    plan: ModelBootstrap,
    draws: Draws | None = None,
) -> Estimate:
    """Correlation of two boards that a third does not explain.

    (r_12 - r_13 r_23) / sqrt((1 - r_13^2) (1 - r_23^2)) of the coefficient's pairwise values.

    Args:
        first: scores of n models, shape (n,).
        second: shape (n,).
        given: the third board, shape (n,).
        coefficient: see `correlation`.
        plan: the resamples of models.
        draws: see `correlation`.

    Returns:
        The estimate; "undefined" where the third board explains one of the others wholly.

    Raises:
        UserError: for fewer than `MIN_MODELS` models.
        ValueError: if the shapes do not fit.

    References:
        Yule (1907), Proceedings of the Royal Society A 79, 182-193; Kendall (1942), Biometrika 32, 277-283
        (partial tau).
    """

    def partial(r: FloatArray) -> FloatArray:
        left = (1 - r[..., 0, 2] ** 2) * (1 - r[..., 1, 2] ** 2)
        top = r[..., 0, 1] - r[..., 0, 2] * r[..., 1, 2]
        return np.where(left > 1e-12, top / np.sqrt(np.where(left > 1e-12, left, 1.0)), np.nan)

    boards = {"first": first, "second": second, "given": given}
    found = _bootstrapped(boards, partial, coefficient, plan, draws)
    if found.status == "undefined":
        return replace(found, reason="a board is constant, or the third board explains another wholly")
    return found


def compare_correlations(
    first: ArrayLike,
    second: ArrayLike,
    target: ArrayLike,
    coefficient: Coefficient,
    plan: ModelBootstrap,
    draws: Draws | None = None,
) -> DependentCorrelations:
    """Does the first board agree better with the target than the second does?

    Args:
        first: scores of n models, shape (n,).
        second: shape (n,).
        target: shape (n,).
        coefficient: see `correlation`. Williams' t is exact for Pearson's and an approximation for ranks.
        plan: the resamples of models, shared by both correlations.
        draws: see `correlation`.

    Returns:
        Both correlations, their difference with a bootstrap interval, and Williams' test.

    Raises:
        UserError: for fewer than `MIN_MODELS` models.
        ValueError: if the shapes do not fit.
    """
    boards = {"first": first, "second": second, "target": target}
    difference = _bootstrapped(boards, lambda r: r[..., 0, 2] - r[..., 1, 2], coefficient, plan, draws)
    x = _boards(boards)
    n = x.shape[1]
    if difference.value is None:
        return DependentCorrelations(
            None, None, None, difference, None, n - 3, None, n, difference.status, difference.reason
        )
    r = _matrix(np.ones((1, n)), x[:, None, :], coefficient)[0]
    one, two, between = float(r[0, 2]), float(r[1, 2]), float(r[0, 1])
    t, p = williams(one, two, between, n)
    why = "" if t is not None else "the two boards order the models alike: Williams' test is undefined"
    status = "ok" if t is not None else "undefined"
    return DependentCorrelations(one, two, between, difference, t, n - 3, p, n, status, why)


def williams(first: float, second: float, between: float, n: int) -> tuple[float | None, float | None]:
    """Williams' t test of two dependent correlations that share a variable.

    Args:
        first: r_13.
        second: r_23.
        between: r_12.
        n: observations, 4 or more.

    Returns:
        t with n - 3 degrees of freedom and its two-sided p; None for both where the variables coincide.

    Raises:
        UserError: for fewer than `MIN_MODELS` observations.

    References:
        Williams (1959), JRSS B 21, 396-399; Steiger (1980), Psychological Bulletin 87, 245-251, eq. 7.
    """
    _check_models(n)
    determinant = 1 - first**2 - second**2 - between**2 + 2 * first * second * between
    mean = (first + second) / 2
    scale = 2 * (n - 1) / (n - 3) * max(determinant, 0.0) + mean**2 * (1 - between) ** 3
    if scale <= _ROUNDING:
        return None, None
    t = (first - second) * float(np.sqrt((n - 1) * (1 + between) / scale))
    return t, float(2 * special.stdtr(n - 3, -abs(t)))


def _check_models(n: int) -> None:
    if n < MIN_MODELS:
        raise UserError(
            f"a correlation over {n} models says nothing: give at least {MIN_MODELS} models that both boards "
            "score"
        )


def _boards(boards: Mapping[str, ArrayLike]) -> FloatArray:
    arrays = [np.asarray(board, dtype=np.float64) for board in boards.values()]
    if any(a.ndim != 1 or a.shape != arrays[0].shape for a in arrays):
        raise ValueError(f"boards must have one shape (n,), not {[a.shape for a in arrays]}")
    _check_models(arrays[0].size)
    return np.stack(arrays)


def _bootstrapped(
    boards: Mapping[str, ArrayLike],
    statistic: Callable[[FloatArray], FloatArray],
    coefficient: Coefficient,
    plan: ModelBootstrap,
    draws: Draws | None,
) -> Estimate:
    """A function of the correlation matrix of k boards, with its interval."""
    if coefficient not in ("spearman", "kendall", "pearson"):
        raise ValueError(f"coefficient {coefficient!r} is unknown; expected spearman, kendall or pearson")
    check_level(plan.level)
    x = _boards(boards)
    n = x.shape[1]
    nested = _nested(draws, list(boards), (plan.resamples, n))
    missing = int(np.isnan(x).any(axis=0).sum())
    if missing:
        reason = f"{missing} of {n} models have no score on some board"
        return Estimate.absent("missing_values", n=n, n_clusters=n, reason=reason)
    value = statistic(_matrix(np.ones((1, n)), x[:, None, :], coefficient))
    counts = bootstrap_weights(["models"] * n, resamples=plan.resamples, seed=plan.seed).matrix()
    replicates = np.empty((plan.resamples, 1))
    step = max(1, _BLOCK_CELLS // (n * n))
    for start in range(0, plan.resamples, step):
        part = slice(start, start + step)
        rows: list[FloatArray] = [board[None, :] for board in x]
        drawn = counts[part].astype(np.float64)
        lost = np.zeros(drawn.shape[0], dtype=bool)
        for place, scores in nested.items():
            unknown = np.isnan(scores[part])
            lost |= (unknown & (drawn > 0)).any(axis=1)
            # A model that the resample does not hold counts nothing: its score only must not be NaN.
            rows[place] = np.where(unknown, 0.0, scores[part])
        found_here = statistic(_matrix(drawn, rows, coefficient))
        replicates[part, 0] = np.where(lost, np.nan, found_here)
    found = percentile_intervals(value, replicates, plan.level).item()
    reason = "all models have equal scores on a board" if found.status == "undefined" else found.reason
    return replace(found, n=n, n_clusters=n, reason=reason)


def _nested(draws: Draws | None, names: list[str], shape: tuple[int, int]) -> dict[int, FloatArray]:
    """Scores on resamples of items by the position of their board."""
    if draws is None:
        return {}
    by_name = draws if isinstance(draws, Mapping) else {"first": draws}
    found = {}
    for name, scores in by_name.items():
        if name not in names:
            raise ValueError(f"draws of {name!r}: expected those of {', '.join(names)}")
        array = np.asarray(scores, dtype=np.float64)
        if array.shape != shape:
            raise ValueError(f"draws must have shape {shape}, not {array.shape}")
        found[names.index(name)] = array
    return found


def _matrix(
    counts: FloatArray, boards: FloatArray | list[FloatArray], coefficient: Coefficient
) -> FloatArray:
    """Correlation matrices of k boards on B resamples of n models, shape (B, k, k).

    Args:
        counts: how often a resample holds each model, shape (B, n).
        boards: k arrays of scores, shape (B, n), or (1, n) where all resamples have the same.
        coefficient: see `correlation`.
    """
    k = len(boards)
    if coefficient == "kendall":
        signs = [np.sign(board[:, :, None] - board[:, None, :]) for board in boards]

        def product(i: int, j: int) -> FloatArray:
            return _sum(counts, _times(counts, signs[i] * signs[j]))

    else:
        total = counts.sum(axis=1, keepdims=True)
        scores = [_midranks(counts, board) if coefficient == "spearman" else board for board in boards]
        centred = [score - _sum(counts, score)[:, None] / total for score in scores]

        def product(i: int, j: int) -> FloatArray:
            return _sum(counts, centred[i] * centred[j])

    own = [product(i, i) for i in range(k)]
    if coefficient != "kendall":
        # Equal scores leave a sum of squares of rounding errors.
        own = [
            np.where(s <= _ROUNDING * _sum(counts, x * x), 0.0, s) for s, x in zip(own, scores, strict=True)
        ]
    out = np.ones((counts.shape[0], k, k))
    for i in range(k):
        out[:, i, i] = np.where(own[i] > 0, 1.0, np.nan)
        for j in range(i):
            scale = np.sqrt(own[i]) * np.sqrt(own[j])
            share = np.where(scale > 0, product(i, j) / np.where(scale > 0, scale, 1.0), np.nan)
            out[:, i, j] = out[:, j, i] = np.clip(share, -1.0, 1.0)
    return out


def _midranks(counts: FloatArray, board: FloatArray) -> FloatArray:
    """Mid-ranks within each resample, shape (B, n), for models with a count of 0 too."""
    lower = (board[:, :, None] < board[:, None, :]) + 0.5 * (board[:, :, None] == board[:, None, :])
    return _times(counts, lower) + 0.5


def _times(counts: FloatArray, square: NDArray[np.float64]) -> FloatArray:
    """sum_j counts_bj square_bji, shape (B, n), for squares (B, n, n) or (1, n, n)."""
    if square.shape[0] == 1:
        return np.asarray(counts @ square[0])
    return np.einsum("bj,bji->bi", counts, square)


def _sum(counts: FloatArray, rows: FloatArray) -> FloatArray:
    return np.asarray((counts * rows).sum(axis=1))
