"""Checks that tables of estimates share: numbers with intervals, statuses, ranks and adjusted p values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts._columns import Mask, numbers, row_codes, true
from magister.contracts.gate import RowCheck

Floats = NDArray[np.float64]

SIZES = ("n_items", "n_students", "n_clusters", "n_cells", "n_dropped")
SETTINGS = ("policy", "resamples", "seed", "level")
# Sums that were added up in another order may differ in the last bits: that is no difference.
EQUAL = 1e-9


def close(one: Floats, other: Floats) -> Mask:
    """Equal but for rounding, or unknown in both."""
    both = np.isnan(one) & np.isnan(other)
    return np.asarray(both | (np.abs(one - other) <= EQUAL))


def by_group(
    table: pa.Table, columns: Sequence[str], work: Callable[[NDArray[np.int64]], Mask | Floats]
) -> Floats:
    """What a function makes of the rows of every group, in the order of the table."""
    codes = row_codes(table, columns)
    out = np.full(table.num_rows, np.nan)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=codes[order][:1] - 1))
    for rows in np.split(order, starts[1:]) if order.size else []:
        out[rows] = work(rows)
    return out


def ranks(table: pa.Table, group: Sequence[str]) -> Floats:
    """Rank of every row by `value` in its group, 1 the best; NaN without a value."""
    value = numbers(table["value"])

    def worked_out(rows: NDArray[np.int64]) -> Floats:
        own = np.round(value[rows], 12)
        higher = 1.0 + (own[None, :] > own[:, None]).sum(axis=1)
        return np.where(np.isnan(own), np.nan, higher)

    return by_group(table, group, worked_out)


def holm_holds(table: pa.Table, group: Sequence[str]) -> Mask:
    """Rows whose adjusted p is the largest of what Holm asks of the p values up to theirs; unknown together."""
    p, adjusted = numbers(table["p"]), numbers(table["p_holm"])

    def worked_out(rows: NDArray[np.int64]) -> Floats:
        own = p[rows]
        below = (own[None, :] < own[:, None]).sum(axis=1)
        asked = np.where(np.isnan(own), -1.0, ((~np.isnan(own)).sum() - below) * own)
        reached = np.where(own[None, :] <= own[:, None], asked[None, :], -1.0).max(axis=1)
        return np.where(np.isnan(own), np.nan, np.minimum(reached, 1.0))

    return close(adjusted, by_group(table, group, worked_out))


def bounded_where_ok(table: pa.Table, status: str, low: str, high: str) -> Mask:
    """Rows with both ends, in order, where the status is ok, and with none elsewhere."""
    ends = numbers(table[low]), numbers(table[high])
    ok = true(pc.equal(table[status], "ok"))
    return np.where(ok, ends[0] <= ends[1], np.isnan(ends[0]) & np.isnan(ends[1]))


def explained(table: pa.Table, status: str, reason: str) -> Mask:
    """Rows with a reason where the status is not ok."""
    return true(pc.equal(table[status], "ok")) | true(pc.not_equal(table[reason], ""))


def interval_check(where: str, name: str, table: pa.Table, columns: tuple[str, str, str]) -> RowCheck:
    """`bounded_where_ok` as a check of the columns (status, low, high) of a table."""
    expected = "both ends, in order, where the status is ok, none elsewhere"
    return RowCheck(where, name, columns, expected, bounded_where_ok(table, *columns))


def reason_check(where: str, name: str, table: pa.Table, columns: tuple[str, str]) -> RowCheck:
    """`explained` as a check of the columns (status, reason) of a table."""
    return RowCheck(where, name, columns, "a reason where the status is not ok", explained(table, *columns))


def range_check(
    where: str, table: pa.Table, columns: tuple[str, ...], expected: str, ends: tuple[Floats, Floats]
) -> RowCheck:
    """Numbers within what they can be, but for rounding; unknown ones are.

    Args:
        where: name of the table.
        table: the table.
        columns: columns that are shown; those of floats are held to the range.
        expected: the rule as a sentence.
        ends: least and largest number of each row.
    """
    floor, ceiling = ends
    held = [numbers(table[name]) for name in columns if pa.types.is_floating(table[name].type)]
    passed = np.logical_and.reduce(
        [np.isnan(found) | (floor - EQUAL <= found) & (found <= ceiling + EQUAL) for found in held]
    )
    return RowCheck(where, "value_in_range", columns, expected, passed)


def value_check(where: str, table: pa.Table) -> RowCheck:
    """A value unless the status is not_computable."""
    unknown = true(pc.equal(table["status"], "not_computable"))
    expected = "a value unless the status is not_computable, and only then"
    passed = np.isnan(numbers(table["value"])) == unknown
    return RowCheck(where, "value_unless_not_computable", ("status", "value"), expected, passed)
