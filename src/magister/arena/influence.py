"""How much one annotator moves the ratings: everything rated again without each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.arena._coded import sorted_codes
from magister.arena._statements import OVERALL, Place, Row, Settings, statement
from magister.stats import Estimate

FloatArray = NDArray[np.float64]
Rate = Callable[[FloatArray, FloatArray], FloatArray]
"""Ratings of M models from counts: wins, shape (M, M), `wins[i, j]` being how often i beat j, and ties, shape (M, M),
symmetric. NaN where a model cannot be rated. Models are in the order of their names."""

_NO_INTERVAL = "a change, with no interval of its own"


class Influence(NamedTuple):
    """What leaving one annotator out changes.

    Attributes:
        annotator: who is left out.
        change: largest absolute change of a rating; None where a rating is lost.
        model: the model whose rating changes so, or is lost; the first by name among equals.
        n: votes of the annotator.
    """

    annotator: str
    change: float | None
    model: str
    n: int


def leave_one_out(votes: pa.Table, rate: Rate) -> list[Influence]:
    """Rate without each annotator in turn.

    Votes are counted once; an annotator's counts are taken off those of all.

    Args:
        votes: VOTES table of two annotators or more.
        rate: see `Rate`.

    Returns:
        One record per annotator, in the order of their names.
    """
    count = votes.num_rows
    code, models = sorted_codes(pa.concat_arrays([votes[f"model_{side}"].combine_chunks() for side in "ab"]))
    a, b = code[:count], code[count:]
    who, names = sorted_codes(votes["annotator"])
    size = len(models)
    won_b, won_a = (np.asarray(pc.equal(votes["winner"], side)) for side in "ba")
    tied = ~(won_a | won_b)
    cell = np.where(won_b, b * size + a, a * size + b)
    order = np.argsort(who, kind="stable")
    ends = np.searchsorted(who[order], np.arange(len(names) + 1))

    def counted(rows: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        wins, ties = (
            np.bincount(cell[rows[kept]], minlength=size * size).reshape(size, size).astype(np.float64)
            for kept in (~tied[rows], tied[rows])
        )
        return wins, ties + ties.T

    wins, ties = counted(order)
    whole = np.asarray(rate(wins, ties), dtype=np.float64)
    found = []
    for at, name in enumerate(names):
        own = order[ends[at] : ends[at + 1]]
        own_wins, own_ties = counted(own)
        without = np.asarray(rate(wins - own_wins, ties - own_ties), dtype=np.float64)
        lost = np.flatnonzero(np.isnan(without) & ~np.isnan(whole))
        if lost.size:
            found.append(Influence(name, None, models[lost[0]], own.size))
            continue
        change = np.abs(without - whole)
        most = int(np.nanargmax(change)) if not np.isnan(change).all() else 0
        value = None if np.isnan(change[most]) else float(change[most])
        found.append(Influence(name, value, models[most], own.size))
    return found


def influence_statements(votes: pa.Table, rate: Rate, settings: Settings) -> list[Row]:
    """`influence` of people and of judges: the largest change of a rating without the annotator.

    Args:
        votes: VOTES table.
        rate: see `Rate`.
        settings: recorded in the rows.

    Returns:
        Rows of ARENA_AGREEMENT; none for a kind with a single annotator, without whom nothing is left to rate.
    """
    rows = []
    for kind in ("person", "judge"):
        some = votes.filter(pc.equal(votes["annotator_kind"], kind))
        if len(some["annotator"].unique()) < 2:
            continue
        for record in leave_one_out(some, rate):
            place = Place("influence", OVERALL, kind, record.annotator)
            if record.change is None:
                reason = f"without these votes {record.model} has no rating"
                estimate = Estimate.absent("undefined", n=record.n, reason=reason)
            else:
                estimate = Estimate.absent(
                    "no_resamples", value=record.change, n=record.n, reason=_NO_INTERVAL
                )
            rows.append(statement(place, estimate, settings, model=record.model))
    return rows
