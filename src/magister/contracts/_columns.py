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


def agree(one: pa.ChunkedArray, other: pa.ChunkedArray) -> Mask:
    """Equal values, or null in both."""
    return same(one, other) | (absent(one) & absent(other))


def all_agree(one: pa.Table, other: pa.Table) -> Mask:
    """Rows of two tables of the same columns that agree in all of them."""
    return np.logical_and.reduce([agree(one[name], other[name]) for name in one.column_names])


def positions(table: pa.Table, others: pa.Table, key: Sequence[str], other_key: Sequence[str] = ()) -> Codes:
    """The row of another table that has the same key, -1 where none has.

    Args:
        table: rows that look for a match.
        others: rows that are looked for; of several with one key the first is found.
        key: columns of `table`.
        other_key: what they are called in `others`, where the names differ.
    """
    named = list(zip(key, other_key or key, strict=True))
    columns = {
        name: pa.chunked_array([*table[name].chunks, *others[other].chunks], table[name].type)
        for name, other in named
    }
    codes = row_codes(pa.table(columns), list(key))
    wanted, known = codes[: table.num_rows], codes[table.num_rows :]
    if not known.size:
        return np.full(wanted.size, -1, dtype=np.int64)
    order = np.argsort(known, kind="stable")
    place = np.minimum(np.searchsorted(known[order], wanted), known.size - 1)
    found = order[place]
    return np.where(known[found] == wanted, found, -1)


def taken(others: pa.Table, place: Codes, columns: Sequence[str]) -> pa.Table:
    """Rows of another table by position; null where the position is -1."""
    return others.select(list(columns)).take(pa.array(place, mask=place < 0))


def facts(
    table: pa.Table,
    others: pa.Table,
    key: str | Sequence[str],
    columns: Sequence[str],
    other_key: Sequence[str] = (),
) -> tuple[Mask, pa.Table]:
    """Whether each row's key is known to another table, and that table's columns (null where it is not).

    Args:
        table: rows that look for a match.
        others: rows that are looked for.
        key: columns of `table`.
        columns: columns of `others` to return.
        other_key: what the key's columns are called in `others`, where the names differ.
    """
    place = positions(table, others, [key] if isinstance(key, str) else key, other_key)
    return place >= 0, taken(others, place, columns)


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


def text_lengths(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Characters of each text; null has none."""
    return np.asarray(pc.fill_null(pc.utf8_length(column), 0).to_numpy(), dtype=np.int64)


def matches(column: pa.ChunkedArray, pattern: str) -> Mask:
    """Texts in which a regular expression finds something; a null is no match."""
    return true(pc.match_substring_regex(column, pattern))


def largest_number(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """The largest of the whole numbers that stand in each text, -1 where there is none."""
    pieces = pc.split_pattern_regex(pc.fill_null(column, ""), r"\D+").combine_chunks()
    row, words = pc.list_parent_indices(pieces).to_numpy(), pieces.flatten()
    # Longer ones fit no number; nothing that is counted here comes near.
    number = pc.not_equal(words, "")
    row, words = (
        row[number.to_numpy(zero_copy_only=False)],
        pc.utf8_slice_codeunits(words.filter(number), 0, 18),
    )
    largest = np.full(len(column), -1, dtype=np.int64)
    np.maximum.at(largest, row, words.cast(pa.int64()).to_numpy())
    return largest
