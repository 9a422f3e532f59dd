"""The page of the meta-evaluation."""

from __future__ import annotations

import numpy as np
from test_meta_evaluation import HEAD, PLAN, drawn, league, on_board

from magister.contracts.schemas import META_NAMES
from magister.teaching.external import match_names, read_boards
from magister.teaching.meta_evaluation import meta_evaluation
from magister.teaching.meta_page import render_meta


def test_without_a_board_the_page_says_how_to_add_one() -> None:
    none = META_NAMES.schema.empty_table()
    page = render_meta(meta_evaluation([league(drawn())], none, PLAN), none)
    assert "No external board is named." in page
    assert "`teaching.external.boards`" in page
    assert "#### main within: correlation of the metrics with CA" in page
    assert "| GA | Kendall tau-b | 8 |" in page


def test_numbers_stand_with_their_intervals_and_n() -> None:
    scores = league(drawn())
    names = on_board(scores, [3, 1, 4, 1, 5, 9, 2, 6])
    meta = meta_evaluation([scores], names, PLAN)
    (row,) = [
        row
        for row in meta.to_pylist()
        if (row["board"], row["metric"], row["coefficient"]) == ("arena", "JA", "spearman")
    ]
    page = render_meta(meta, names)
    assert "No external board" not in page
    assert (
        f"| JA | Spearman | 8 | {row['value']:+.3f} [{row['ci_low']:+.3f}, {row['ci_high']:+.3f}] | "
        f"{row['difference']:+.3f} [{row['difference_ci_low']:+.3f}, {row['difference_ci_high']:+.3f}] | "
        f"{row['p']:.3f} | {row['partial']:+.3f} ["
    ) in page
    assert "95 %, 200 resamples of models and, nested, of clusters of items (seed 1); policy wrong." in page
    assert "- On the board: t00 = t00 (3, 2025-01-01); t01" in page


def test_an_unknown_is_a_dash_with_its_reason() -> None:
    values = drawn(5)
    values[:, 3] = np.nan
    scores = league(values)
    page = render_meta(
        meta_evaluation([scores], on_board(scores, range(5)), PLAN), on_board(scores, range(5))
    )
    assert "| GA | Spearman | 0 | - | - | - | - |" in page
    assert "0 of 5 teachers have GA and a score of the board: a correlation takes 4 or more" in page


def test_rows_that_nobody_uses_are_listed_and_cut_after_twenty() -> None:
    lines = [f"arena,other {n:02},1,2025-01-01" for n in range(25)]
    lines += ["arena,t00,1,2025-01-01", "arena,t00,1,2024-01-01", "arena,x,high,2025-01-01"]
    boards = read_boards([("data/external/x.csv", (HEAD + "\n".join(lines)).encode())])
    scores = league(drawn(5))
    names = match_names({"main": scores.teachers}, boards, {"arena": {"t00": "t00", "t01": "gone"}})
    page = render_meta(meta_evaluation([scores], names, PLAN), names)
    assert "- arena, no model is mapped to them: 25. other 00; other 01;" in page
    assert "other 19 and 5 more." in page
    assert "- arena, an older day of a model with a newer one: 1. t00 (2024-01-01)." in page
    assert "rejected: 1. data/external/x.csv row 29: score 'high' is no number" in page
    assert "- Mapped to a name that the board lacks: t01 = gone." in page
    assert "- Mapped to no name of the board: t02; t03; t04." in page


def test_markup_in_a_name_changes_nothing_of_the_page() -> None:
    lines = ["a|b <i>,m|*x*,1,2025-01-01"]
    boards = read_boards([("data/external/x.csv", (HEAD + "\n".join(lines)).encode())])
    scores = league(drawn(4))
    names = match_names({"main": scores.teachers}, boards, {"a|b <i>": {"t00": "m|*x*"}})
    page = render_meta(meta_evaluation([scores], names, PLAN), names)
    assert r"a\|b &lt;i>" in page
    assert r"m\|\*x\*" in page
