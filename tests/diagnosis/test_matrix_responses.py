"""Answers, grids, tables and matrices, and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matrix_tables import answer, answers, drawn, grid

from magister.contracts.diagnosis_tables import RESPONSE_MATRIX, RESPONSE_STATUSES
from magister.diagnosis.matrix import MISSING, response_matrix
from magister.diagnosis.responses import (
    ABSENT,
    UNPARSED,
    answer_grid,
    count_unparsed,
    grid_table,
    known_matrix,
    matrix_grid,
    status_codes,
    table_grid,
)
from magister.errors import UserError
from magister.provenance._artifact import conform

LINES = st.lists(st.text("10u.e", min_size=3, max_size=3), min_size=1, max_size=5)


def test_every_status_is_a_reply_an_unreadable_one_or_unknown() -> None:
    assert {"ok", *UNPARSED, *ABSENT} == set(RESPONSE_STATUSES)


def test_own_answers_become_a_complete_grid() -> None:
    found = answer_grid(
        [
            answers(answer("b", "i1"), answer("b", "i2", correct=False)),
            answers(answer("a", "i2", "error", None), answer("a", "i3", "refusal", False)),
        ],
        ["i1", "i2", "i3", "i4"],
    )
    assert found.models == ("a", "b")
    assert drawn(found) == {"a": ".e0.", "b": "10.."}
    rows = {(row["model"], row["item_id"]): row for row in grid_table(found).to_pylist()}
    assert len(rows) == 8
    assert rows["a", "i2"] == {
        "model": "a",
        "item_id": "i2",
        "status": "error",
        "correct": None,
        "request_id": "a-i2",
    }
    assert rows["b", "i4"]["status"] == "missing"
    assert rows["b", "i4"]["request_id"] is None


@pytest.mark.parametrize("status", UNPARSED)
def test_an_unreadable_reply_is_wrong_or_unknown_as_the_study_says(status: str) -> None:
    table = [answers(answer("a", "i1", status, False), answer("a", "i2"))]
    assert answer_grid(table, ["i1", "i2"]).correct.tolist() == [[0, 1]]
    found = answer_grid(table, ["i1", "i2"], "missing")
    assert found.correct.tolist() == [[MISSING, 1]]
    assert RESPONSE_STATUSES[found.status[0, 0]] == status


@pytest.mark.parametrize("unparsed", ["wrong", "missing"])
def test_a_call_that_failed_is_never_wrong(unparsed: str) -> None:
    found = answer_grid(
        [answers(answer("a", "i1", "error", None), answer("a", "i2"))], ["i1", "i2"], unparsed
    )
    assert found.correct.tolist() == [[MISSING, 1]]


def test_a_scorer_that_found_a_cut_reply_right_is_believed_unless_such_replies_go() -> None:
    status = status_codes(["truncated", "truncated", "ok"])
    correct = np.array([1, 0, 0], dtype=np.int8)
    assert count_unparsed(correct, status, "wrong").tolist() == [1, 0, 0]
    assert count_unparsed(correct, status, "missing").tolist() == [-1, -1, 0]


def test_answers_to_other_items_and_second_answers_are_refused() -> None:
    with pytest.raises(UserError, match=r"items that are not among the 1 asked, first 'i9'"):
        answer_grid([answers(answer("a", "i9"))], ["i1"])
    with pytest.raises(UserError, match=r"model 'a', item 'i1' has 2 rows"):
        answer_grid([answers(answer("a", "i1")), answers(answer("a", "i1"))], ["i1"])
    with pytest.raises(UserError, match=r"0 answers to 1 items"):
        answer_grid([answers()], ["i1"])


def test_a_table_that_is_not_complete_is_refused_by_its_cell() -> None:
    table = grid_table(grid({"a": "10", "b": "01"}))
    with pytest.raises(UserError, match=r"model 'b', item 'i002' has none"):
        table_grid(table.slice(0, 3))
    with pytest.raises(UserError, match=r"has 2 rows"):
        table_grid(pa.concat_tables([table, table.slice(1, 1)]))
    with pytest.raises(UserError, match="no rows"):
        table_grid(table.slice(0, 0))


@given(LINES, st.sampled_from(["wrong", "missing"]), st.randoms())
def test_a_grid_survives_its_table_in_any_order_of_rows(lines: list[str], unparsed: str, random) -> None:
    before = grid({f"m{at}": line for at, line in enumerate(lines)}, unparsed=unparsed)
    table = grid_table(before)
    # What is written is what the contract wants, sorted already.
    assert conform(table, RESPONSE_MATRIX).equals(table.combine_chunks())
    rows = list(range(table.num_rows))
    random.shuffle(rows)
    after = table_grid(table.take(rows))
    assert after.models == before.models
    assert after.items == before.items
    assert np.array_equal(after.correct, before.correct)
    assert np.array_equal(after.status, before.status)


@given(LINES)
def test_what_is_left_out_has_no_response_and_what_stays_can_be_fitted(lines: list[str]) -> None:
    found = grid({f"m{at}": line for at, line in enumerate(lines)})
    if (found.correct == MISSING).all():
        with pytest.raises(UserError, match="no response is known"):
            known_matrix(found)
        return
    known = known_matrix(found)
    assert response_matrix(known.matrix) is known.matrix
    assert len(known.matrix.models) + sum(out.kind == "model" for out in known.left_out) == len(found.models)
    assert len(known.matrix.items) + sum(out.kind == "item" for out in known.left_out) == len(found.items)
    assert (known.matrix.correct == 1).sum() == (found.correct == 1).sum()
    assert (known.matrix.correct == 0).sum() == (found.correct == 0).sum()


def test_models_and_items_without_a_response_are_left_out_with_their_reasons() -> None:
    known = known_matrix(grid({"a": "1.0", "b": "e.e"}))
    assert known.matrix.models == ("a",)
    assert known.matrix.items == ("i001", "i003")
    assert [tuple(out) for out in known.left_out] == [
        ("model", "b", "no response is known: 2 error, 1 missing"),
        ("item", "i002", "no response is known: 2 missing"),
    ]


def test_a_matrix_is_a_grid_of_responses_that_are_there_or_missing() -> None:
    matrix = known_matrix(grid({"a": "1.", "b": "u0"})).matrix
    assert drawn(matrix_grid(matrix)) == {"a": "1.", "b": "00"}
