"""The data gate."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from items_helpers import gate

from magister.contracts.schemas import POOL, REJECTED


def reasons(rejected):
    return {row["source_row"]: row["reason"] for row in rejected.to_pylist()}


def only(pool):
    assert pool.num_rows == 1
    return pool.to_pylist()[0]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"question": None, "answer": "4"}, "missing_question"),
        ({"question": "  ", "answer": "4"}, "missing_question"),
        ({"answer": "4"}, "missing_question"),
        ({"question": float("nan"), "answer": "4"}, "missing_question"),
        ({"question": "q", "answer": None}, "missing_answer"),
        ({"question": "q", "answer": []}, "missing_answer"),
        ({"question": "q", "options": ["a", "b"], "answer": " "}, "missing_answer"),
        ({"question": "q", "options": ["a", "b"], "answer": None}, "missing_answer"),
        ({"question": "q", "answer": ["yes", "no"]}, "several_golds"),
        ({"question": ["q"], "answer": "4"}, "malformed_row"),
        ({"question": "\ud800", "answer": "4"}, "malformed_row"),
        ({"question": "q", "options": ["a", "\ud800"], "answer": "A"}, "malformed_row"),
        ({"question": "q", "options": 7, "answer": "A"}, "malformed_row"),
        ({"question": "q", "options": "[" * 100_000, "answer": "A"}, "too_few_options"),
        ({"question": "q", "options": ["a", "b"], "answer": "[" * 100_000}, "key_outside_options"),
        ({"question": "q", "options": ["a", ["b"]], "answer": "A"}, "malformed_row"),
        ({"question": "q", "options": ["a", "b"], "answer": {"x": 1}}, "malformed_row"),
        ({"question": "q", "options": ["a"], "answer": "A"}, "too_few_options"),
        ({"question": "q", "options": [str(i) for i in range(27)], "answer": "A"}, "too_many_options"),
        ({"question": "q", "options": ["a", "", "c"], "answer": "A"}, "empty_option"),
        ({"question": "q", "options": ["Paris", "Rome", "paris "], "answer": "B"}, "duplicate_options"),
        ({"question": "q", "options": ["ten.", "two", "ten"], "answer": "B"}, "duplicate_options"),
        ({"question": "q", "options": ["NULL", "two", "null"], "answer": "B"}, "duplicate_options"),
        ({"question": "q", "options": ["a", "b"], "answer": "C"}, "key_outside_options"),
        ({"question": "q", "options": ["a", "b"], "answer": "some text"}, "key_outside_options"),
        ({"question": "q", "options": ["x", "y"], "answer": "A. y"}, "key_outside_options"),
        ({"question": "q", "options": ["x", "y"], "answer": -1}, "key_outside_options"),
        ({"question": "q", "options": ["C", "A", "B"], "answer": "A"}, "ambiguous_key"),
        ({"question": "long " * 30, "answer": "4"}, "too_long"),
    ],
)
def test_a_bad_row_is_rejected_with_its_reason(row, reason):
    columns = {"options": "options"} if "options" in row else {}
    pool, rejected = gate([row], columns=columns, max_question_chars=100)
    assert pool.num_rows == 0
    assert reasons(rejected) == {1: reason}
    assert pool.schema.equals(POOL.schema)
    assert rejected.schema.equals(REJECTED.schema)


@pytest.mark.parametrize("pair", [("Bb", "BB"), ("mW", "MW"), ("yes", "Yes"), ("nan", "NaN")])
def test_short_options_that_differ_by_case_alone_are_two_options(pair):
    row = {"question": "q", "options": [*pair, "other"], "answer": "C"}
    pool, rejected = gate([row], columns={"options": "options"})
    assert only(pool)["options"] == [*pair, "other"]
    assert rejected.num_rows == 0


def test_the_passage_counts_towards_the_length():
    rows = [{"question": "q?", "passage": "p" * 100, "answer": "a"}]
    _, rejected = gate(rows, max_question_chars=101)
    assert "102 characters with its passage; at most 101" in rejected["detail"][0].as_py()


@pytest.mark.parametrize(
    ("options", "answer", "key"),
    [
        (["red", "green", "blue"], "B", "B"),
        (["red", "green", "blue"], " b ", "B"),
        (["red", "green", "blue"], "(B)", "B"),
        (["red", "green", "blue"], "B.", "B"),
        (["red", "green", "blue"], "B. green", "B"),
        (["red", "green", "blue"], "B) Green.", "B"),
        (["red", "green", "blue"], "Ｂ", "B"),
        (["red", "green", "blue"], "GREEN", "B"),
        (["red", "green", "blue"], 1, "B"),
        (["red", "green", "blue"], 1.0, "B"),
        (["red", "green", "blue"], "1", "B"),
        (["red", "green", "blue"], "AC", "AC"),
        (["red", "green", "blue"], "C, A", "AC"),
        (["red", "green", "blue"], "A and C", "AC"),
        (["red", "green", "blue"], ["C", "A"], "AC"),
        (["red", "green", "blue"], ["red", "blue"], "AC"),
        (["red", "green", "blue"], '["C", "A"]', "AC"),
        (["A. red", "B. green", "C. blue"], "B", "B"),
        ("A. red\nB. green\nC. blue", "B. green", "B"),
        ("\nA. red\nB. green\nC. blue", "C", "C"),
        ("(A) red\n(B) green", "B", "B"),
        ("A) red\nB) green", "B", "B"),
        ("A、红\nB、绿", "B", "B"),
        ("red\ngreen\nblue", "green", "B"),
        ('["red", "green"]', "green", "B"),
        ({"A": "red", "B": "green"}, "B", "B"),
        ({"A": "red", "B": "green", "C": None}, "B", "B"),
        ({"text": ["red", "green", "blue", "black"], "label": ["1", "2", "3", "4"]}, "2", "B"),
        ({"text": ["red", "green"], "label": 7}, "B", "B"),
        ([{"label": "x", "text": "red"}, {"label": "y", "text": "green"}], "y", "B"),
        (["3", "4", "5", "6"], "4", "B"),
        (["A.D. 70", "B.C. 44"], "B.C. 44", "B"),
    ],
)
def test_options_and_keys_are_read_in_the_forms_that_sources_use(options, answer, key):
    pool, rejected = gate([{"question": "q", "options": options, "answer": answer}])
    assert rejected.to_pylist() == []
    row = only(pool)
    assert row["key"] == key
    if isinstance(options, list) and options[0] == "A. red":
        assert row["options"] == ["red", "green", "blue"]


def test_an_option_of_several_lines_keeps_them():
    pool, _ = gate([{"question": "q", "options": 'A. one\n  more\nB. two\n"', "answer": "A"}])
    assert only(pool)["options"] == ["one\n  more", "two"]


def test_empty_option_columns_keep_the_letters_of_the_others():
    rows = [{"question": "q", "w": "red", "x": None, "y": "green", "z": "", "answer": "C"}]
    pool, _ = gate(rows, columns={"options": ["w", "x", "y", "z"]})
    row = only(pool)
    assert (row["options"], row["key"], row["gold"]) == (["red", "green"], "B", "green")


def test_one_index_equal_to_the_number_of_options_shows_that_counting_starts_at_one():
    rows = [{"question": f"q{i}", "options": ["r", "g", "b"], "answer": 1 + i % 3} for i in range(6)]
    pool, _ = gate(rows)
    assert {row["question"]: row["key"] for row in pool.to_pylist()} == dict(
        zip(("q0", "q1", "q2", "q3", "q4", "q5"), "ABCABC", strict=True)
    )
    from_zero, _ = gate([{**row, "answer": row["answer"] - 1} for row in rows])
    assert from_zero["key"].to_pylist() == pool["key"].to_pylist()


def test_a_letter_among_letters_is_a_letter_even_where_an_option_reads_like_one():
    rows = [{"question": f"q{i}", "options": ["x", "y", "z"], "answer": "ABC"[i % 3]} for i in range(9)]
    rows.append({"question": "Which vitamin?", "options": ["B", "C", "D"], "answer": "C"})
    pool, rejected = gate(rows)
    assert rejected.num_rows == 0
    assert {row["question"]: row["gold"] for row in pool.to_pylist()}["Which vitamin?"] == "D"


def test_short_options_may_differ_by_case_and_signs_alone():
    pool, _ = gate([{"question": "q", "options": ["BB", "Bb", "10²", "102", "5 mW", "5 MW"], "answer": "A"}])
    assert len(only(pool)["options"]) == 6


def test_repeated_questions_are_kept_once():
    rows = [
        {"question": "Which colour?", "options": ["red", "blue"], "answer": "A"},
        {"question": "which  colour?", "options": ["Blue", "red"], "answer": "B"},
        {"question": "Which colour?", "options": ["red", "green"], "answer": "A"},
        {"question": "Which colour?", "passage": "In the sky.", "options": ["red", "blue"], "answer": "B"},
    ]
    pool, rejected = gate(rows)
    assert pool.num_rows == 3
    assert list(reasons(rejected).values()) == ["repeated_question"]


def test_contradicting_answers_to_a_question_leave_none():
    rows = [
        {"question": "q?", "answer": "4"},
        {"question": "Q?", "answer": "5"},
        {"question": "r?", "answer": "1"},
    ]
    pool, rejected = gate(rows)
    assert pool["question"].to_pylist() == ["r?"]
    assert reasons(rejected) == {1: "conflicting_answers", 2: "conflicting_answers"}


def test_an_id_names_one_question():
    rows = [{"id": "x", "question": "q?", "answer": "4"}, {"id": "x", "question": "r?", "answer": "4"}]
    pool, rejected = gate([*rows, {"id": "y", "question": "s?", "answer": "4"}])
    assert pool["question"].to_pylist() == ["s?"]
    assert reasons(rejected) == {1: "duplicate_id", 2: "duplicate_id"}
    assert "id 'x' names rows 1, 2" in rejected["detail"][0].as_py()


def test_a_data_set_with_one_key_has_hidden_labels():
    rows = [{"question": f"q{i}", "options": ["yes", "no"], "answer": "A"} for i in range(8)]
    pool, rejected = gate(rows)
    assert pool.num_rows == 0
    assert set(rejected["reason"].to_pylist()) == {"one_key_dataset"}
    assert gate(rows[:7])[0].num_rows == 7
    assert gate([*rows, {"question": "z", "options": ["yes", "no"], "answer": "B"}])[0].num_rows == 9


def test_an_answer_column_among_the_option_columns_always_comes_first_and_hides_nothing():
    rows = [{"question": f"q{i}", "right": f"r{i}", "wrong": f"w{i}"} for i in range(10)]
    pool, _ = gate(rows, columns={"options": ["right", "wrong"], "answer": "right"})
    assert set(pool["key"].to_pylist()) == {"A"}
    assert pool.num_rows == 10


def test_item_ids_come_from_the_content_or_the_given_id():
    one, _ = gate([{"question": "q?", "answer": "4"}])
    more, _ = gate([{"question": "a?", "answer": "1"}, {"question": "q?", "answer": "4"}])
    assert one["item_id"][0].as_py() in more["item_id"].to_pylist()
    assert len(one["item_id"][0].as_py()) == len("toy-") + 12
    other, _ = gate([{"question": "q?", "answer": "5"}])
    assert other["item_id"][0] != one["item_id"][0]
    given, _ = gate([{"question": "q?", "answer": "4", "id": "7"}])
    changed, _ = gate([{"question": "q??", "answer": "4", "id": "7"}])
    assert given["item_id"] == changed["item_id"]


def test_a_larger_draw_contains_the_smaller_and_the_seed_changes_it():
    rows = [{"question": f"question {i}?", "answer": str(i)} for i in range(60)]
    small, large = (set(gate(rows, n=n)[0]["item_id"].to_pylist()) for n in (10, 30))
    assert len(small) == 10
    assert small < large
    assert set(gate(rows, n=10, seed=1)[0]["item_id"].to_pylist()) != small
    assert set(gate(rows[::-1], n=10)[0]["item_id"].to_pylist()) == small
    assert small != set(gate(rows[:10])[0]["item_id"].to_pylist())


def test_rows_cluster_by_the_given_column_else_by_passage_else_alone():
    rows = [
        {"question": "a?", "passage": "P", "answer": "1", "cluster": "t1"},
        {"question": "b?", "passage": "P", "answer": "2"},
        {"question": "c?", "passage": "P ", "answer": "3"},
        {"question": "d?", "passage": None, "answer": "4"},
    ]
    clusters = {row["question"]: row["cluster_id"] for row in gate(rows)[0].to_pylist()}
    assert clusters["b?"] == clusters["c?"] != clusters["a?"]
    assert clusters["d?"].startswith("toy-")
    assert len(set(clusters.values())) == 3


@pytest.mark.parametrize(
    ("question", "needs"),
    [
        ("Which of the following is a mammal?", True),
        ("Which one of these is a mammal?", True),
        ("Select the correct option.", True),
        ("The following are metals, except", True),
        ("下列哪个是哺乳动物？", True),
        ("以下哪项是正确的？", True),
        ("Which animal barks?", False),
        ("Mark picks one of those pens and each of these cups. How many?", False),
        ("Which of Tom's three sons is the oldest?", False),
        ("What is the sum of 2 and 3?", False),
        ("小明有三个苹果，又买了两个，一共几个？", False),
    ],
)
def test_questions_that_need_their_options_are_flagged(question, needs):
    row = only(gate([{"question": question, "options": ["a cat", "a stone"], "answer": "A"}])[0])
    assert ("needs_options" in row["flags"]) is needs


def test_options_that_refer_to_one_another_are_flagged():
    row = only(
        gate([{"question": "Metals?", "options": ["iron", "zinc", "All of the above"], "answer": "C"}])[0]
    )
    assert row["flags"] == ["needs_options"]


def test_options_in_the_question_are_flagged_as_whole_words():
    rows = [
        {"question": "Is a whale a fish or a mammal?", "options": ["Fish.", "mammal"], "answer": "B"},
        {"question": "Is 12 more than 15?", "options": ["1", "5"], "answer": "A"},
    ]
    flags = {row["question"]: row["flags"] for row in gate(rows)[0].to_pylist()}
    assert flags == {rows[0]["question"]: ["options_in_question"], rows[1]["question"]: []}


def test_texts_are_kept_but_for_outer_space_and_composition():
    row = only(gate([{"question": "  Cafe\u0301  “two”\n\nlines ", "answer": " ½ ", "passage": " p\tq "}])[0])
    assert (row["question"], row["gold"], row["passage"]) == ("Café  “two”\n\nlines", "½", "p\tq")


def test_raw_rows_are_kept_as_json_and_cut_with_a_mark():
    _, rejected = gate([{"question": None, "note": "é" * 3000}, {"question": None, "note": "kurz"}])
    long, short = rejected["raw"].to_pylist()
    assert len(long) == 2000
    assert long.endswith("characters]")
    assert json.loads(short) == {"question": None, "note": "kurz"}


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 30), st.floats(), st.text(max_size=6),
    st.sampled_from(["A", "B", "AB", "A. x", "x", "y", "z", "1", "####", "#### 3"]),
)  # fmt: skip
cells = st.one_of(
    scalars, st.lists(scalars, max_size=4), st.dictionaries(st.text(max_size=2), scalars, max_size=3)
)
wild_rows = st.lists(
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("question", "answer", "options", "passage", "id", "cluster"), cells)
    ),
    min_size=1,
    max_size=12,
)
tame_rows = st.lists(
    st.fixed_dictionaries(
        {
            "question": st.sampled_from(["one?", "two?", "three?", "Three?"]),
            "answer": st.sampled_from(["A", "B", "C", "x", "0", "1", "2", "AB"]),
            "options": st.sampled_from([["x", "y", "z"], ["z", "y", "x"], ["x", "y"], ["1", "2", "3"]]),
        },
        optional={"id": st.sampled_from(["i", "j", "k"])},
    ),
    min_size=1,
    max_size=16,
)


@settings(max_examples=200, deadline=None)
@given(rows=st.one_of(wild_rows, tame_rows), kind=st.sampled_from(["auto", "gsm8k"]))
def test_every_row_is_accepted_or_rejected(rows, kind):
    pool, rejected = gate(rows, format=kind)
    assert pool.num_rows + rejected.num_rows == len(rows)
    assert sorted(pool["source_row"].to_pylist() + rejected["source_row"].to_pylist()) == list(
        range(1, len(rows) + 1)
    )
    assert len(set(pool["item_id"].to_pylist())) == pool.num_rows
    for row in pool.to_pylist():
        if row["options"] is not None:
            assert row["gold"] == "; ".join(
                row["options"]["ABCDEFGHIJKLMNOPQRSTUVWXYZ".index(k)] for k in row["key"]
            )


@settings(max_examples=200, deadline=None)
@given(rows=tame_rows, seed=st.integers(0, 9))
def test_the_order_of_rows_does_not_change_the_items(rows, seed):
    shuffled = list(rows)
    random.Random(seed).shuffle(shuffled)

    def items(rows):
        return gate(rows)[0].drop_columns("source_row").to_pylist()

    first, second = items(rows), items(shuffled)
    assert first == second
