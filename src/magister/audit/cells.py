"""The cells of the four boards, one by one: a value with its interval, and what it is a value of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from magister.errors import UserError


@dataclass(frozen=True)
class Board:
    """Where a board lies and how its rows are told apart.

    Attributes:
        path: the file.
        key: columns that name a row; the first one says which league, study or set it belongs to.
        values: columns with a value -> those of its interval, or of its standard deviation.
        status: column that says what is known of all values of a row, if there is one.
        rated: column of whom a value is about where others of the same league do not count in; None where all do.
    """

    path: str
    key: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]
    status: str | None = None
    rated: str | None = None


_RANK = {"rank": ("rank_low", "rank_high")}
_METRICS = ("ca", "aa", "ja", "ga", "ra", "net_ca", "headroom", "ca_masked")
BOARDS = {
    "teaching": Board(
        "results/teaching.parquet",
        ("league", "arm", "teacher"),
        {name: (f"{name}_ci_low", f"{name}_ci_high") for name in _METRICS} | _RANK,
        rated="teacher",
    ),
    "arena": Board(
        "results/arena.parquet",
        ("league", "scope", "annotators", "system", "model"),
        {"rating": ("ci_low", "ci_high")} | _RANK,
        status="status",
    ),
    "mastery": Board(
        "results/mastery.parquet", ("study", "model", "attribute"), {"p": ("sd",)}, status="state"
    ),
    "rubrics": Board(
        "results/rubrics.parquet",
        ("set", "scenario", "model", "dim"),
        {"value": ("ci_low", "ci_high")} | _RANK,
        status="status",
    ),
}


class CellId(NamedTuple):
    """Which cell: the board, the key of its row and the column of its value."""

    board: str
    key: tuple[str, ...]
    metric: str


class Cell(NamedTuple):
    """What stands in a cell.

    Attributes:
        value: the value; None where it is unknown.
        low: end of its interval; None without one.
        high: the other end.
        unit: half the interval, or the standard deviation; None without either.
        status: what is known of it.
    """

    value: float | None
    low: float | None
    high: float | None
    unit: float | None
    status: str


def cells_of(name: str, table: pa.Table) -> dict[CellId, Cell]:
    """Every cell of a board.

    Args:
        name: of the board.
        table: its rows.

    Raises:
        UserError: a column that names its rows is missing.
    """
    board = BOARDS[name]
    missing = [column for column in board.key if column not in table.column_names]
    if missing:
        raise UserError(f"{board.path}: no column {missing[0]!r}: written by another version. Make it anew.")
    values = {
        metric: spread
        for metric, spread in board.values.items()
        if metric in table.column_names and set(spread) <= set(table.column_names)
    }
    return {cell: content for row in table.to_pylist() for cell, content in _row(name, board, values, row)}


def _row(
    name: str, board: Board, values: Mapping[str, tuple[str, ...]], row: dict[str, Any]
) -> Iterator[tuple[CellId, Cell]]:
    key = tuple(str(row[column]) for column in board.key)
    for metric, spread in values.items():
        status = row.get(f"{metric}_status") if board.status is None else row[board.status]
        value, ends = row[metric], [row[column] for column in spread]
        if len(ends) == 1:
            cell = Cell(value, None, None, ends[0], str(status or ""))
        else:
            low, high = ends
            unit = (high - low) / 2 if low is not None and high is not None else None
            cell = Cell(value, low, high, unit, str(status or ""))
        yield CellId(name, key, metric), cell
