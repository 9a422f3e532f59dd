"""Rows and columns as arrays: sorting, grouping and comparing without touching a row in Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]
_LIMIT = 2**62


def _ranks(column: pa.ChunkedArray) -> tuple[Codes, int]:
    """Rank of each value among the distinct ones, null last, and how many ranks there can be."""
    coded = column.combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.unify_dictionaries().combine_chunks()
    size = len(coded.dictionary)
    rank = np.empty(size + 1, dtype=np.int64)
    rank[pc.sort_indices(coded.dictionary).to_numpy()] = np.arange(size)
    rank[size] = size
    return rank[coded.indices.fill_null(size).to_numpy()], size + 1


def row_codes(table: pa.Table, columns: Sequence[str]) -> Codes:
    """Number the rows by what they hold: equal rows have equal codes, and codes sort as the rows do.

    Args:
        table: any table.
        columns: columns to read, the most significant first; none of them holds lists.

    Returns:
        One code per row.
    """
    codes: Codes = np.zeros(table.num_rows, dtype=np.int64)
    size = 1
    for name in columns:
        rank, ranks = _ranks(table[name])
        if size * ranks >= _LIMIT:
            distinct, codes = np.unique(codes, return_inverse=True)
            size = distinct.size
        codes = codes * ranks + rank
        size *= ranks
    return codes


def member(values: pa.ChunkedArray, of: Sequence[str] | pa.ChunkedArray) -> Mask:
    """Which values occur in a list or another column; a null occurs nowhere."""
    known = of.combine_chunks() if isinstance(of, pa.ChunkedArray) else pa.array(list(of), values.type)
    found = pc.and_(pc.is_in(values, value_set=known), pc.is_valid(values))
    return np.asarray(found.to_numpy(), dtype=bool)


def true(mask: pa.ChunkedArray) -> Mask:
    """A column of truth values as an array; null is not true."""
    return np.asarray(pc.fill_null(mask, False).to_numpy(), dtype=bool)


def same(one: pa.ChunkedArray, other: pa.ChunkedArray) -> Mask:
    """Equal values; null equals nothing."""
    return true(pc.equal(one, other))


def facts(table: pa.Table, others: pa.Table, key: str, columns: Sequence[str]) -> tuple[Mask, pa.Table]:
    """Whether each row's key is known to another table, and that table's columns (null where it is not)."""
    places = pc.index_in(table[key], value_set=others[key].combine_chunks())
    known = np.asarray(pc.and_(pc.is_valid(places), pc.is_valid(table[key])).to_numpy(), dtype=bool)
    return known, others.select(list(columns)).take(places)


def constant_within(table: pa.Table, group: Sequence[str], columns: Sequence[str]) -> Mask:
    """Rows whose group holds one value of the columns; rows of a group that holds several all fail."""
    _, group_code = np.unique(row_codes(table, group), return_inverse=True)
    value = row_codes(table, columns)
    size = int(group_code.max(initial=-1)) + 1
    low, high = np.full(size, np.iinfo(np.int64).max), np.full(size, np.iinfo(np.int64).min)
    np.minimum.at(low, group_code, value)
    np.maximum.at(high, group_code, value)
    return np.asarray((low == high)[group_code], dtype=bool)


def places(values: pa.ChunkedArray, words: Sequence[str]) -> NDArray[np.int64]:
    """Position of each value in a list, -1 for others."""
    found = pc.index_in(values, value_set=pa.array(list(words), pa.string()))
    return np.asarray(pc.fill_null(found, -1).to_numpy(), dtype=np.int64)


def absent(column: pa.ChunkedArray) -> Mask:
    """Where a column is null."""
    return np.asarray(pc.is_null(column).to_numpy(), dtype=bool)


def numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """A column as floats; null becomes NaN."""
    return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
