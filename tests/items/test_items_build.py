"""Options: their form, their order and their number."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from items_helpers import choice_pool, free_answers, no_distractors, open_pool

from magister.answers import canonical_value
from magister.contracts.schemas import ITEMS, REJECTED
from magister.items import build_items, format_options, harvest_distractors, key_balance, numeric_neighbours

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def built(pool, answers=(), **settings):
    harvest = harvest_distractors(pool, free_answers(*answers))
    return build_items(pool, harvest.table, **({"options": 4} | settings))


@pytest.mark.parametrize(
    ("gold", "others", "written"),
    [
        ("9", ["12.0", "$7", "3 apples"], ["9", "12", "7", "3"]),
        ("9 apples", ["12", "7 pears"], ["9", "12", "7"]),
        ("7 times", ["8 times", "9"], ["7", "8", "9"]),
        ("$18", ["20 dollars", "9"], ["18", "20", "9"]),
        ("9.50", ["12", "3.1", "7.125"], ["9.50", "12.00", "3.10", "7.125"]),
        ("70,000", ["1200", "9"], ["70,000", "1,200", "9"]),
        ("70000", ["1,200"], ["70000", "1200"]),
        ("50%", ["20", "5%"], ["50%", "20%", "5%"]),
        ("-3", ["-4", "−5"], ["-3", "-4", "-5"]),
        ("9", ["twelve", "1/2"], ["9", "12", "0.5"]),
        ("1/2", ["3/4", "2"], ["1/2", "3/4", "2"]),
        ("3:30 p.m.", ["4:10 p.m."], ["3:30 p.m.", "4:10 p.m."]),
        ("Paris", ["rome.", '"Berlin"', " New  York,"], ["Paris", "Rome", "Berlin", "New York"]),
        ("a dog", ["cats."], ["a dog", "cats"]),
        ("Iron", ["mRNA", "pH", "x"], ["Iron", "mRNA", "pH", "x"]),
        ("U.S.", ["the U.K."], ["U.S.", "The U.K."]),
    ],
)
def test_options_are_written_alike(gold, others, written):
    assert format_options([gold, *others], gold) == written


def test_a_number_that_cannot_be_written_like_the_gold_leaves_all_as_they_are():
    assert format_options(["9 apples", "none"], "9 apples") == ["9 apples", "none"]


@settings(max_examples=200, deadline=None)
@example(["0,."])
@example(["'a',"])
@given(st.lists(st.text(max_size=20) | st.text("ab0.,;'\"* ", max_size=8), min_size=1, max_size=5))
def test_writing_alike_twice_changes_nothing_more(texts):
    once = format_options(texts, texts[0])
    assert len(once) == len(texts)
    assert format_options(once, once[0]) == once


@pytest.mark.parametrize("gold", ["7", "0", "-12", "144", "1,250", "9.50", "$0.05", "50%", "31 apples"])
def test_near_values_are_distinct_in_the_form_of_the_gold_and_never_the_gold(gold):
    stream = numeric_neighbours(gold, 0, "q")
    near = [next(stream) for _ in range(40)]
    canonical = [canonical_value(text) for text in near]
    assert len(set(canonical)) == 40
    assert canonical_value(gold) not in canonical
    assert format_options([gold, *near], gold)[1:] == near
    if not gold.startswith("-"):
        assert all(not text.startswith("-") for text in near)


def test_near_values_depend_on_seed_and_item():
    def first(seed, item_id):
        return list(islice(numeric_neighbours("144", seed, item_id), 3))

    assert first(0, "3") == first(0, "3")
    assert len({tuple(first(0, str(item))) for item in range(20)}) > 10
    assert len({tuple(first(seed, "3")) for seed in range(20)}) > 10


def test_the_gold_is_as_often_the_smallest_as_any_other():
    below = Counter(
        sum(int(text) < 144 for text in islice(numeric_neighbours("144", 0, str(item)), 3))
        for item in range(2000)
    )
    assert all(abs(below[count] - 500) < 100 for count in range(4))


def test_texts_have_no_near_values():
    assert list(numeric_neighbours("Paris", 0, "q")) == []


def test_open_items_get_the_best_ranked_distractors():
    answers = [
        ("q", "m1", "7"),
        ("q", "m2", "7"),
        ("q", "m1", "8"),
        ("q", "m2", "8 apples"),
        ("q", "m1", "6"),
    ]
    answers += [("q", "m3", "7"), ("q", "m3", "8"), ("q", "m2", "6"), ("q", "m1", "1")]
    items, rejected = built(open_pool({"q": "9 apples"}), answers)
    assert rejected.num_rows == 0
    item = items.to_pylist()[0]
    assert sorted(item["options"]) == ["6", "7", "8", "9"]
    assert item["options"][LETTERS.index(item["key"])] == item["gold"] == "9"
    assert item["origins"][LETTERS.index(item["key"])] == "gold"
    assert Counter(item["origins"]) == {"gold": 1, "harvested": 3}
    assert (item["rewrite_status"], item["multi"], item["review"]) == ("rules", False, None)
    assert items.schema.equals(ITEMS.schema)


def test_too_few_distractors_are_reported_and_never_padded_silently():
    items, rejected = built(open_pool({"q": "9"}), [("q", "m", "8")])
    assert items.num_rows == 0
    row = rejected.to_pylist()[0]
    assert (row["reason"], row["source_row"]) == ("too_few_distractors", 1)
    assert row["detail"] == "needs 3, has 1 harvested and 0 padded"
    assert rejected.schema.equals(REJECTED.schema)


def test_padding_fills_up_numbers_and_says_so():
    pool = open_pool({"n": "9 apples", "t": "Paris"})
    items, rejected = built(pool, [("n", "m", "8"), ("t", "m", "Rome")], pad="numeric_neighbours")
    assert rejected["reason"].to_pylist() == ["too_few_distractors"]
    item = items.to_pylist()[0]
    assert Counter(item["origins"]) == {"gold": 1, "harvested": 1, "padded": 2}
    assert len({canonical_value(option) for option in item["options"]}) == 4
    assert all(option.isdigit() for option in item["options"])


def test_a_gold_that_cannot_be_an_option_is_reported():
    _, rejected = built(open_pool({"long": "x" * 121, "lines": "a\nb"}))
    assert rejected["reason"].to_pylist() == ["gold_too_long", "gold_too_long"]


def test_distractors_that_merge_when_written_alike_give_way_to_the_next():
    pool = open_pool({"q": "50%"})
    answers = [("q", m, v) for m in ("a", "b") for v in ("20 percent", "30")] + [("q", "a", "40")]
    items, _ = built(pool, answers)
    assert sorted(items["options"][0].as_py()) == ["20%", "30%", "40%", "50%"]


def test_native_items_keep_their_options_in_another_order():
    options = ["one fish", "Two birds.", "three"]
    items, _ = build_items(choice_pool([(options, "B")] * 1), no_distractors(), options=4)
    item = items.to_pylist()[0]
    assert sorted(item["options"]) == sorted(options)
    assert item["gold"] == "Two birds."
    assert (item["rewrite_status"], item["origins"]) == ("native", ["native"] * 3)


def test_items_with_several_right_options_keep_the_exact_set():
    pool = choice_pool([([f"{i}{letter}" for letter in "abcd"], "AC") for i in range(40)])
    items, _ = build_items(pool, no_distractors(), options=4, seed=2)
    golds = dict(zip(pool["item_id"].to_pylist(), pool["gold"].to_pylist(), strict=True))
    counts = Counter()
    for item in items.to_pylist():
        assert item["multi"]
        assert item["key"] == "".join(sorted(item["key"]))
        right = {item["options"][LETTERS.index(letter)] for letter in item["key"]}
        assert right == set(golds[item["item_id"]].split("; "))
        assert item["gold"] == "; ".join(item["options"][LETTERS.index(letter)] for letter in item["key"])
        counts.update(item["key"])
    assert max(counts.values()) - min(counts.values()) <= 1


def test_options_that_name_others_by_letter_do_not_move():
    options = ["iron", "zinc", "Both A and B", "Neither A nor B"]
    items, _ = build_items(choice_pool([(options, "C")] * 1), no_distractors(), options=4)
    assert items["options"].to_pylist() == [options]


def test_all_of_the_above_stays_last_and_the_others_move():
    pool = choice_pool([([f"{i}a", f"{i}b", f"{i}c", "All of the above"], "ABCD"[i % 4]) for i in range(48)])
    items, _ = build_items(pool, no_distractors(), options=4)
    assert all(options[-1] == "All of the above" for options in items["options"].to_pylist())
    counts = Counter(items["key"].to_pylist())
    assert counts == dict.fromkeys("ABCD", 12)
    assert any(options[0].endswith("b") for options in items["options"].to_pylist())
    golds = dict(zip(pool["item_id"].to_pylist(), pool["gold"].to_pylist(), strict=True))
    assert all(item["gold"] == golds[item["item_id"]] for item in items.to_pylist())


@settings(max_examples=60, deadline=None)
@given(
    keys=st.lists(st.tuples(st.integers(2, 6), st.integers(0, 5)), min_size=1, max_size=60),
    seed=st.integers(0, 1000),
)
def test_keys_point_at_golds_and_their_places_are_balanced(keys, seed):
    pool = choice_pool(
        [
            ([f"{place} {k}" for k in range(size)], LETTERS[right % size])
            for place, (size, right) in enumerate(keys)
        ]
    )
    items, _ = build_items(pool, no_distractors(), options=4, seed=seed)
    golds = dict(zip(pool["item_id"].to_pylist(), pool["gold"].to_pylist(), strict=True))
    counts: dict[int, Counter] = {}
    for item in items.to_pylist():
        assert item["options"][LETTERS.index(item["key"])] == item["gold"] == golds[item["item_id"]]
        counts.setdefault(len(item["options"]), Counter())[item["key"]] += 1
    for size, counter in counts.items():
        places = [counter[letter] for letter in LETTERS[:size]]
        assert max(places) - min(places) <= 1
    assert all(p > 0.3 for p in key_balance(items).values())


def test_the_order_depends_on_the_seed_but_not_on_the_rows_order():
    pool = choice_pool([([f"{i}{letter}" for letter in "abcd"], "A") for i in range(30)])
    items, _ = build_items(pool, no_distractors(), options=4, seed=5)
    again, _ = build_items(pool.take(list(range(29, -1, -1))), no_distractors(), options=4, seed=5)
    other, _ = build_items(pool, no_distractors(), options=4, seed=6)
    assert items == again
    assert items != other


def test_key_balance_sees_a_lopsided_data_set():
    pool = choice_pool([(["a", "b", "All of the above"], "C")] * 1)
    fixed = choice_pool([([f"{i}", "b", "Both A and B"], "C") for i in range(30)], dataset="lopsided")
    items, _ = build_items(pa.concat_tables([pool, fixed]), no_distractors(), options=4)
    balance = key_balance(items)
    assert list(balance) == ["lopsided", "toy"]
    assert balance["lopsided"] < 1e-6 < balance["toy"]


def test_flags_follow_the_options_shown():
    pool = open_pool({"q": "5"})
    pool = pool.set_column(
        pool.schema.get_field_index("question"), "question", pa.array(["Is it 5, 6, 7 or 8?"])
    )
    items, _ = built(pool.cast(pool.schema), [("q", "m", "6"), ("q", "m", "7"), ("q", "m", "8")])
    assert items["options_in_question"].to_pylist() == [True]


gold_texts = st.one_of(
    st.integers(-2000, 2000).map(str),
    st.decimals(0, 100, places=2).map(str),
    st.sampled_from(["9 apples", "$18", "50%", "1/2", "Paris", "the Nile", "3:30"]),
)


@settings(max_examples=150, deadline=None)
@given(gold=gold_texts, given_answers=st.lists(gold_texts, max_size=8), padded=st.booleans())
def test_built_options_are_distinct_and_only_the_key_is_right(gold, given_answers, padded):
    pool = open_pool({"q": gold})
    items, rejected = built(
        pool,
        [("q", f"m{place}", text) for place, text in enumerate(given_answers)],
        pad="numeric_neighbours" if padded else "none",
    )
    assert items.num_rows + rejected.num_rows == 1
    for item in items.to_pylist():
        assert len({canonical_value(option) for option in item["options"]}) == 4
        right = [o for o in item["options"] if canonical_value(o) == canonical_value(gold)]
        assert right == [item["gold"]] == [item["options"][LETTERS.index(item["key"])]]
        assert item["origins"].count("gold") == 1
