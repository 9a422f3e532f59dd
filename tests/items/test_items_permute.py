"""Another order of the options: the item stays what it is, and keys stay balanced."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from items_helpers import choice_pool, no_distractors

from magister.contracts.schemas import ITEMS
from magister.items import build_items, key_balance, permute_options

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOVED = {"options", "origins", "key", "gold"}


def built(choices, seed=0):
    """Items as they are built of (options, key)."""
    return build_items(choice_pool(choices), no_distractors(), options=4, seed=seed)[0]


def right(row):
    """The options that a key names."""
    return [row["options"][LETTERS.index(letter)] for letter in row["key"]]


def places(items):
    """How often each place has a key, by number of options."""
    counts: dict[int, Counter] = {}
    for row in items.to_pylist():
        counts.setdefault(len(row["options"]), Counter()).update(row["key"])
    return {size: [count[letter] for letter in LETTERS[:size]] for size, count in counts.items()}


@st.composite
def choice(draw):
    """Options that are all different, and which of them are right."""
    size = draw(st.integers(2, 6))
    keys = draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=size))
    return size, "".join(LETTERS[place] for place in sorted(keys))


def named(drawn):
    """Choices of several items, with texts of their own."""
    return [([f"{n} {place}" for place in range(size)], key) for n, (size, key) in enumerate(drawn)]


@settings(max_examples=60, deadline=None)
@given(drawn=st.lists(choice(), min_size=1, max_size=40), seed=st.integers(1, 50), of=st.integers(0, 3))
def test_an_item_stays_what_it_is(drawn, seed, of):
    items = built(named(drawn), of)
    permuted = permute_options(items, seed)
    assert permuted.schema.equals(ITEMS.schema)
    for before, after in zip(items.to_pylist(), permuted.to_pylist(), strict=True):
        assert {name: value for name, value in before.items() if name not in MOVED} == {
            name: value for name, value in after.items() if name not in MOVED
        }
        assert Counter(zip(before["options"], before["origins"], strict=True)) == Counter(
            zip(after["options"], after["origins"], strict=True)
        )
        assert sorted(right(before)) == sorted(right(after))
        assert after["gold"] == "; ".join(right(after))
        assert list(after["key"]) == sorted(after["key"])


@settings(max_examples=60, deadline=None)
@given(
    drawn=st.lists(st.tuples(st.integers(2, 6), st.integers(0, 5)), min_size=1, max_size=60),
    seed=st.integers(1, 50),
)
def test_keys_stay_balanced_over_the_places(drawn, seed):
    items = built(named([(size, LETTERS[place % size]) for size, place in drawn]))
    permuted = permute_options(items, seed)
    for counts in places(permuted).values():
        assert max(counts) - min(counts) <= 1
    assert all(p > 0.3 for p in key_balance(permuted).values())


@settings(max_examples=60, deadline=None)
@given(drawn=st.lists(choice(), min_size=1, max_size=40), seed=st.integers(1, 50), of=st.integers(0, 3))
def test_every_item_with_more_than_two_options_gets_an_order_that_it_had_not(drawn, seed, of):
    items = built(named(drawn), of)
    for before, after in zip(items.to_pylist(), permute_options(items, seed).to_pylist(), strict=True):
        if len(before["options"]) > 2:
            assert before["options"] != after["options"]


@pytest.mark.parametrize("n", [10, 31])
@pytest.mark.parametrize("seed", [1, 2])
def test_of_two_options_too_almost_all_change_places(n, seed):
    items = built([([f"{i}a", f"{i}b"], "AB"[i % 2]) for i in range(n)])
    permuted = permute_options(items, seed)
    stayed = [
        b == a for b, a in zip(items["options"].to_pylist(), permuted["options"].to_pylist(), strict=True)
    ]
    assert sum(stayed) <= 1
    (counts,) = places(permuted).values()
    assert max(counts) - min(counts) <= 1


@given(order=st.permutations(list(range(12))), seed=st.integers(1, 5))
@settings(max_examples=20, deadline=None)
def test_the_order_depends_on_seed_and_item_and_not_on_the_rows_order(order, seed):
    items = built([([f"{i}{letter}" for letter in "abcd"], "A") for i in range(12)])
    taken = items.take(pa.array(order))
    assert permute_options(taken, seed) == permute_options(items, seed).take(pa.array(order))


def test_seeds_give_different_orders_and_none_is_that_of_the_build():
    choices = [([f"{i}{letter}" for letter in "abcde"], "A") for i in range(40)]
    for of in (0, 1, 2):
        items = built(choices, of)
        orders = [items, *(permute_options(items, seed) for seed in (1, 2, 3))]
        for n, one in enumerate(orders):
            for other in orders[:n]:
                same = [
                    a == b
                    for a, b in zip(one["options"].to_pylist(), other["options"].to_pylist(), strict=True)
                ]
                assert sum(same) < 5


def test_seed_0_changes_nothing():
    items = built([(["a", "b", "c"], "AC")])
    assert permute_options(items, 0) is items


def test_options_that_refer_to_one_another_stay():
    named_by_letter = ["iron", "zinc", "Both A and B", "Neither A nor B"]
    above = ["ice", "steam", "mist", "All of the above"]
    items = built([(named_by_letter, "C"), (above, "D")])
    options = permute_options(items, 1)["options"].to_pylist()
    assert named_by_letter in options
    (moved,) = [row for row in options if row != named_by_letter]
    assert moved[-1] == above[-1]
    assert sorted(moved) == sorted(above)
    assert moved not in items["options"].to_pylist()
