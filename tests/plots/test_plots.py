"""Plots: the same bytes every time, whatever names are in the table, and no number where none is known."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import plot_tables as tables
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import font_manager

from magister import plots
from magister.contracts.arena_tables import ARENA_ABLATION
from magister.contracts.diagnosis_tables import ITEM_PROFILES, K_CURVE, MASTERY, Q_ENTRIES
from magister.contracts.schemas import (
    ABLATION_AGREEMENT,
    ABLATIONS,
    CONTAMINATION,
    META_EVALUATION,
    META_NAMES,
    METRICS_TABLE,
    STANDINGS,
    TEACHING_BOARD,
)
from magister.plots._sheet import Sheet
from magister.plots._style import named, plain, shown, signed, style

SVG = "{http://www.w3.org/2000/svg}"
Make = Callable[[list[str]], str]
PLOTS: dict[str, Make] = {
    "by_round": lambda who: plots.by_round(tables.ablations(who)),
    "ca_forest": lambda who: plots.ca_forest(tables.teaching_board(who)),
    "changes": lambda who: plots.changes(tables.ablations(who)),
    "contamination": lambda who: plots.contamination(tables.contamination(who)),
    "convergence": lambda who: plots.convergence(tables.ablations(who), tables.agreement()),
    "item_plot": lambda who: plots.item_plot(tables.item_profiles(who), "sums"),
    # It has no names but that of its study.
    "k_curve": lambda who: plots.k_curve(tables.k_curve(), " ".join(who)),
    "leave_one_out": lambda who: plots.leave_one_out(tables.ablations(who)),
    "mastery_map": lambda who: plots.mastery_map(tables.mastery(who), "sums"),
    "meta_scatter": lambda who: plots.meta_scatter(tables.teaching_board(who), *tables.external(who)),
    "q_map": lambda who: plots.q_map(tables.q_entries(who), "sums"),
    "rank_intervals": lambda who: plots.rank_intervals(tables.standings(who)),
    "selection_curves": lambda who: plots.selection_curves(tables.arena_ablation(who), "duel"),
    "teaching_curve": lambda who: plots.teaching_curve(tables.metrics(who)),
}
EMPTY: dict[str, Callable[[], str]] = {
    "by_round": lambda: plots.by_round(empty(ABLATIONS)),
    "ca_forest": lambda: plots.ca_forest(empty(TEACHING_BOARD)),
    "changes": lambda: plots.changes(empty(ABLATIONS)),
    "contamination": lambda: plots.contamination(empty(CONTAMINATION)),
    "convergence": lambda: plots.convergence(empty(ABLATIONS), empty(ABLATION_AGREEMENT)),
    "item_plot": lambda: plots.item_plot(empty(ITEM_PROFILES), "sums"),
    "k_curve": lambda: plots.k_curve(empty(K_CURVE), "sums"),
    "leave_one_out": lambda: plots.leave_one_out(empty(ABLATIONS)),
    "mastery_map": lambda: plots.mastery_map(empty(MASTERY), "sums"),
    "meta_scatter": lambda: plots.meta_scatter(
        empty(TEACHING_BOARD), empty(META_NAMES), empty(META_EVALUATION)
    ),
    "q_map": lambda: plots.q_map(empty(Q_ENTRIES), "sums"),
    "rank_intervals": lambda: plots.rank_intervals(empty(STANDINGS)),
    "selection_curves": lambda: plots.selection_curves(empty(ARENA_ABLATION), "duel"),
    "teaching_curve": lambda: plots.teaching_curve(empty(METRICS_TABLE)),
}
HOSTILE = [
    "$x$<script>alert(1)</script>",
    "a--b -->&amp;\"'",
    r"\frac{1}{0}",
    "中文 model",
    "x\x00\x07\ud800y",
    "]]>",
]


def empty(contract: Any) -> pa.Table:
    return contract.schema.empty_table()


def parsed(svg: str) -> tuple[str, str]:
    """Title and description, once the whole is known to be XML."""
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    found = [root.find(f"{SVG}{name}") for name in ("title", "desc")]
    return tuple("" if part is None else part.text or "" for part in found)  # type: ignore[return-value]


def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect every text that a sheet holds when it is written."""
    texts: list[str] = []
    write = Sheet.svg

    def svg(sheet: Sheet) -> str:
        found = write(sheet)
        texts.extend(text.get_text() for text in sheet.figure.findobj(matplotlib.text.Text))
        return found

    monkeypatch.setattr(Sheet, "svg", svg)
    return texts


def test_every_plot_is_tested() -> None:
    assert set(PLOTS) == set(EMPTY) == set(plots.__all__)


@pytest.mark.parametrize("name", sorted(PLOTS))
def test_the_same_table_gives_the_same_bytes(name: str) -> None:
    who = tables.names(4)
    first = PLOTS[name](who)
    with matplotlib.rc_context({"font.size": 30, "svg.fonttype": "none", "lines.linewidth": 9}):
        assert PLOTS[name](who) == first
    assert not any(word in first for word in ("<metadata", "dc:date", "<!--", "DOCTYPE"))


def test_bytes_do_not_depend_on_the_process() -> None:
    code = (
        "import hashlib, plot_tables, test_plots\n"
        "who = plot_tables.names(4)\n"
        "text = ''.join(test_plots.PLOTS[name](who) for name in sorted(test_plots.PLOTS))\n"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    here = "".join(PLOTS[name](tables.names(4)) for name in sorted(PLOTS))
    folder = str(Path(__file__).parent)
    path = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONHASHSEED": "77", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == hashlib.sha256(here.encode()).hexdigest()


@pytest.mark.parametrize("name", sorted(PLOTS))
def test_the_order_of_the_rows_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    who = tables.names(5)
    first = PLOTS[name](who)
    build = tables.made
    monkeypatch.setattr(tables, "made", lambda contract, rows: build(contract, rows)[::-1])
    assert PLOTS[name](who) == first


@pytest.mark.parametrize("name", sorted(PLOTS))
@pytest.mark.filterwarnings("error")
def test_hostile_names_are_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = drawn(monkeypatch)
    svg = PLOTS[name](HOSTILE[:4] + HOSTILE[5:])
    _, about = parsed(svg)
    assert "<script>" not in svg
    assert "$x$<script>alert(1)</script>" in about
    assert "中文 model" in about
    assert any(text.startswith("$x$<script>") or "$x$<script>" in text for text in texts)
    assert not any("中" in text for text in texts)


@given(st.text(max_size=60), st.integers(1, 40))
@settings(max_examples=150, deadline=None)
def test_a_name_is_drawn_on_one_line_within_its_width(text: str, width: int) -> None:
    for cut in (shown, named):
        found = cut(text, width)
        assert len(found) <= width
        assert "\n" not in found
    ElementTree.fromstring("<t>" + plain(text).replace("&", "&amp;").replace("<", "&lt;") + "</t>")


def test_long_names_of_a_family_stay_apart() -> None:
    one, two = (named(f"ember-1.5b-chat-extended-context-{n}", 25) for n in (4, 9))
    assert one != two
    assert "…" in one
    assert named("short", 25) == "short"


@pytest.mark.parametrize(("value", "text"), [(0.04, "0.0"), (-0.04, "0.0"), (1.25, "+1.2"), (-3, "−3.0")])
def test_a_number_that_rounds_to_zero_has_no_sign(value: float, text: str) -> None:
    assert signed(value, 1) == text


@pytest.mark.parametrize("name", sorted(EMPTY))
def test_an_empty_table_says_so(name: str) -> None:
    title, about = parsed(EMPTY[name]())
    assert title
    assert about.startswith("Nothing to show: ")


@pytest.mark.parametrize("name", sorted(PLOTS))
def test_a_single_teacher_is_drawn(name: str) -> None:
    parsed(PLOTS[name](["ann"]))


def unknown(prefix: str, value: str, status: str, reason: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Make every row's value unknown."""
    lost = dict.fromkeys((value, f"{prefix}ci_low", f"{prefix}ci_high"))
    return lambda row: lost | {status: "not_computable", reason: "all cells dropped"}


UNKNOWN: dict[str, Callable[[list[str]], str]] = {
    "by_round": lambda who: plots.by_round(
        tables.ablations(
            who, change=lambda row: unknown("", "value", "status", "reason")(row) | {"rank": None}
        )
    ),
    "ca_forest": lambda who: plots.ca_forest(
        tables.teaching_board(who, change=unknown("ca_", "ca", "ca_status", "ca_reason"))
    ),
    "changes": lambda who: plots.changes(
        tables.ablations(
            who, change=unknown("difference_", "difference", "difference_status", "difference_reason")
        )
    ),
    "contamination": lambda who: plots.contamination(
        tables.contamination(
            who,
            change=lambda row: (
                unknown("gap_", "gap", "status", "reason")(row)
                | unknown("aa_change_", "aa_change", "status", "reason")(row)
                | unknown("ca_change_", "ca_change", "status", "reason")(row)
            ),
        )
    ),
    "convergence": lambda who: plots.convergence(
        tables.ablations(who, change=unknown("", "value", "status", "reason")), tables.agreement()
    ),
    "k_curve": lambda who: plots.k_curve(
        tables.k_curve(change=unknown("", "value", "status", "reason")), " ".join(who)
    ),
    "leave_one_out": lambda who: plots.leave_one_out(
        tables.ablations(who, change=unknown("", "value", "status", "reason"))
    ),
    "teaching_curve": lambda who: plots.teaching_curve(
        tables.metrics(who, change=unknown("", "value", "status", "reason"))
    ),
}


@pytest.mark.parametrize("name", sorted(UNKNOWN))
def test_what_is_unknown_is_a_gap_with_its_reason(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = drawn(monkeypatch)
    _, about = parsed(UNKNOWN[name](["ann", "bob"]))
    assert "all cells dropped" in " ".join(texts)
    assert "unknown" in about
    assert "nan" not in about.lower().split()


def test_a_league_with_a_student_left_out_is_said_to_be_as_large_as_it_is_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = drawn(monkeypatch)
    left = {"leave_one_student": {"n_students": 1}, "leave_one_dataset": {"n_items": 80, "n_clusters": 40}}
    plots.leave_one_out(
        tables.ablations(
            ["ann", "bob"],
            change=lambda row: (
                {"n_students": 2, "n_items": 1, "n_clusters": 1} | left.get(row["ablation"], {})
            ),
        )
    )
    assert "n: 1 item, 1 cluster, 2 students." in " ".join(" ".join(texts).split())


def test_a_gap_in_a_curve_is_not_bridged() -> None:
    whole = plots.teaching_curve(tables.metrics(["ann", "bob"]))
    table = tables.metrics(
        ["ann", "bob"],
        change=lambda row: (
            unknown("", "value", "status", "reason")(row)
            if (row["teacher"], row["round"]) == ("ann", 2)
            else {}
        ),
    )
    svg = plots.teaching_curve(table)
    _, about = parsed(svg)
    assert "Unknown: ann (round 2): all cells dropped." in about
    assert "main, ann: 0: 42, 1:" in about
    assert "2: unknown" in about
    assert svg != whole


def test_a_value_without_an_interval_is_marked_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = drawn(monkeypatch)
    bare = {"ca_ci_low": None, "ca_ci_high": None, "ca_status": "no_interval", "ca_reason": "one cluster"}
    svg = plots.ca_forest(
        tables.teaching_board(["ann"], change=lambda row: bare if row["teacher"] == "ann" else {})
    )
    assert "no interval" in texts
    assert "Without interval: ann: one cluster." in parsed(svg)[1]


@pytest.mark.parametrize("name", sorted(PLOTS))
def test_thirty_three_teachers_keep_their_names_and_stay_on_the_sheet(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Sheet] = []
    write = Sheet.svg
    monkeypatch.setattr(Sheet, "svg", lambda sheet: found.append(sheet) or write(sheet))
    who = tables.names(33)
    _, about = parsed(PLOTS[name](who))
    assert sum(teacher in about for teacher in who) >= 32
    (sheet,) = found
    figure = sheet.figure
    # A tick beyond the limits of its axis has a label that is not drawn.
    hidden = {
        label
        for ax in figure.axes
        for label in ax.get_xticklabels()
        if not min(ax.get_xlim()) <= label.get_position()[0] <= max(ax.get_xlim())
    }
    with style():
        for text in figure.findobj(matplotlib.text.Text):
            if text.get_visible() and text.get_text() and text not in hidden:
                box = text.get_window_extent()
                assert box.x0 >= 0, text.get_text()
                assert box.x1 <= figure.bbox.x1, text.get_text()


def test_two_leagues_stand_below_one_another() -> None:
    both = pa.concat_tables([tables.teaching_board(["ann"], "one"), tables.teaching_board(["bob"], "two")])
    _, about = parsed(plots.ca_forest(both))
    assert "League one. n: 240 items, 200 clusters, 4 students, 3 rounds. Policy: wrong." in about
    assert "two, bob: +" in about


def test_numbers_beside_the_picture_are_those_of_the_table() -> None:
    board = tables.teaching_board(["ann"])
    row = next(row for row in board.to_pylist() if row["teacher"] == "ann")
    words = (
        f"main, ann: {100 * row['ca']:+.1f} ({100 * row['ca_ci_low']:+.1f} to {100 * row['ca_ci_high']:+.1f})"
    )
    assert words in parsed(plots.ca_forest(board))[1]


def test_a_scenario_without_a_key_is_named_with_its_reason() -> None:
    def change(row: dict[str, Any]) -> dict[str, Any]:
        lost = {
            "value": None,
            "ci_low": None,
            "ci_high": None,
            "status": "not_computable",
            "reason": "no gold",
        }
        return lost if row["scenario"] == "open" else {}

    _, about = parsed(plots.selection_curves(tables.arena_ablation(["sums", "open"], change), "duel"))
    assert "duel, sums, random draws: 1: 60, 2: 70." in about
    assert "duel, open," not in about
    assert "Unknown: open: embedding (lambda 1) at 1" in about
    _, about = parsed(plots.selection_curves(tables.arena_ablation(["open"], change), "duel"))
    assert about == "Nothing to show: no gold."


def test_a_scatter_can_be_of_one_board_alone() -> None:
    who = tables.names(6)
    names, meta = tables.external(who, boards=("arena", "bench $1"))
    board = tables.teaching_board(who)
    both = parsed(plots.meta_scatter(board, names, meta))[1]
    assert "bench $1" in both
    one = names.filter(pa.compute.equal(names["board"], "arena"))
    alone = parsed(plots.meta_scatter(board, one, meta))[1]
    assert "arena" in alone
    assert "League main, board bench" not in alone


def test_a_study_that_is_not_supported_looks_and_says_otherwise() -> None:
    who = tables.names(5)
    title, _ = parsed(plots.mastery_map(tables.mastery(who, support="not_supported"), "sums"))
    assert "NOT SUPPORTED by the controls" in title
    grey, blue = (
        plots.mastery_map(tables.mastery(who, support=support), "sums")
        for support in ("not_supported", "supported")
    )
    assert "#0072b2" not in grey.lower()
    assert grey != blue
    assert "NOT SUPPORTED" not in blue


def test_of_many_models_attributes_and_items_the_first_are_shown_and_the_rest_counted() -> None:
    who = [f"m{n:04d}" for n in range(300)]
    svg = plots.mastery_map(tables.mastery(who, attributes=70), "sums")
    _, about = parsed(svg)
    assert "Shown: 40 of 300 models, evenly from the highest mean to the lowest." in about
    assert "Shown: 60 of 70 attributes, the first by name." in about
    assert (
        "Shown: 40 of 300 items, those with most changes."
        in parsed(plots.q_map(tables.q_entries(who), "sums"))[1]
    )
    assert "Errors are in the table." in parsed(plots.item_plot(tables.item_profiles(who), "sums"))[1]
    assert len(svg) < 2_000_000


def test_models_stand_in_the_order_of_their_mean_and_equal_ones_in_that_of_their_names() -> None:
    table = tables.mastery(["bob", "ann"])
    flat = table.set_column(table.column_names.index("p"), "p", pa.array([0.5] * table.num_rows))
    about = parsed(plots.mastery_map(flat, "sums"))[1]
    assert about.index("ann:") < about.index("bob:")


def test_what_became_of_an_entry_is_said() -> None:
    about = parsed(plots.q_map(tables.q_entries(["one", "two"]), "sums"))[1]
    assert "entries: 1 kept, 1 added, 1 dropped; 1 item changed." in about
    assert "sums, one: dropped a00" in about


def test_an_item_without_an_error_says_why() -> None:
    bare = {"guess_se": None, "status": "no_interval", "reason": "guess: nobody lacks what it needs"}
    about = parsed(plots.item_plot(tables.item_profiles(["one"], change=lambda row: bare), "sums"))[1]
    assert "Without interval: one: guess: nobody lacks what it needs." in about


def test_the_typeface_is_the_one_that_ships_with_matplotlib() -> None:
    with style():
        path = font_manager.findfont("DejaVu Sans")
    assert Path(path).is_relative_to(matplotlib.get_data_path())
