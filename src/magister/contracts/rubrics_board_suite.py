"""What the rubrics' board promises: its rows are the standings of the sets."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from magister.contracts._columns import all_agree, positions, taken
from magister.contracts._small import comparable
from magister.contracts.gate import RowCheck, RowCount, Suite, Tables
from magister.contracts.rubrics_score_tables import RUBRIC_STANDINGS, RUBRICS_BOARD


def rubrics_board_suite(board: pa.Table, standings: Mapping[str, pa.Table]) -> Suite:
    """What the rubrics' board promises.

    Args:
        board: RUBRICS_BOARD.
        standings: RUBRIC_STANDINGS by set.

    Returns:
        Tables and expectations for `run_gate`.
    """
    name = "rubrics_board"
    tables: Tables = {name: (RUBRICS_BOARD, board)}
    read: Tables = {f"standings/{one}": (RUBRIC_STANDINGS, table) for one, table in standings.items()}
    if not comparable(tables | read):
        return tables | read, []
    stood = pa.concat_tables(
        [
            RUBRICS_BOARD.schema.empty_table(),
            *(
                table.add_column(0, "set", pa.array([one] * table.num_rows, pa.string())).cast(
                    RUBRICS_BOARD.schema
                )
                for one, table in standings.items()
            ),
        ]
    )
    place = positions(board, stood, RUBRICS_BOARD.key)
    others = [column for column in board.column_names if column not in RUBRICS_BOARD.key]
    alike = all_agree(board.select(others), taken(stood, place, others))
    return tables, [
        RowCount(name, stood.num_rows, "the standings of all sets"),
        RowCheck(name, "row_in_sets", RUBRICS_BOARD.key, "a row of a set's standings", place >= 0),
        RowCheck(name, "as_stood", tuple(others), "as in the standings of the set", alike | (place < 0)),
    ]
