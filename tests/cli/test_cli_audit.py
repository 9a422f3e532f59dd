"""`magister audit` and `magister cite`: what a wrong call says."""

from __future__ import annotations

from pathlib import Path

from cli_helpers import Run


def test_without_a_board_the_message_says_what_to_run(run: Run) -> None:
    done = run("audit", "teaching", "tea", "CA")
    assert done.code == 2
    assert "results/teaching.parquet: not there yet. Run: snakemake --cores all" in done.err


def test_an_unknown_board_lists_the_boards(run: Run) -> None:
    assert "Expected one of teaching, arena, mastery, rubrics" in run("cite", "x", "tea", "CA").err


def test_json_and_a_page_at_once_are_refused(run: Run) -> None:
    assert "choose one" in run("audit", "teaching", "tea", "CA", "--json", "--html", "card.html").err


def test_a_page_is_not_written_over_a_file_of_the_users(run: Run) -> None:
    Path("card.html").write_text("mine")
    done = run("audit", "teaching", "tea", "CA", "--html", "card.html")
    assert done.code == 2
    assert "there already" in done.err
    assert Path("card.html").read_text() == "mine"
