"""What the mastery board promises: its rows are the profiles of the studies."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from magister.contracts._board_rows import Parts, board_rows_suite
from magister.contracts.diagnosis_tables import MASTERY, MASTERY_BOARD
from magister.contracts.gate import Suite

_PARTS = Parts(MASTERY_BOARD, MASTERY, "mastery", "row_in_studies", "profile", "study", "as_profiled")


def mastery_board_suite(board: pa.Table, mastery: Mapping[str, pa.Table]) -> Suite:
    """What the mastery board promises.

    Args:
        board: MASTERY_BOARD.
        mastery: MASTERY by study.

    Returns:
        Tables and expectations for `run_gate`.
    """
    return board_rows_suite(board, mastery, _PARTS, "the profiles of all studies")
