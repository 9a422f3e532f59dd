"""Distractors from wrong answers."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from items_helpers import choice_pool, free_answers, open_pool

from magister.answers import canonical_value
from magister.contracts.schemas import DISTRACTORS
from magister.errors import UserError
from magister.items import harvest_distractors


def texts(harvest, item_id="q"):
    return [row["text"] for row in harvest.table.to_pylist() if row["item_id"] == item_id]


def test_candidates_are_ranked_by_models_then_answers():
    answers = free_answers(
        ("q", "m1", "7"), ("q", "m1", "7"), ("q", "m1", "7"),
        ("q", "m1", "8"), ("q", "m2", "8"), ("q", "m2", "9"),
    )  # fmt: skip
    harvest = harvest_distractors(open_pool({"q": "5"}), answers)
    assert texts(harvest) == ["8", "7", "9"]
    rows = harvest.table.to_pylist()
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert (rows[0]["n_models"], rows[0]["n_answers"], rows[0]["request_ids"]) == (2, 2, ["r3", "r4"])
    assert (rows[1]["n_models"], rows[1]["n_answers"]) == (1, 3)
    assert harvest.merged == 3
    assert harvest.table.schema.equals(DISTRACTORS.schema)


def test_answers_equal_to_the_gold_in_value_are_no_distractors():
    pool = open_pool({"half": r"\frac{1}{2}", "thousand": "1,000", "miles": "36 miles", "text": "The Nile"})
    answers = free_answers(
        ("half", "m", "0.5"), ("half", "m", "1/2"), ("thousand", "m", "1000"), ("miles", "m", "36"),
        ("text", "m", "the nile"), ("text", "m", "The Amazon"),
    )  # fmt: skip
    harvest = harvest_distractors(pool, answers)
    assert harvest.dropped == {"equals_gold": 5}
    assert texts(harvest, "text") == ["The Amazon"]


def test_a_gold_with_a_long_unit_equals_its_bare_number():
    pool = open_pool({"q": "35 chocolate and strawberry and lemon cakes"})
    harvest = harvest_distractors(pool, free_answers(("q", "m", "35"), ("q", "m", "36")))
    assert texts(harvest) == ["36"]


def test_equal_candidates_are_one_and_show_their_most_frequent_form():
    answers = free_answers(
        ("q", "a", "12 apples"), ("q", "b", "12"), ("q", "c", "12"), ("q", "d", "twelve"), ("q", "e", "12.0")
    )
    harvest = harvest_distractors(open_pool({"q": "9 apples"}), answers)
    assert texts(harvest) == ["12"]
    assert harvest.table["n_answers"].to_pylist() == [5]
    tied = free_answers(("q", "a", "12 apples"), ("q", "b", "12.0"), ("q", "c", "12.00"))
    assert texts(harvest_distractors(open_pool({"q": "9"}), tied)) == ["12.0"]


def test_what_is_no_candidate_is_counted_by_reason():
    pool = pa.concat_tables([open_pool({"q": "5"}), choice_pool([(["a", "b"], "A")])])
    answers = free_answers(
        ("q", "m", None), ("q", "m", " . "), ("q", "m", "1" * 121), ("q", "m", "six"), ("q", "m", "no idea"),
        ("q", "m", "1\n2"), ("else", "m", "4"), ("toy-0000", "m", "4"), ("q", "m", "6"),
    )  # fmt: skip
    answers.append({"item_id": "q", "model": "m", "request_id": "x", "status": "refusal", "answer": None})
    answers.append({"item_id": "q", "model": "m", "request_id": "y", "status": "error", "answer": "4"})
    harvest = harvest_distractors(pool, answers)
    assert texts(harvest) == ["6"]
    assert harvest.dropped == {
        "empty": 2,
        "native_item": 1,
        "not_numeric": 1,
        "several_lines": 1,
        "status:error": 1,
        "status:refusal": 1,
        "too_long": 1,
        "unknown_item": 1,
    }
    assert sum(harvest.dropped.values()) + harvest.merged + harvest.table.num_rows == len(answers)


def test_beside_a_text_any_short_answer_may_stand():
    harvest = harvest_distractors(
        open_pool({"q": "Paris"}), free_answers(("q", "m", "Rome"), ("q", "n", "42"))
    )
    assert sorted(texts(harvest)) == ["42", "Rome"]


def test_no_answers_give_an_empty_table():
    harvest = harvest_distractors(open_pool({"q": "5"}), [])
    assert harvest.table.num_rows == 0
    assert harvest.dropped == {}


def test_a_table_of_answers_reads_like_records():
    answers = free_answers(("q", "m", "7"), ("q", "n", "8"))
    table = pa.Table.from_pylist(answers).append_column("text", pa.array(["So 7.", "So 8."]))
    assert harvest_distractors(open_pool({"q": "5"}), table) == harvest_distractors(
        open_pool({"q": "5"}), answers
    )


def test_a_missing_column_is_named():
    with pytest.raises(UserError, match="no column model, answer; found item_id, request_id, status"):
        harvest_distractors(open_pool({"q": "5"}), [{"item_id": "q", "request_id": "r", "status": "ok"}])


answer_lists = st.lists(
    st.tuples(
        st.just("q"),
        st.sampled_from(["m1", "m2", "m3"]),
        st.sampled_from(["5", "5.0", "6", "six", "7/2", "3.5", "1,000", "1000", "x", ""])
        | st.text(max_size=5),
    ),
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(answers=answer_lists, gold=st.sampled_from(["5", "five", "x", "1/2"]), seed=st.integers(0, 5))
def test_candidates_differ_from_gold_and_each_other_and_nothing_is_lost(answers, gold, seed):
    records = free_answers(*answers)
    harvest = harvest_distractors(open_pool({"q": gold}), records)
    canonical = harvest.table["canonical"].to_pylist()
    assert len(set(canonical)) == len(canonical)
    assert canonical_value(gold) not in canonical
    assert all(canonical_value(text) == value for text, value in zip(texts(harvest), canonical, strict=True))
    assert sum(harvest.dropped.values()) + harvest.merged + len(canonical) == len(answers)
    random.Random(seed).shuffle(records)
    assert harvest_distractors(open_pool({"q": gold}), records) == harvest
