"""What the arena board promises: its rows are the ratings of the leagues."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from magister.contracts._board_rows import Parts, board_rows_suite
from magister.contracts.arena_tables import ARENA_BOARD, RATINGS
from magister.contracts.gate import Suite

_PARTS = Parts(ARENA_BOARD, RATINGS, "ratings", "row_in_leagues", "rating", "league", "as_rated")


def arena_board_suite(board: pa.Table, ratings: Mapping[str, pa.Table]) -> Suite:
    """What the arena board promises.

    Args:
        board: ARENA_BOARD.
        ratings: RATINGS by league.

    Returns:
        Tables and expectations for `run_gate`.
    """
    return board_rows_suite(board, ratings, _PARTS, "the ratings of all leagues")
