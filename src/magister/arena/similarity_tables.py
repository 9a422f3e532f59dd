"""Similarities from a table: a judge's scores, or a user's own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.arena.similarity import Similarities
from magister.arena.vectors import string_array
from magister.errors import UserError


def tabled_similarities(
    table: pa.Table, ids: pa.StringArray | None = None, low: float = -1.0, high: float = 1.0
) -> tuple[pa.StringArray, Similarities]:
    """Similarities from a long table: a judge's scores, or a user's own.

    Args:
        table: instruction_id, model_a, model_b (in either order) and similarity; null for one that is missing,
            such as a judge's reply that could not be read.
        ids: instructions, in the order of the columns wanted; those of the table, sorted, by default.
        low: least similarity there can be; 0 for a judge's scores.
        high: largest similarity there can be.

    Returns:
        The instructions, length N, and the similarities of all pairs named; NaN where the table has none.

    Raises:
        UserError: for missing columns, a model beside itself, a repeated row, a number outside its range.
    """
    wanted = ("instruction_id", "model_a", "model_b", "similarity")
    lacking = [name for name in wanted if name not in table.column_names]
    if lacking:
        raise UserError(
            f"similarities lack the column(s) {', '.join(lacking)}; found {', '.join(table.column_names)}"
        )
    instruction, first, second = (string_array(table[name]) for name in wanted[:3])
    for name, column in zip(wanted, (instruction, first, second), strict=False):
        if column.null_count:
            raise UserError(f"similarities: row {_first(pc.is_null(column))} has no {name}")
    try:
        number = pc.cast(table["similarity"], pa.float64())
    except pa.ArrowInvalid as error:
        raise UserError(f"similarities: {error}; expected numbers in the column similarity") from None
    score = np.asarray(number.to_numpy(), dtype=np.float64)
    outside = (score < low) | (score > high)
    if outside.any():
        at = int(np.flatnonzero(outside)[0])
        raise UserError(f"similarities: row {at + 1} says {score[at]:g}; expected {low:g} to {high:g}")
    alone = pc.equal(first, second)
    if pc.any(alone).as_py():
        raise UserError(f"similarities: row {_first(alone)} compares {first[_first(alone) - 1]} with itself")
    swap = pc.greater(first, second)
    lesser, greater = pc.if_else(swap, second, first), pc.if_else(swap, first, second)
    names = pc.unique(pa.chunked_array([first, second]))
    names = names.take(pc.sort_indices(names))
    one, other = (_numbers(pc.index_in(side, names)) for side in (lesser, greater))
    code, line = np.unique(one * len(names) + other, return_inverse=True)
    known_names = names.to_pylist()
    pairs = [(known_names[k // len(names)], known_names[k % len(names)]) for k in code.tolist()]
    columns = pc.unique(instruction).take(pc.sort_indices(pc.unique(instruction))) if ids is None else ids
    place = _numbers(pc.index_in(instruction, columns))
    cell = line * (len(columns) + 1) + place
    known = np.flatnonzero(place >= 0)
    order = known[np.argsort(cell[known], kind="stable")]
    again = np.flatnonzero(np.diff(cell[order]) == 0)
    if again.size:
        one, other = order[again[0]] + 1, order[again[0] + 1] + 1
        raise UserError(
            f"similarities: rows {one} and {other} are of one pair and instruction; expected one row for each"
        )
    values = np.full((len(pairs), len(columns)), np.nan)
    values[line[known], place[known]] = score[known]
    return columns, Similarities(pairs, values)


def _first(mask: pa.Array) -> int:
    """Number of the first row that a mask marks, from 1."""
    return int(pc.index(mask, True).as_py()) + 1


def _numbers(found: pa.Array) -> NDArray[np.int64]:
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
