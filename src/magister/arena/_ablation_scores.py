"""What a ranking by few votes is worth beside the ranking by all, for many leagues at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from magister.arena._dense import SMALL, inverse, product
from magister.arena._grid import FloatArray
from magister.arena._outcomes import tables_of
from magister.arena.bradley_terry import POINTS, Likelihood
from magister.arena.raters import rate_points
from magister.contracts.arena_tables import ARENA_ABLATION_MEASURES as MEASURES
from magister.stats import MIN_MODELS, Orders, model_orders, order_agreement

# Ratings that differ by less than 10^-6 points are level: fits are right to about 10^-8.
_DECIMALS = 6
# Cells of the matrices of leagues rated at once.
_CELLS = 2**20

__all__ = ["MEASURES", "Scores", "Sums", "reference_orders"]


@dataclass(frozen=True)
class Sums:
    """Votes of R leagues, counted per pair.

    Attributes:
        points: of the pair's first model, a win 1 and a tie 1/2, shape (R, P).
        squares: squared points, a win 1 and a tie 1/4, shape (R, P).
        votes: shape (R, P).
    """

    points: FloatArray
    squares: FloatArray
    votes: FloatArray

    def some(self, at: slice) -> Sums:
        """Some of the leagues."""
        return Sums(self.points[at], self.squares[at], self.votes[at])


@dataclass(frozen=True)
class Scores:
    """Measures of leagues.

    Attributes:
        pairs: positions of the two models of each pair, shape (P, 2), every pair once.
        models: M.
        reference: the order by all votes.
    """

    pairs: NDArray[np.int64]
    models: int
    reference: Orders

    def measures(self, sums: Sums, z: float) -> FloatArray:
        """Measures of R leagues.

        Args:
            sums: their votes.
            z: half-widths of intervals in standard errors.

        Returns:
            Shape (R, 5) in the order of `MEASURES`; NaN where one is undefined.
        """
        out = np.empty((len(sums.points), len(MEASURES)))
        step = max(1, _CELLS // self.models**2)
        for start in range(0, len(out), step):
            at = slice(start, start + step)
            out[at] = self._of(sums.some(at), z)
        return out

    def why_undefined(self, measure: str) -> str:
        """Why a measure has no value."""
        if measure in ("spearman", "kendall"):
            if self.models < MIN_MODELS:
                return (
                    f"a correlation over {self.models} models says nothing: {MIN_MODELS} or more are needed"
                )
            if not self.reference.sign.any():
                return "all models have equal ratings by all votes"
            return "all models have equal ratings"
        if measure == "pair_agreement":
            return "all models have equal ratings by all votes, so that there is no order to agree with"
        return "a model has no vote"

    def _of(self, sums: Sums, z: float) -> FloatArray:
        points, votes = tables_of(self.pairs, sums.points, sums.votes, self.models)
        ratings = rate_points(points, votes)
        orders = model_orders(np.round(ratings, _DECIMALS).T)
        rho, tau = order_agreement(orders, self.reference)
        if self.models < MIN_MODELS:
            rho, tau = np.full(rho.shape, np.nan), np.full(tau.shape, np.nan)
        strict = self.reference.sign[:, 0] != 0
        same = (orders.sign[strict].astype(np.int64) * self.reference.sign[strict]).sum(axis=0)
        pairs = int(strict.sum())
        agreed = (pairs + same) / (2 * pairs) if pairs else np.full(same.shape, np.nan)
        agreed = np.where(orders.missing, np.nan, agreed)
        total = sums.votes.sum(axis=1)
        tied = 4 * (sums.points - sums.squares).sum(axis=1)
        decisive = np.where(total > 0, (total - tied) / np.maximum(total, 1), np.nan)
        width = 2 * z * POINTS * self._errors(sums, ratings).mean(axis=1)
        return np.stack([rho, tau, agreed, np.round(width, _DECIMALS), decisive], axis=1)

    def _errors(self, sums: Sums, ratings: FloatArray) -> FloatArray:
        """Standard errors of strengths by the sandwich, shape (R, M); NaN with an unrated model.

        A^-1 S A^-1 with A the penalised information and S the sum over votes of the squared residual times
        (e_i - e_j)(e_i - e_j)'.

        References:
            White (1982), Econometrica 50, 1-25.
        """
        theta = (ratings - ratings.mean(axis=1, keepdims=True)) / POINTS
        known = np.where(np.isnan(theta), 0.0, theta)
        a, b = self.pairs.T
        chance = 1 / (1 + np.exp(known[:, b] - known[:, a]))
        residual = sums.squares - 2 * chance * sums.points + chance * chance * sums.votes
        _, scatter = tables_of(self.pairs, residual, residual, self.models)
        middle = -scatter
        at = np.arange(self.models)
        middle[:, at, at] = scatter.sum(axis=2)
        games = tables_of(self.pairs, sums.votes, sums.votes, self.models)[1]
        information = Likelihood().information(known, games)
        if self.models <= SMALL:
            bread = np.linalg.inv(information)
            variance = (np.matmul(bread, middle) * bread).sum(axis=2)
        else:
            variance = np.empty(known.shape)
            for league, (one, other) in enumerate(zip(information, middle, strict=True)):
                bread = inverse(one)
                variance[league] = (product(bread, other) * bread).sum(axis=1)
        return np.where(np.isnan(theta), np.nan, np.sqrt(np.maximum(variance, 0.0)))


def reference_orders(pairs: NDArray[np.int64], models: int, sums: Sums) -> Orders:
    """The order of models by all votes, one board."""
    ratings = rate_points(*tables_of(pairs, sums.points, sums.votes, models))
    return model_orders(np.round(ratings, _DECIMALS).T)
