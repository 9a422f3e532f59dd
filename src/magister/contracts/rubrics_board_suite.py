"""What the rubrics' board promises: its rows are the standings of the sets."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from magister.contracts._board_rows import Parts, board_rows_suite
from magister.contracts.gate import Suite
from magister.contracts.rubrics_score_tables import RUBRIC_STANDINGS, RUBRICS_BOARD

_PARTS = Parts(RUBRICS_BOARD, RUBRIC_STANDINGS, "standings", "row_in_sets", "standing", "set", "as_stood")


def rubrics_board_suite(board: pa.Table, standings: Mapping[str, pa.Table]) -> Suite:
    """What the rubrics' board promises.

    Args:
        board: RUBRICS_BOARD.
        standings: RUBRIC_STANDINGS by set.

    Returns:
        Tables and expectations for `run_gate`.
    """
    return board_rows_suite(board, standings, _PARTS, "the standings of all sets")
