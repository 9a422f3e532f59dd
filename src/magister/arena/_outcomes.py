"""Votes as arrays, and the plainest rating of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.arena._codes import LABELS, text_codes, winner_codes
from magister.arena._grid import FloatArray
from magister.errors import UserError

Codes = NDArray[np.int64]
Rater = Callable[[FloatArray, FloatArray], FloatArray]
"""Points (..., M, M) of the row's model against the column's, a win 1 and a tie 1/2, and votes (..., M, M), to ratings
(..., M), the higher the better; NaN for a model without one."""

# Points of side a by what a vote says, in the order of its codes.
_POINTS = np.array([1.0, 0.0, 0.5, 0.5])


@dataclass(frozen=True)
class Outcomes:
    """V votes on pairs of M models; every pair stands in one order.

    Attributes:
        models: names, sorted, length M.
        pairs: positions of the two models of each pair, the first below the second, shape (P, 2).
        pair: pair of each vote, shape (V,).
        points: of the pair's first model: 1, 1/2 or 0, shape (V,).
        cluster: what is resampled together, numbered in the order of names, shape (V,).
        n_clusters: C.
    """

    models: list[str]
    pairs: Codes
    pair: Codes
    points: FloatArray
    cluster: Codes
    n_clusters: int


def code_votes(votes: pa.Table) -> Outcomes:
    """Code votes as whole numbers.

    Args:
        votes: model_a, model_b, winner; clusters are those of root_id, else of instruction_id, else single votes.

    Raises:
        UserError: for missing columns, an unknown winner, a model beside itself.
    """
    lacking = [name for name in ("model_a", "model_b", "winner") if name not in votes.column_names]
    if lacking:
        raise UserError(
            f"votes lack the column(s) {', '.join(lacking)}; found {', '.join(votes.column_names)}"
        )
    said = winner_codes(votes["winner"])
    if (said < 0).any():
        row = int(np.flatnonzero(said < 0)[0])
        raise UserError(
            f"votes: row {row + 1} has the winner {votes['winner'][row].as_py()!r}; expected one of {', '.join(LABELS)}"
        )
    points = _POINTS[said]
    (one, other), names = text_codes(votes["model_a"], votes["model_b"])
    for wrong, what in (((one < 0) | (other < 0), "has no model on a side"), (one == other, "compares")):
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            itself = f" {names[one[row]]!r} with itself" if what == "compares" else ""
            raise UserError(f"votes: row {row + 1} {what}{itself}")
    lesser, greater = np.minimum(one, other), np.maximum(one, other)
    code, pair = np.unique(lesser * max(len(names), 1) + greater, return_inverse=True)
    pairs = np.stack([code // max(len(names), 1), code % max(len(names), 1)], axis=1)
    cluster, count = np.arange(len(votes), dtype=np.int64), len(votes)
    for column in ("root_id", "instruction_id"):
        if column in votes.column_names:
            (cluster,), labels = text_codes(votes[column])
            if (cluster < 0).any():
                raise UserError(f"votes: {int((cluster < 0).sum())} row(s) have no {column}")
            count = len(labels)
            break
    return Outcomes(
        names,
        pairs,
        pair.astype(np.int64),
        np.where(one == lesser, points, 1 - points),
        cluster,
        count,
    )


def tables_of(
    pairs: Codes, points: FloatArray, votes: FloatArray, models: int
) -> tuple[FloatArray, FloatArray]:
    """Points and votes of pairs, shape (..., P), as matrices (..., M, M)."""
    shape = (*points.shape[:-1], models, models)
    scores, counts = np.zeros(shape), np.zeros(shape)
    a, b = pairs.T
    scores[..., a, b], scores[..., b, a] = points, votes - points
    counts[..., a, b] = counts[..., b, a] = votes
    return scores, counts


def mean_share(points: FloatArray, votes: FloatArray) -> FloatArray:
    """A rating that asks for no model of votes: a model's share of points, averaged over the opponents it met.

    Opponents count alike however often they were met (for a full round of single votes: Copeland's score).

    Args:
        points: shape (..., M, M).
        votes: shape (..., M, M).

    Returns:
        Shares, 0..1, shape (..., M); NaN for a model that met nobody.
    """
    met = votes > 0
    share = np.divide(points, votes, out=np.zeros(points.shape), where=met)
    number = met.sum(axis=-1)
    return np.where(number > 0, share.sum(axis=-1) / np.maximum(number, 1), np.nan)
