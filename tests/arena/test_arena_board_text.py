"""The arena board as people read it."""

from __future__ import annotations

import pytest
from league_votes import round_robin

from magister.arena._board_text import render_markdown, render_text
from magister.arena.board import arena_board
from magister.arena.ratings import Settings, rate_votes
from magister.arena.votes import code_votes
from magister.display import columns


@pytest.mark.parametrize("width", [72, 80, 120])
@pytest.mark.parametrize("games", [3, 4000])
def test_every_model_stands_with_its_votes_within_the_width(width: int, games: int) -> None:
    rated = rate_votes(code_votes(round_robin(3, games, 1)), Settings(resamples=50))
    board = arena_board({"duel": rated.table})
    lines = render_text(board, {}, width).splitlines()
    assert max(map(columns, lines)) <= width
    head = next(line for line in lines if " model " in line)
    rows = [line for line in lines[lines.index(head) + 1 :] if line[:3].strip().isdigit()][:3]
    counts = [line[: head.index(" n ") + 2].split()[-1] for line in rows]
    assert counts == [str(2 * games)] * 3
    markdown = render_markdown(board, {}).splitlines()
    assert sum(f"| {2 * games} |" in line for line in markdown) == 3
