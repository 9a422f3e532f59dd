"""Votes as arrays, and the plainest rating of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.arena._grid import FloatArray
from magister.arena.vectors import string_array
from magister.errors import UserError

Codes = NDArray[np.int64]
Rater = Callable[[FloatArray, FloatArray], FloatArray]
"""Points (..., M, M) of the row's model against the column's, a win 1 and a tie 1/2, and votes (..., M, M), to ratings
(..., M), the higher the better; NaN for a model without one."""

#: Points of model_a by what the vote says.
POINTS = {
    "a": 1.0,
    "model_a": 1.0,
    "b": 0.0,
    "model_b": 0.0,
    "tie": 0.5,
    "both_bad": 0.5,
    "tie (bothbad)": 0.5,
}


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
    first, second, winner = (string_array(votes[name]) for name in ("model_a", "model_b", "winner"))
    known = pc.index_in(winner, pa.array(list(POINTS)))
    if known.null_count:
        row = pc.index(pc.is_null(known), True).as_py()
        raise UserError(
            f"votes: row {row + 1} has the winner {winner[row].as_py()!r}; expected one of {', '.join(POINTS)}"
        )
    points = np.array(list(POINTS.values()))[np.asarray(known.to_numpy(), dtype=np.int64)]
    names = pc.unique(pa.chunked_array([first, second]))
    names = names.take(pc.sort_indices(names))
    one, other = (
        np.asarray(pc.index_in(side, names).to_numpy(zero_copy_only=False), dtype=np.int64)
        for side in (first, second)
    )
    alone = np.flatnonzero(one == other)
    if alone.size:
        raise UserError(f"votes: row {alone[0] + 1} compares {first[int(alone[0])].as_py()!r} with itself")
    lesser, greater = np.minimum(one, other), np.maximum(one, other)
    code, pair = np.unique(lesser * max(len(names), 1) + greater, return_inverse=True)
    pairs = np.stack([code // max(len(names), 1), code % max(len(names), 1)], axis=1)
    cluster, count = np.arange(len(votes), dtype=np.int64), len(votes)
    for column in ("root_id", "instruction_id"):
        if column in votes.column_names:
            ids = string_array(votes[column])
            if ids.null_count:
                raise UserError(f"votes: {ids.null_count} row(s) have no {column}")
            unique = pc.unique(ids)
            unique = unique.take(pc.sort_indices(unique))
            cluster = np.asarray(pc.index_in(ids, unique).to_numpy(), dtype=np.int64)
            count = len(unique)
            break
    return Outcomes(
        names.to_pylist(),
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
