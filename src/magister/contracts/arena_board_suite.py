"""What the arena board promises: its rows are the ratings of the leagues."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from magister.contracts._columns import all_agree, positions, taken
from magister.contracts._small import comparable
from magister.contracts.arena_tables import ARENA_BOARD, RATINGS
from magister.contracts.gate import RowCheck, RowCount, Suite, Tables


def arena_board_suite(board: pa.Table, ratings: Mapping[str, pa.Table]) -> Suite:
    """What the arena board promises.

    Args:
        board: ARENA_BOARD.
        ratings: RATINGS by league.

    Returns:
        Tables and expectations for `run_gate`.
    """
    name = "arena_board"
    tables: Tables = {name: (ARENA_BOARD, board)}
    read: Tables = {f"ratings/{league}": (RATINGS, table) for league, table in ratings.items()}
    if not comparable(tables | read):
        return tables | read, []
    rated = pa.concat_tables(
        [
            ARENA_BOARD.schema.empty_table(),
            *(
                table.add_column(0, "league", pa.array([league] * table.num_rows, pa.string())).cast(
                    ARENA_BOARD.schema
                )
                for league, table in ratings.items()
            ),
        ]
    )
    place = positions(board, rated, ARENA_BOARD.key)
    others = [column for column in board.column_names if column not in ARENA_BOARD.key]
    alike = all_agree(board.select(others), taken(rated, place, others))
    return tables, [
        RowCount(name, rated.num_rows, "the ratings of all leagues"),
        RowCheck(name, "row_in_leagues", ARENA_BOARD.key, "a rating of a league", place >= 0),
        RowCheck(name, "as_rated", tuple(others), "as in the ratings of the league", alike | (place < 0)),
    ]
