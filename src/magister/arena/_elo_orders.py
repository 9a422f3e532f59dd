"""Elo, a vote at a time: compiled, since every rating depends on the one before."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit
def play(
    votes: NDArray[np.int32],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    score: NDArray[np.float64],
    ratings: NDArray[np.float64],
    k: float,
    scale: float,
) -> None:
    """Play votes in their order; the ratings change in place.

    Args:
        votes: what each vote says, a position in the next three, shape (v,).
        first: position of one model, shape (c,).
        second: position of the other.
        score: points of the first: 1, 1/2 or 0.
        ratings: of each model, shape (m,).
        k: points at stake in a vote.
        scale: points of a tenfold in odds.
    """
    per_point = np.log(10.0) / scale
    for vote in votes:
        i, j = first[vote], second[vote]
        gain = k * (score[vote] - 1 / (1 + np.exp((ratings[j] - ratings[i]) * per_point)))
        ratings[i] += gain
        ratings[j] -= gain
