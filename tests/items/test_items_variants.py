"""Variants: the same items with other distractors and in another order."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from items_helpers import choice_pool, free_answers, no_distractors, open_pool

from magister.answers import canonical_value
from magister.config.items import Variant
from magister.contracts.schemas import ITEMS, VARIANT_REPORT
from magister.errors import UserError
from magister.items import (
    Reply,
    apply_rewrites,
    build_items,
    harvest_distractors,
    key_balance,
    permute_options,
    vary_items,
)

LETTERS = "ABCDEFGHIJ"
AS_BUILT = Variant.model_construct(order=0, distractors=0)


class Made:
    """Items of one pool, and what they were built from."""

    def __init__(self, pool: pa.Table, *answers: tuple[str, str], pad: str = "none") -> None:
        rows = free_answers(*((item_id, f"m{n}", text) for n, (item_id, text) in enumerate(answers)))
        self.pool = pool
        self.distractors = harvest_distractors(pool, rows).table
        self.items, _ = build_items(pool, self.distractors, options=4, pad=pad)

    def vary(self, **variant):
        return vary_items(self.items, self.pool, self.distractors, Variant(**variant), "v")


def texts(table):
    return {row["item_id"]: row["options"] for row in table.to_pylist()}


def status(varied):
    return varied.report["options_status"].to_pylist()


CITIES = ["Rome", "Berlin", "Madrid", "Oslo", "Bern", "Athens"]


def capital(*cities, pad="none"):
    return Made(open_pool({"q": "Paris"}), *(("q", city) for city in cities or CITIES), pad=pad)


def test_another_draw_takes_candidates_beyond_those_in_use():
    made = capital()
    before = set(texts(made.items)["q"]) - {"Paris"}
    varied = made.vary(distractors=1)
    assert set(texts(varied.items)["q"]) == (set(CITIES) - before) | {"Paris"}
    assert status(varied) == ["redrawn"]
    row, built = varied.items.to_pylist()[0], made.items.to_pylist()[0]
    assert (row["key"], row["gold"], row["question"]) == (built["key"], built["gold"], built["question"])
    assert row["origins"]["ABCD".index(row["key"])] == "gold"
    assert varied.items.schema.equals(ITEMS.schema)
    assert varied.report.schema.equals(VARIANT_REPORT.schema)


def test_seeds_draw_differently():
    made = capital(*CITIES, "Cairo", "Lima", "Quito", "Dakar")
    assert len({tuple(sorted(texts(made.vary(distractors=k).items)["q"])) for k in range(1, 12)}) > 4


def test_where_too_few_others_are_left_some_stay_at_their_place_and_it_says_so():
    made = capital(*CITIES[:4])
    varied = made.vary(distractors=1)
    assert status(varied) == ["partly_redrawn"]
    before, after = texts(made.items)["q"], texts(varied.items)["q"]
    assert sum(one == two for one, two in zip(before, after, strict=True)) == 3


@pytest.mark.parametrize("cities", [CITIES[:3], [*CITIES[:3], "rome", "ROME."]])
def test_an_item_without_another_candidate_keeps_its_options_and_says_so(cities):
    made = capital(*cities)
    varied = made.vary(distractors=1)
    assert varied.items == made.items
    assert status(varied) == ["no_other_candidate"]


def test_padded_numbers_get_other_near_values_and_harvested_ones_stay():
    made = Made(open_pool({"q": "144"}), ("q", "150"), pad="numeric_neighbours")
    varied = made.vary(distractors=1)
    row, built = varied.items.to_pylist()[0], made.items.to_pylist()[0]
    assert Counter(row["origins"]) == Counter(built["origins"]) == {"gold": 1, "harvested": 1, "padded": 2}
    assert set(row["options"]) & set(built["options"]) == {"144", "150"}
    assert status(varied) == ["partly_redrawn"]


def test_options_of_the_source_stay_and_may_change_places():
    made = Made(choice_pool([(["a1", "a2", "a3", "a4"], "B")]))
    varied = made.vary(distractors=1)
    assert varied.items == made.items
    assert status(varied) == ["native"]
    moved = [made.vary(order=seed).items.to_pylist()[0] for seed in range(1, 9)]
    assert len({tuple(row["options"]) for row in moved}) > 3
    assert all(row["options"]["ABCD".index(row["key"])] == row["gold"] == "a2" for row in moved)


def test_what_refers_to_a_place_does_not_move():
    made = Made(choice_pool([(["iron", "zinc", "Both A and B", "neither"], "C")]))
    varied = made.vary(order=3)
    assert varied.items == made.items
    assert varied.report["order_changed"].to_pylist() == [False]
    last = Made(choice_pool([([f"{n}a", f"{n}b", "All of the above"], "C") for n in range(9)]))
    assert all(options[2] == "All of the above" for options in texts(last.vary(order=3).items).values())


def test_several_right_options_stay_right():
    made = Made(choice_pool([([f"{n}{letter}" for letter in "abcd"], "AC") for n in range(20)]))
    rights = dict(zip(made.pool["item_id"].to_pylist(), made.pool["gold"].to_pylist(), strict=True))
    for row in made.vary(order=1).items.to_pylist():
        right = [row["options"][LETTERS.index(letter)] for letter in row["key"]]
        assert set(right) == set(rights[row["item_id"]].split("; "))
        assert row["gold"] == "; ".join(right)
        assert row["key"] == "".join(sorted(row["key"]))


def test_another_order_is_not_the_built_one_also_where_both_seeds_are_equal():
    pool = choice_pool([([f"{n}{letter}" for letter in "abcd"], "A") for n in range(40)])
    items, _ = build_items(pool, no_distractors(), options=4, seed=7)
    moved = permute_options(items, 7)
    assert sum(one != two for one, two in zip(items["options"], moved["options"], strict=True)) > 20
    assert Counter(moved["key"].to_pylist()) == dict.fromkeys("ABCD", 10)


def test_options_that_a_rewriter_worded_are_written_by_the_rules_again_where_they_change():
    made = capital()
    said = [f"the city of {text}" if text != "Paris" else "paris" for text in texts(made.items)["q"]]
    made.items = apply_rewrites(made.items, {"q": Reply(json.dumps({"options": said}))})
    assert made.items["rewrite_status"].to_pylist() == ["rewritten"]
    row = made.vary(distractors=1).items.to_pylist()[0]
    assert (row["rewrite_status"], row["review"], row["gold"]) == ("rules", None, "Paris")
    assert not any(text.startswith("the city") for text in row["options"])
    few = capital(*CITIES[:3])
    few.items = apply_rewrites(few.items, {"q": Reply(json.dumps({"options": texts(few.items)["q"]}))})
    assert few.vary(distractors=1).items == few.items


def test_an_item_of_another_run_is_named():
    made = capital()
    with pytest.raises(UserError, match="item 'q' is in no pool"):
        vary_items(made.items, made.pool.slice(1), made.distractors, Variant(distractors=1), "v")


def turned(table):
    """The rows from the last to the first."""
    return table.take(pa.array(range(table.num_rows)[::-1], pa.int64()))


golds = st.one_of(
    st.integers(-500, 5000).map(str),
    st.decimals(0, 100, places=2).map(str),
    st.sampled_from(["9 apples", "$18", "50%", "1/2", "Paris", "the Nile", "3:30", "ion"]),
)
pools = st.lists(st.tuples(golds, st.lists(golds, max_size=9)), min_size=1, max_size=5)
seeds = st.integers(0, 6)


@settings(max_examples=120, deadline=None)
@given(drawn=pools, native=st.integers(0, 6), order=seeds, distractors=seeds, padded=st.booleans())
def test_every_variant_holds_the_same_items(drawn, native, order, distractors, padded):
    pool = open_pool({f"q{n}": gold for n, (gold, _) in enumerate(drawn)})
    own = choice_pool([([f"ox {n}", f"elk {n}", f"ape {n}"], "ABC"[n % 3]) for n in range(native)], "own")
    answers = [(f"q{n}", text) for n, (_, others) in enumerate(drawn) for text in others]
    made = Made(pa.concat_tables([pool, own]), *answers, pad="numeric_neighbours" if padded else "none")
    variant = AS_BUILT.model_copy(update={"order": order, "distractors": distractors})
    varied = vary_items(made.items, made.pool, made.distractors, variant, "v")
    again = vary_items(turned(made.items), turned(made.pool), turned(made.distractors), variant, "v")
    assert (varied.items, varied.report) == (again.items, again.report)
    if not order and not distractors:
        assert varied.items == made.items
    candidates = {(row["item_id"], row["canonical"]) for row in made.distractors.to_pylist()}
    for row, built, note in zip(
        varied.items.to_pylist(), made.items.to_pylist(), varied.report.to_pylist(), strict=True
    ):
        for name in ("item_id", "cluster_id", "question", "passage", "multi"):
            assert row[name] == built[name]
        values = [canonical_value(text) for text in row["options"]]
        assert len(set(values)) == len(built["options"])
        right = [place for place, value in enumerate(values) if value == canonical_value(built["gold"])]
        assert [LETTERS[place] for place in right] == [row["key"]]
        assert row["options"][right[0]] == row["gold"]
        assert (set(row["options"]) == set(built["options"])) == (
            note["options_status"] in ("as_built", "native", "no_other_candidate")
        )
        assert (note["options_status"] == "as_built") == (not distractors)
        for value, text, origin in zip(values, row["options"], row["origins"], strict=True):
            if origin == "harvested" and text not in built["options"]:
                assert (row["item_id"], value) in candidates
    assert min(key_balance(varied.items).values(), default=1) > 0.05
