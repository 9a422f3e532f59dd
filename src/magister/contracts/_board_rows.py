"""What a board promises whose rows are those of several tables, put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from magister.contracts._columns import all_agree, positions, taken
from magister.contracts._small import comparable
from magister.contracts.contract import Contract
from magister.contracts.gate import RowCheck, RowCount, Suite, Tables


@dataclass(frozen=True)
class Parts:
    """What a board is put together from, and how its promises are called.

    Attributes:
        board: contract of the board: a column that names the part, then those of its table.
        part: contract of a part's table.
        title: what its rows are called, for instance `ratings`.
        known: name of the promise that a row of the board is one of a part.
        row: a row, in words.
        group: a part, in words.
        alike: name of the promise that it says the same.
    """

    board: Contract
    part: Contract
    title: str
    known: str
    row: str
    group: str
    alike: str


def board_rows_suite(board: pa.Table, tables: Mapping[str, pa.Table], parts: Parts, whole: str) -> Suite:
    """A board's rows are those of its parts, each once.

    Args:
        board: the board.
        tables: tables of the parts, by name.
        parts: what they are.
        whole: all rows together, in words.

    Returns:
        Tables and expectations for `run_gate`.
    """
    name, key = parts.board.name, parts.board.key
    own: Tables = {name: (parts.board, board)}
    read: Tables = {f"{parts.title}/{part}": (parts.part, table) for part, table in tables.items()}
    if not comparable(own | read):
        return own | read, []
    column = parts.board.schema.names[0]
    rows = pa.concat_tables(
        [
            parts.board.schema.empty_table(),
            *(
                table.add_column(0, column, pa.array([part] * table.num_rows, pa.string())).cast(
                    parts.board.schema
                )
                for part, table in tables.items()
            ),
        ]
    )
    place = positions(board, rows, key)
    others = [column for column in board.column_names if column not in key]
    alike = all_agree(board.select(others), taken(rows, place, others))
    return own, [
        RowCount(name, rows.num_rows, whole),
        RowCheck(name, parts.known, key, f"a {parts.row} of a {parts.group}", place >= 0),
        RowCheck(
            name,
            parts.alike,
            tuple(others),
            f"as in the {parts.row}s of the {parts.group}",
            alike | (place < 0),
        ),
    ]
