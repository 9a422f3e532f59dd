"""People's sheets survive spreadsheets, and labels are read strictly."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_tables import instructions, league, responses, selections

from magister.arena.ballots import arm_votes
from magister.arena.people import COLUMNS, LABELS, Imported, Sheet, export_csv, export_jsonl, import_sheets
from magister.arena.sheets import Sheets, annotation_sheet
from magister.contracts.arena_tables import AGREEMENT_STATISTICS, SHEET, VOTES, VOTES_REJECTED
from magister.errors import CheckFailed, UserError
from magister.provenance._artifact import conform

MADE = league(["a", "b"], [f"i{number}" for number in range(8)])
IDS = MADE.key["comparison_id"].to_pylist()


def sheet(text: str) -> pa.Table:
    row = {"comparison_id": "c1", "scenario": "s", "instruction_id": "i", "instruction": text}
    return pa.Table.from_pylist([row | {"response_1": text, "response_2": "x"}], schema=SHEET.schema)


def filled(*labels: Any, source: str = "ann.csv", annotator: str = "ann", **more: Any) -> Sheet:
    """A sheet with these labels on the first comparisons, from line 2 on."""
    rows = [
        (line, {"comparison_id": name, "winner": label} | more)
        for line, (name, label) in enumerate(zip(IDS, labels, strict=False), start=2)
    ]
    return Sheet(source, rows, annotator=annotator)


def read(*sheets: Sheet, made: Sheets = MADE) -> Imported:
    found = import_sheets(sheets, made.key)
    assert conform(found.votes, VOTES).equals(found.votes)
    assert conform(found.rejected, VOTES_REJECTED).equals(found.rejected)
    return found


def reasons(found: Imported) -> list[tuple[str, int, str]]:
    return [(row["source"], row["row"], row["reason"]) for row in found.rejected.to_pylist()]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(texts)
def test_a_csv_sheet_holds_its_text_and_no_formula(text: str) -> None:
    exported = export_csv(sheet(text))
    header, row = csv.reader(io.StringIO(exported.removeprefix("\ufeff"), newline=""))
    assert tuple(header) == COLUMNS
    cell = row[header.index("response_1")]
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert cell in (text, f"'{text}")


@given(texts)
def test_a_jsonl_sheet_holds_its_text_on_one_line(text: str) -> None:
    exported = export_jsonl(sheet(text))
    assert len(exported.splitlines()) == 1
    assert json.loads(exported)["response_1"] == text


@pytest.mark.parametrize("text", ['=HYPERLINK("http://x")', "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_what_a_spreadsheet_would_run_is_text(text: str) -> None:
    assert f'"\'{text.replace(chr(34), chr(34) * 2)}"' in export_csv(sheet(text))


def test_an_exported_sheet_shows_neither_scenario_nor_models() -> None:
    for text in (export_csv(MADE.sheet), export_jsonl(MADE.sheet)):
        assert "math" not in text
        assert "model" not in text


def test_a_vote_goes_to_the_model_that_wrote_the_response() -> None:
    found = read(filled(*["1"] * 4, *["2"] * 4))
    key = {row["comparison_id"]: row for row in MADE.key.to_pylist()}
    assert found.votes.num_rows == 8
    for vote in found.votes.to_pylist():
        hidden = key[vote["comparison_id"]]
        said = 1 if vote["comparison_id"] in IDS[:4] else 2
        assert vote[f"model_{vote['winner']}"] == hidden[f"model_{said}"]
        assert vote[f"model_{vote['first']}"] == hidden["model_1"]
        assert (vote["model_a"], vote["model_b"]) == ("a", "b")
        assert vote["length_a"] == hidden["length_1" if hidden["model_1"] == "a" else "length_2"]
        assert (vote["annotator"], vote["annotator_kind"], vote["flipped"]) == ("ann", "person", None)
    assert {vote["first"] for vote in found.votes.to_pylist()} == {"a", "b"}


@pytest.mark.parametrize("label", [*LABELS, " Tie ", "BOTH_BAD", 1, 2.0])
def test_every_documented_label_is_read(label: object) -> None:
    found = read(filled(label))
    assert found.votes.num_rows == 1
    assert found.counts == {}


@given(st.one_of(st.text(max_size=12), st.integers(), st.booleans(), st.floats(), st.lists(st.integers())))
def test_any_other_label_is_an_error_and_never_a_tie(label: object) -> None:
    text = str(label).strip()
    if not text or text.casefold() in LABELS:
        return
    found = read(filled("1", label))
    assert found.votes.num_rows == 1
    assert reasons(found) == [("ann.csv", 3, "unknown_label")]
    with pytest.raises(
        CheckFailed, match=r"ann\.csv, line 3: label .* is unknown; expected 1, 2, tie or both_bad"
    ):
        found.check()


@pytest.mark.parametrize("label", ["", "  ", None])
def test_an_empty_label_is_counted_as_not_judged_and_is_no_error(label: str | None) -> None:
    found = read(filled("1", label, label))
    assert (found.votes.num_rows, found.counts) == (1, {"not_judged": 2})
    found.check()


def test_the_same_judgement_twice_is_one_vote() -> None:
    one, two = filled("1", "tie", seconds="9"), filled("a", "T", source="again.csv", seconds="4")
    found = read(one, two)
    assert (found.votes.num_rows, found.counts) == (2, {"repeated": 2})
    assert found.votes["seconds"].to_pylist() == [4, 4]
    found.check()


def test_two_different_judgements_of_one_annotator_count_for_nothing_and_both_lines_are_named() -> None:
    found = read(filled("1", "tie"), filled("2", "tie", source="again.csv"))
    assert found.votes.num_rows == 1
    assert [place for place in reasons(found) if place[2] == "contradiction"] == [
        ("again.csv", 2, "contradiction"),
        ("ann.csv", 2, "contradiction"),
    ]
    with pytest.raises(CheckFailed, match=r"again\.csv, line 2: 2; ann\.csv, line 2: 1"):
        found.check()


def test_several_annotators_judge_the_same_comparison() -> None:
    found = read(
        filled("1"),
        filled("2", source="bo.csv", annotator="bo"),
        filled("tie", source="c.csv", annotator="cy"),
    )
    assert sorted(found.votes["annotator"].to_pylist()) == ["ann", "bo", "cy"]
    assert found.counts == {}


def test_the_annotator_of_a_row_goes_before_that_of_the_file() -> None:
    rows = [
        (2, {"comparison_id": IDS[0], "winner": "1", "annotator": " bo "}),
        (3, {"comparison_id": IDS[1], "winner": "1", "annotator": ""}),
    ]
    assert sorted(read(Sheet("f.csv", rows, annotator="ann")).votes["annotator"].to_pylist()) == ["ann", "bo"]


def test_a_vote_of_nobody_is_an_error() -> None:
    assert reasons(read(filled("1", annotator=""))) == [("ann.csv", 2, "no_annotator")]


@pytest.mark.parametrize("seconds", ["-1", "soon", "nan", "inf"])
def test_seconds_that_are_no_time_are_an_error(seconds: str) -> None:
    assert reasons(read(filled("1", seconds=seconds))) == [("ann.csv", 2, "bad_seconds")]


def test_a_comparison_of_another_sheet_is_an_error_unless_it_is_allowed() -> None:
    found = read(Sheet("old.csv", [(2, {"comparison_id": "c000", "winner": "1"})], annotator="ann"))
    assert reasons(found) == [("old.csv", 2, "unknown_comparison")]
    found.check(allow=["unknown_comparison"])
    with pytest.raises(CheckFailed, match=r"old\.csv, line 2: comparison 'c000' is not on this sheet"):
        found.check()


def test_a_vote_on_a_sheet_with_other_sides_is_not_read_for_the_wrong_side() -> None:
    other = league(["a", "b"], [f"i{number}" for number in range(8)], seed=1)
    found = import_sheets([filled(*["1"] * 8)], other.key)
    sides = dict(zip(IDS, MADE.key["model_1"].to_pylist(), strict=True))
    assert found.counts["unknown_comparison"] > 0
    for vote in found.votes.to_pylist():
        assert vote[f"model_{vote['winner']}"] == sides[vote["comparison_id"]]


def test_a_row_that_cannot_be_read_is_an_error() -> None:
    found = read(Sheet("x.csv", [], broken=[(4, "expected 7 cells, found 3", "a,b,c")], annotator="ann"))
    assert found.rejected.to_pylist()[0] == {
        "source": "x.csv", "row": 4, "reason": "unreadable_row", "detail": "expected 7 cells, found 3",
        "raw": "a,b,c", "comparison_id": None, "annotator": None, "request_id": None,
    }  # fmt: skip


def test_a_file_without_the_columns_is_an_error_that_lists_what_is_there() -> None:
    with pytest.raises(UserError, match=r"x\.csv: no column winner; found: comparison_id, label"):
        read(Sheet("x.csv", [(2, {"comparison_id": IDS[0], "label": "1"})], annotator="ann"))


def test_a_file_named_twice_is_an_error() -> None:
    with pytest.raises(UserError, match=r"ann\.csv: named twice"):
        read(filled("1"), filled("1"))


@given(st.permutations(range(3)))
def test_the_order_of_files_changes_nothing(order: list[int]) -> None:
    sheets = [filled("1", "tie"), filled("2", source="bo.csv", annotator="bo"), filled("1", source="z.csv")]
    one, two = read(*sheets), read(*(sheets[at] for at in order))
    assert one.votes.equals(two.votes)
    assert one.rejected.equals(two.rejected)


def test_no_files_are_no_votes() -> None:
    assert read().votes.num_rows == 0


def test_votes_of_an_unknown_arm_are_an_error() -> None:
    with pytest.raises(UserError, match="arm 'both' is unknown"):
        arm_votes(read(filled("1")).votes, "both")


def test_an_arm_has_all_its_votes_also_those_on_what_both_chose() -> None:
    said = {(model, name): f"{model}{name}" for model in "ab" for name in ("i1", "i2", "i3")}
    chosen = selections(
        ("a", "b", "i1"), ("a", "b", "i2"), ("a", "b", "i1", "random"), ("a", "b", "i3", "random")
    )  # fmt: skip
    made = annotation_sheet(chosen, instructions("i1", "i2", "i3"), responses(said), seed=0)
    rows = [
        (line, {"comparison_id": name, "winner": "1"})
        for line, name in enumerate(made.key["comparison_id"].to_pylist())
    ]
    cast = import_sheets([Sheet("ann.csv", rows, annotator="ann")], made.key).votes
    arms = {
        arm: sorted(arm_votes(cast, arm)["instruction_id"].to_pylist()) for arm in ("discrepant", "random")
    }
    assert arms == {"discrepant": ["i1", "i2"], "random": ["i1", "i3"]}


def test_every_label_and_statistic_is_documented() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "arena_votes.md").read_text(encoding="utf-8")
    words = {*LABELS, *AGREEMENT_STATISTICS}
    assert {word for word in words if f"`{word}`" not in page} == set()


def test_a_file_of_votes_is_no_sheet() -> None:
    rows = [(2, {"comparison_id": "c1", "winner": "a", "model_a": "m1", "model_b": "m2"})]
    with pytest.raises(UserError, match="a file of votes"):
        read(Sheet("votes.csv", rows, annotator="ann"))
