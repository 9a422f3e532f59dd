"""A user's own trajectories: completed with what is said, and every mistake named by its rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magister.contracts.schemas import METRICS_TABLE
from magister.errors import UserError
from magister.teaching._record_columns import Columns, as_texts, cast_texts
from magister.teaching.metrics import teaching_metrics
from magister.teaching.records import (
    Trajectories,
    complete_records,
    complete_zero_shot,
    without_judging,
)

Row = dict[str, Any]


def league(
    teachers: str = "t", students: str = "ab", items: int = 3, rounds: int = 1, **extra: Any
) -> list[Row]:
    """Rows of a league in which each round fixes one item more."""
    return [
        {
            "teacher": teacher,
            "student": student,
            "item_id": f"i{item}",
            "round": number,
            "correct": int(item <= number),
        }
        | extra
        for teacher in teachers
        for student in students
        for item in range(items)
        for number in range(rounds + 1)
    ]


def columns(rows: list[Row]) -> Columns:
    numbers = range(1, len(rows) + 1)
    return Columns(as_texts(rows, "own.jsonl", numbers), "own.jsonl", numbers)


def complete(rows: list[Row]) -> Trajectories:
    return complete_records(columns(rows), "own")


def complaint(rows: list[Row]) -> str:
    with pytest.raises(UserError) as failure:
        complete(rows)
    return str(failure.value)


def measured(found: Trajectories, own: pa.Table | None = None) -> dict[tuple[str, str], Row]:
    table = teaching_metrics(found.table, own, policy="wrong", resamples=50, level=0.95, seed=0)
    table = without_judging(table, found.unjudged)
    assert table.schema.equals(METRICS_TABLE.schema)
    return {
        (row["teacher"], row["metric"]): row for row in table.to_pylist() if row["slice_kind"] == "overall"
    }


def test_five_columns_are_enough_and_the_rest_is_said() -> None:
    found = complete(league(rounds=2))
    assert measured(found)["t", "CA"]["value"] == pytest.approx(2 / 3)
    said = " ".join(found.notes)
    assert "arm: taught; dataset: all; domain: all; cluster_id: a cluster per item; status: ok" in said
    assert "no slices by it: band, n_options, needs_options" in said
    assert "No column verdict: JA is unknown" in said


def test_without_verdicts_ja_is_unknown_and_not_zero() -> None:
    rows = league("t", verdict="wrong") + league("u", verdict="") + league("v", verdict="none")
    found = complete(rows)
    values = measured(found)
    assert values["t", "JA"]["value"] == pytest.approx(2 / 3)
    for teacher in "uv":
        for metric in ("JA", "JA_none", "JA_balanced", "JA_mcc", "JA_always_wrong"):
            row = values[teacher, metric]
            assert (row["value"], row["ci_low"], row["status"]) == (None, None, "not_computable")
            assert "no verdicts" in row["reason"]
        assert values[teacher, "CA"]["value"] is not None
    assert any("No verdict of u, v" in note for note in found.notes)


def test_optional_columns_are_used() -> None:
    rows = [
        row
        | {
            "dataset": "d",
            "domain": "k",
            "cluster_id": "c" + row["item_id"],
            "band": 2,
            "n_options": "4",
            "x": 1,
        }
        for row in league(arm="taught")
    ]
    found = complete(rows)
    table = teaching_metrics(found.table, None, policy="wrong", resamples=0, level=0.95, seed=0)
    assert {(row["slice_kind"], row["slice"]) for row in table.to_pylist()} == {
        ("overall", "all"), ("domain", "k"), ("dataset", "d"), ("band", "2"), ("n_options", "4"),
        ("student", "a"), ("student", "b"),
    }  # fmt: skip
    assert "Columns not used: x." in found.notes


def test_a_failed_call_leaves_the_denominator() -> None:
    rows = league()
    rows[1] |= {"correct": None, "status": "error"}
    row = measured(complete(rows))["t", "CA"]
    assert (row["n_cells"], row["n_dropped"], row["n_error"]) == (5, 1, 1)


def test_a_failed_call_scored_as_wrong_is_not_used_and_said() -> None:
    rows = league()
    rows[1] |= {"correct": 0, "status": "error"}
    found = complete(rows)
    assert measured(found)["t", "CA"]["n_dropped"] == 1
    assert "1 rows of status error have a correctness: it is not used." in found.notes


@pytest.mark.parametrize("value", [True, 1, 1.0, "1", "true", " TRUE ", "1.0"])
def test_correct_is_read_however_it_is_written(value: Any) -> None:
    rows = league()
    rows[2]["correct"] = value
    assert complete(rows).table["correct"][2].as_py() is True


@pytest.mark.parametrize("value", [2, 0.5, "yes", -1, "01", 10**30, float("inf")])
def test_any_other_correctness_is_refused_with_its_row(value: Any) -> None:
    rows = league()
    rows[2]["correct"] = value
    assert "row 3: correct " in complaint(rows)
    assert "expected 0 or 1" in complaint(rows)


@pytest.mark.parametrize("value", [None, "", float("nan")])
def test_an_empty_correctness_needs_a_status(value: Any) -> None:
    rows = league()
    rows[2]["correct"] = value
    assert "row 3: correct is empty; expected 0 or 1, or a status that says why" in complaint(rows)
    rows[2]["status"] = "no_answer"
    assert measured(complete(rows))["t", "CA"]["n_no_answer"] == 1


def test_no_answer_can_not_be_right() -> None:
    rows = league()
    rows[1] |= {"correct": 1, "status": "refusal"}
    assert "row 2: correct is 1, but the status" in complaint(rows)


def test_repeated_rows_are_named() -> None:
    rows = league()
    assert "1 repeated row(s), first 3 and 13: teacher 't', student 'a', item 'i1', round 0" in complaint(
        [*rows, rows[2]]
    )


def test_a_missing_round_is_named_with_the_rows_there_are() -> None:
    rows = league(rounds=2)
    del rows[4]
    said = complaint(rows)
    assert (
        "1 student-item pair(s) lack a round, first: teacher 't', student 'a', item 'i1' lacks round 1"
        in said
    )
    assert "(rows 4, 5)" in said


def test_a_student_with_a_part_of_the_items_is_named() -> None:
    rows = [row for row in league() if not (row["student"] == "b" and row["item_id"] == "i1")]
    assert "student 'b' of teacher 't' has 2 of 3 items; first missing: 'i1' (row 3 has it" in complaint(rows)


def test_a_teacher_without_blind_answers_is_named() -> None:
    rows = league("tu")
    rows = [row for row in rows if not (row["teacher"] == "u" and row["round"] == 0)]
    said = complaint(rows)
    assert "teacher 'u' has no round 0" in said
    assert "teacher 't'" not in said
    assert "1 problem(s)" in said


def test_a_teacher_with_blind_answers_only_is_named() -> None:
    assert "has round 0 only" in complaint([row for row in league() if row["round"] == 0])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"teacher": None}, "row 2: teacher is empty"),
        ({"item_id": " "}, "row 2: item_id is empty"),
        ({"round": "one"}, "row 2: round 'one'; expected a whole number from 0 to 6"),
        ({"round": -1}, "row 2: round '-1'"),
        ({"round": 7}, "row 2: round '7'"),
        ({"round": None}, "row 2: round is empty"),
        ({"arm": "tuaght"}, "row 2: arm 'tuaght'; expected one of taught, verdict_only"),
        ({"status": "failed"}, "row 2: status 'failed'; expected one of ok, no_answer"),
        ({"verdict": "Incorrect"}, "row 2: verdict 'Incorrect'; expected one of correct, wrong, none"),
        ({"band": 9}, "row 2: band '9'"),
        ({"cluster_id": "c"}, "row 1: cluster_id is empty"),
        ({"dataset": "other"}, "rows 1 and 2: item 'i0' has two values of dataset"),
    ],
)
def test_a_wrong_cell_is_named(change: Row, expected: str) -> None:
    rows = league(items=2, students="a")
    rows[1] |= change
    assert expected in complaint(rows).replace("rows 1, 3, 4: cluster_id", "row 1: cluster_id")


def test_missing_columns_are_named_with_those_there_are() -> None:
    said = complaint([{"teacher": "t", "model": "a"}])
    assert "column(s) missing: student, item_id, round, correct. Columns found: teacher, model" in said


def test_several_kinds_of_mistakes_are_named_at_once() -> None:
    rows = league()
    rows[0]["correct"] = 3
    rows[1]["verdict"] = "maybe"
    assert "own.jsonl: 2 problem(s)" in complaint(rows)


def test_unlike_comparisons_are_said() -> None:
    rows = league("t") + league("u", items=2)
    for row in rows:
        if row["teacher"] == "u" and row["round"] == 0:
            row["correct"] = 0
    notes = " ".join(complete(rows).notes)
    assert "rated on different items" in notes
    assert "2 student-item pairs have another answer at round 0" in notes
    assert "different" not in " ".join(complete(league("tu")).notes)


def test_a_parquet_table_reads_like_rows() -> None:
    rows = league(verdict="wrong", band=3)
    table = pa.Table.from_pylist(rows)
    table = table.set_column(0, "teacher", table["teacher"].dictionary_encode())
    table = table.set_column(4, "correct", table["correct"].cast(pa.float64()))
    found = complete_records(Columns(cast_texts(table, "x"), "x", range(1, len(rows) + 1)), "own")
    assert found.table.equals(complete(rows).table)


def test_zero_shot_answers_give_aa() -> None:
    found = complete(league("tu"))
    rows = [{"model": "t", "item_id": f"i{n}", "correct": n > 0} for n in range(3)]
    rows += [{"model": "x", "item_id": "i0", "correct": 1}, {"model": "u", "item_id": "i0", "correct": 1}]
    own = complete_zero_shot(columns(rows), found.table)
    values = measured(found, own.table)
    assert values["t", "AA"]["value"] == pytest.approx(2 / 3)
    assert own.notes == [
        "Zero-shot rows of teachers or items that are not in the trajectories, not used: 1.",
        "AA rests on a part of the 3 items: u 1.",
    ]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"item_id": "i0", "correct": 1}], "column(s) missing: teacher"),
        ([{"teacher": "t", "item_id": "i0", "correct": 1}] * 2, "1 repeated row(s), first 1 and 2"),
        ([{"teacher": "t", "item_id": "i0", "correct": 4}], "row 1: correct '4'"),
    ],
)
def test_mistakes_in_zero_shot_answers_are_named(rows: list[Row], expected: str) -> None:
    with pytest.raises(UserError) as failure:
        complete_zero_shot(columns(rows), complete(league()).table)
    assert expected in str(failure.value)


CELL = (
    st.none()
    | st.booleans()
    | st.integers(-2, 7)
    | st.sampled_from(["", "a", "0", "1", "ok", "error", "wrong"])
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            dict.fromkeys(("teacher", "student", "item_id", "round", "correct"), CELL),
            optional=dict.fromkeys(
                ("status", "verdict", "arm", "band", "cluster_id", "dataset", "leak"), CELL
            ),
        ),
        max_size=6,
    )
)
def test_any_rows_are_rated_or_refused_with_a_message(rows: list[Row]) -> None:
    try:
        found = complete(rows)
    except UserError as error:
        message = str(error)
    else:
        message = "own.jsonl"
        assert measured(found)
    assert message.startswith("own.jsonl")
