"""The people's board and its two renderings."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from test_metrics import cell, measure, table, zero_shot

from magister.contracts.schemas import STANDINGS
from magister.display import columns
from magister.errors import UserError
from magister.teaching.board import BOARD_SCHEMA, render_markdown, render_text, teaching_board
from magister.teaching.standings import standings

NO_STANDINGS = STANDINGS.schema.empty_table()


def league(**marks: tuple[str, ...]) -> pa.Table:
    """Trajectories from a name (an arm or a teacher) to the marks of its items."""
    cells = []
    for name, items in marks.items():
        arm = name if name in ("sham", "wrong_oracle") else "taught"
        for n, right in enumerate(items):
            cells.append(cell(right, item=f"i{n}", teacher=name, arm=arm, student="a"))
    return table(*cells)


GOOD = ("01", "01", "01", "00", "01", "10", "01", "01", "01", "00")
FLAT = ("01", "10", "01", "10", "11", "00", "01", "10", "01", "10")
TABLE = league(good=GOOD, also=GOOD, flat=FLAT, sham=FLAT, wrong_oracle=("10",) * 5 + ("00",) * 5)


def rows_of(metrics: pa.Table) -> dict[str, dict[str, Any]]:
    return {row["teacher"]: row for row in teaching_board(metrics, NO_STANDINGS).to_pylist()}


def test_equal_scores_share_a_rank_and_control_arms_have_none() -> None:
    board = teaching_board(measure(TABLE), NO_STANDINGS)
    assert board.schema.equals(BOARD_SCHEMA)
    listed = [(row["arm"], row["teacher"], row["rank"]) for row in board.to_pylist()]
    assert listed == [
        ("taught", "also", 1),
        ("taught", "good", 1),
        ("taught", "flat", 3),
        ("sham", "sham", None),
        ("wrong_oracle", "wrong_oracle", None),
    ]
    for field in BOARD_SCHEMA:
        assert field.nullable or board[field.name].null_count == 0


def test_order_of_the_metrics_rows_does_not_matter() -> None:
    metrics = measure(TABLE)
    mixed = metrics.take(np.random.default_rng(1).permutation(metrics.num_rows))
    assert teaching_board(mixed, NO_STANDINGS).equals(teaching_board(metrics, NO_STANDINGS))


def test_board_repeats_the_metrics_and_says_what_is_separated_from_zero() -> None:
    rows = rows_of(measure(TABLE))
    good = rows["good"]
    assert good["ca"] == pytest.approx(0.6)
    assert good["ca_ci_low"] > 0
    assert good["separated_from_zero"] is True
    assert rows["flat"]["separated_from_zero"] is False
    assert (good["policy"], good["rounds"], good["n_items"], good["n_cells"], good["n_ok"]) == (
        "wrong",
        1,
        10,
        10,
        20,
    )
    assert (good["aa"], good["aa_status"]) == (None, "not_computable")
    assert good["aa_reason"] == "no zero-shot answers"
    assert rows["sham"]["ja_reason"] == "no teacher of its own here"


def test_without_an_interval_nothing_is_said_about_separation() -> None:
    row = rows_of(measure(TABLE, resamples=0))["good"]
    assert row["separated_from_zero"] is None
    assert (row["ca"], row["ca_status"]) == (pytest.approx(0.6), "no_interval")
    assert row["rank"] == 1


def test_unknown_ca_has_no_rank_and_is_never_zero() -> None:
    metrics = measure(league(good=GOOD, lost=("x1",) * 10))
    row = rows_of(metrics)["lost"]
    assert (row["ca"], row["rank"], row["separated_from_zero"], row["n_dropped"]) == (None, None, None, 10)
    text = render_text(teaching_board(metrics, NO_STANDINGS))
    line = next(line for line in text.splitlines() if "lost" in line)
    assert line.split() == ["-", "lost", "-", "-", "-", "-", "-", "-"]
    assert "no cell in use: all 10 dropped" in " ".join(text.split())


def test_zero_shot_only_teacher_is_listed_without_ca() -> None:
    own = zero_shot(*(cell("1" if n % 2 else "0", item=f"i{n}", teacher="new") for n in range(10)))
    row = rows_of(measure(TABLE, own))["new"]
    assert (row["aa"], row["ca"], row["ca_status"], row["ca_reason"]) == (
        0.5, None, "not_computable", "not in the metrics",
    )  # fmt: skip


def test_mixed_policies_make_no_board() -> None:
    both = pa.concat_tables([measure(TABLE), measure(league(other=GOOD), policy="drop")])
    with pytest.raises(UserError, match="policy must be one for a board, here are drop, wrong"):
        teaching_board(both, NO_STANDINGS)


@pytest.mark.parametrize("width", [72, 80, 120])
@pytest.mark.parametrize("name", ["t", "a-teacher-with-a-name-far-too-long-for-any-table-of-this-width"])
def test_text_fits_its_width(name: str, width: int) -> None:
    text = render_text(
        teaching_board(measure(league(**{name: GOOD, "sham": ("1010",) * 10})), NO_STANDINGS), width
    )
    assert max(len(line) for line in text.splitlines()) <= width
    assert text.endswith("\n")


def test_text_shows_points_intervals_policy_and_what_is_not_separated() -> None:
    text = render_text(teaching_board(measure(TABLE), NO_STANDINGS))
    flow = " ".join(text.split())
    row = rows_of(measure(TABLE))["good"]
    assert f"+60.0 [+{100 * row['ca_ci_low']:.1f}, +{100 * row['ca_ci_high']:.1f}]" in text
    assert "control arms" in text
    assert text.index("flat") < text.index("control arms") < text.index("sham")
    assert "not separated from no effect (the interval of CA includes 0): flat, sham." in flow
    assert "Policy wrong: a reply without an answer counts as wrong." in flow
    assert "n: 10 items, 10 clusters, 1 student, 1 round." in flow
    assert "by status: ok 100 (of 100)" in flow
    assert "AA unknown (-), also, good, flat: no zero-shot answers." in flow


def test_markdown_escapes_names_and_marks_control_arms() -> None:
    board = teaching_board(measure(league(**{"a|b <i>": GOOD, "sham": FLAT})), NO_STANDINGS)
    page = render_markdown(board)
    assert "| - | a\\|b &lt;i> | +60.0 [" in page
    assert "*control: sham*" in page
    assert "not separated from no effect |" in page
    for part in page.split("\n\n"):
        lines = [line.replace("\\|", "") for line in part.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) <= 1


def test_standings_give_ranks_groups_and_the_interval_for_other_students() -> None:
    trajectories = table(
        *(cell(mark, item=f"i{n}", teacher="good", student=s) for s in "ab" for n, mark in enumerate(GOOD)),
        *(cell(mark, item=f"i{n}", teacher="flat", student=s) for s in "ab" for n, mark in enumerate(FLAT)),
        *(cell("01", item=f"i{n}", teacher="sham", arm="sham", student=s) for s in "ab" for n in range(10)),
    )
    ranked, _ = standings(trajectories, None, policy="wrong", resamples=200, level=0.95, seed=1)
    board = teaching_board(measure(trajectories), ranked)
    rows = {row["teacher"]: row for row in board.to_pylist()}
    stood = {row["teacher"]: row for row in ranked.to_pylist() if row["metric"] == "CA"}
    for name in ("good", "flat"):
        for column in ("rank_low", "rank_high", "p_first", "group"):
            assert rows[name][column] == stood[name][column]
        assert rows[name]["ca_random_ci_low"] == stood[name]["random_ci_low"]
    assert rows["sham"]["group"] is None
    assert rows["good"]["net_ca"] == pytest.approx(0.6 - 1.0)
    flow = " ".join(render_text(board).split())
    assert "Whether the students respond is unknown" in flow
    assert "net CA" in flow
    assert "headroom unknown (-), good, flat: the arms sham and oracle_tell were not both run." in flow
    page = render_markdown(board)
    assert "| teacher | ranks | first | group |" in page


def test_students_whom_the_answer_does_not_move_are_named() -> None:
    def told(student: str, mark: str) -> list[list[dict[str, Any]]]:
        cells = [cell("01", item=f"i{n}", teacher="good", student=student) for n in range(6)]
        return cells + [
            cell(mark, item=f"i{n}", teacher="oracle_tell", arm="oracle_tell", student=student)
            for n in range(6)
        ]

    board = teaching_board(measure(table(*told("keen", "01"), *told("deaf", "00"))), NO_STANDINGS)
    assert {tuple(row["unresponsive"]) for row in board.to_pylist()} == {("deaf",)}
    assert "Unresponsive: deaf. Told the answer" in " ".join(render_text(board).split())
    assert {row["unresponsive"] for row in teaching_board(measure(TABLE), NO_STANDINGS).to_pylist()} == {None}


LONG = ("script-judge-90", "script-judge-60", "script-judge-6\x1b[31m0", "script-judge-\u6559\u5e2b0")


@pytest.mark.parametrize("width", [72, 80, 120])
def test_shortened_names_of_one_board_stay_different(width: int) -> None:
    trajectories = table(
        *(
            cell(mark, item=f"i{n}", teacher=t, student=s)
            for t in LONG
            for s in "ab"
            for n, mark in enumerate(GOOD)
        ),
        *(
            cell(mark, item=f"i{n}", teacher=t, arm="verdict_only", student=s)
            for t in LONG
            for s in "ab"
            for n, mark in enumerate(FLAT)
        ),
        *(cell("01", item=f"i{n}", teacher="sham", arm="sham", student=s) for s in "ab" for n in range(10)),
    )
    ranked, _ = standings(trajectories, None, policy="wrong", resamples=50, level=0.95, seed=1)
    text = render_text(teaching_board(measure(trajectories), ranked), width)
    assert max(columns(line) for line in text.splitlines()) <= width
    assert "\x1b" not in text
    heads = ("intervals", "standing ", "controls ")
    for part in text.split("\n\n"):
        if part.startswith(heads):
            shown = [line.split("  ")[0].strip() for line in part.splitlines()[1:]]
            assert len(set(shown)) == len(shown) >= 4
            assert part.split()[0] in ("intervals", "standing", "controls")


def test_wide_characters_do_not_move_the_columns() -> None:
    text = render_text(teaching_board(measure(league(good=GOOD, 教師=FLAT)), NO_STANDINGS))
    start, other = text.splitlines()[3:5]
    assert "good" in start
    assert "教師" in other
    assert columns(start.partition("[")[0]) == columns(other.partition("[")[0])


def test_a_teacher_without_a_rival_has_no_place() -> None:
    trajectories = table(
        *(cell(mark, item=f"i{n}", teacher="good", student=s) for s in "ab" for n, mark in enumerate(GOOD))
    )
    ranked, _ = standings(trajectories, None, policy="wrong", resamples=50, level=0.95, seed=1)
    board = teaching_board(measure(trajectories), ranked)
    text, page = render_text(board), render_markdown(board)
    assert "  - good" in text
    (line,) = (line for line in text.split("standing")[1].split("\n\n")[0].splitlines() if "good" in line)
    assert line.split()[:4] == ["good", "-", "-", "-"]
    assert "100 %" not in text
    for found in (" ".join(text.split()), page):
        assert "No rank, first and group (-): no other teacher of this league has a CA" in found
    assert "| good | - | - | - |" in page


def test_shared_first_places_are_said_to_count_for_all() -> None:
    trajectories = table(
        *(
            cell(mark, item=f"i{n}", teacher=t, student=s)
            for t in "tu"
            for s in "ab"
            for n, mark in enumerate(GOOD)
        )
    )
    ranked, _ = standings(trajectories, None, policy="wrong", resamples=50, level=0.95, seed=1)
    flow = " ".join(render_text(teaching_board(measure(trajectories), ranked)).split())
    assert flow.count(" 100 % a ") == 2
    assert "these can add up to more than 100 %" in flow


def test_empty_board_says_so() -> None:
    board = teaching_board(measure(TABLE).slice(0, 0), NO_STANDINGS)
    assert board.num_rows == 0
    assert render_text(board) == render_markdown(board) == "No teacher has been rated yet.\n"
