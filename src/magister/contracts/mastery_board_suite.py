"""What the mastery board promises: its rows are the profiles of the studies."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from magister.contracts._columns import all_agree, positions, taken
from magister.contracts._small import comparable
from magister.contracts.diagnosis_tables import MASTERY, MASTERY_BOARD
from magister.contracts.gate import RowCheck, RowCount, Suite, Tables


def mastery_board_suite(board: pa.Table, mastery: Mapping[str, pa.Table]) -> Suite:
    """What the mastery board promises.

    Args:
        board: MASTERY_BOARD.
        mastery: MASTERY by study.

    Returns:
        Tables and expectations for `run_gate`.
    """
    name = "mastery_board"
    tables: Tables = {name: (MASTERY_BOARD, board)}
    read: Tables = {f"mastery/{study}": (MASTERY, table) for study, table in mastery.items()}
    if not comparable(tables | read):
        return tables | read, []
    profiled = pa.concat_tables(
        [
            MASTERY_BOARD.schema.empty_table(),
            *(
                table.add_column(0, "study", pa.array([study] * table.num_rows, pa.string())).cast(
                    MASTERY_BOARD.schema
                )
                for study, table in mastery.items()
            ),
        ]
    )
    place = positions(board, profiled, MASTERY_BOARD.key)
    others = [column for column in board.column_names if column not in MASTERY_BOARD.key]
    alike = all_agree(board.select(others), taken(profiled, place, others))
    return tables, [
        RowCount(name, profiled.num_rows, "the profiles of all studies"),
        RowCheck(name, "row_in_studies", MASTERY_BOARD.key, "a profile of a study", place >= 0),
        RowCheck(name, "as_profiled", tuple(others), "as in the profiles of the study", alike | (place < 0)),
    ]
