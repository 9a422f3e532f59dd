"""Bradley-Terry ratings from counts alone, for what rates many times over: selection lift and annotators' influence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from magister.arena.bradley_terry import POINTS, Games, Likelihood, fit

Floats = NDArray[np.float64]
_MEAN = 1000.0


def rate_points(points: Floats, votes: Floats) -> Floats:
    """Rate leagues by the points of each model against each other.

    Args:
        points: of the row's model against the column's, a win 1 and a tie 1/2, shape (..., M, M).
        votes: on each pair, symmetric, shape (..., M, M).

    Returns:
        Ratings on Elo's scale, shape (..., M), with mean 1000; NaN for a model without votes.
    """
    size = points.shape[-1]
    leading = points.shape[:-2]
    games = votes.reshape(-1, size, size)
    scored = points.reshape(-1, size, size).sum(axis=2)
    found = POINTS * fit(Games(games, scored, np.zeros(games.shape[0])), Likelihood())
    played = games.sum(axis=2) > 0
    return np.where(played, _MEAN + found, np.nan).reshape(*leading, size)


def rate_counts(wins: Floats, ties: Floats) -> Floats:
    """Rate a league by wins and ties.

    Args:
        wins: of the row's model against the column's, shape (M, M).
        ties: symmetric, shape (M, M).

    Returns:
        Ratings, shape (M,), as `rate_points`.
    """
    return rate_points(wins + ties / 2, wins + wins.T + ties)
