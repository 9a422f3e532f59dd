"""Both arms of a selection as a table: budgets, probabilities, and pairs that know of no other."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from selection_cases import TIGHT, ids_of, normal, vectors

from magister.arena.comparisons import (
    Choice,
    Chosen,
    choose_comparisons,
    join_selections,
    pairs_to_plan,
)
from magister.arena.effort import Effort
from magister.arena.random_arm import draw_random, hash_ids, pair_key, split_budget
from magister.arena.selection import select
from magister.arena.similarity import Pair, Similarities, all_pairs, cosine_similarities
from magister.arena.vectors import Vectors
from magister.contracts.arena_tables import SELECTIONS
from magister.errors import UserError

COUNT = 30
QUESTIONS = vectors("instructions", normal(99, COUNT, 6))


def responses(name: str) -> Vectors:
    """Vectors that depend on the model's name alone; one response is missing."""
    values = normal(sum(map(ord, name)), COUNT, 6)
    values[ord(name[0]) % COUNT] = np.nan
    return vectors(name, values)


def chosen(
    models: list[str],
    choice: Choice,
    pairs: list[Pair] | None = None,
    order: NDArray[np.int64] | None = None,
    effort: Effort | None = None,
) -> Chosen:
    ids = pa.array(ids_of(COUNT))
    ids = ids if order is None else ids.take(pa.array(order))
    parts = cosine_similarities([responses(name) for name in models], ids, pairs, effort)
    return choose_comparisons("code", ids, parts, QUESTIONS, choice, effort)


def test_both_arms_keep_the_budget_and_share_no_instruction() -> None:
    table = chosen(["a", "b", "c"], Choice(k=10, random_share=0.3)).table
    assert table.schema.equals(SELECTIONS.schema)
    arms = Counter((row["model_a"], row["model_b"], row["arm"]) for row in table.to_pylist())
    assert set(arms.values()) == {7, 3}
    named = {(row["model_a"], row["model_b"], row["instruction_id"]) for row in table.to_pylist()}
    assert len(named) == table.num_rows == 30


def test_the_discrepant_arm_is_what_select_picks() -> None:
    choice = Choice(k=10, lam=0.5, penalty="mean", random_share=0.3)
    ids = pa.array(ids_of(COUNT))
    (part,) = cosine_similarities([responses("a"), responses("b")], ids)
    picks = select(part.values[0], QUESTIONS, 7, 0.5, penalty="mean")
    rows = chosen(["a", "b"], choice).table.filter(pc.field("arm") == "discrepant")
    assert rows["instruction_id"].to_pylist() == ids.take(pa.array(picks.rows)).to_pylist()
    assert rows["objective"].to_pylist() == picks.objective.tolist()
    assert rows["rank"].to_pylist() == list(range(1, 8))
    assert set(rows["inclusion_probability"].to_pylist()) == {1.0}


def test_the_random_arm_records_its_probability_and_has_no_objective() -> None:
    found = chosen(["a", "b"], Choice(k=10, random_share=0.3))
    rows = found.table.filter(pc.field("arm") == "random")
    # Two of the 30 instructions lack a response, seven are picked.
    assert rows["inclusion_probability"].to_pylist() == [3 / (28 - 7)] * 3
    assert rows["penalty"].null_count == rows["objective"].null_count == 3
    assert rows["similarity"].null_count == 0
    assert found.counts.to_pylist() == [
        {"scenario": "code", "model_a": "a", "model_b": "b", "instructions": 30, "eligible": 28}
        | {"missing": 2, "without_vector": 0, "discrepant": 7, "random": 3, "wanted": 10}
    ]


@pytest.mark.parametrize(("share", "arms"), [(0.0, {"discrepant"}), (1.0, {"random"})])
def test_one_arm_may_have_it_all(share: float, arms: set[str]) -> None:
    assert set(chosen(["a", "b"], Choice(k=5, random_share=share)).table["arm"].to_pylist()) == arms


def test_a_pool_smaller_than_the_budget_is_used_up_and_counted() -> None:
    found = chosen(["a", "b"], Choice(k=100, random_share=0.5))
    (row,) = found.counts.to_pylist()
    assert (row["discrepant"], row["random"], row["wanted"]) == (28, 0, 100)
    assert found.table.num_rows == 28


def test_a_pair_without_a_common_response_has_no_comparison() -> None:
    part = Similarities([("a", "b")], np.full((1, COUNT), np.nan))
    found = choose_comparisons("code", ids_of(COUNT), [part], QUESTIONS, Choice())
    assert found.table.num_rows == 0
    assert found.counts["missing"].to_pylist() == [COUNT]


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.sampled_from("abcdefgh"), min_size=3, max_size=6, unique=True),
    st.sampled_from(["max", "mean"]),
    st.integers(0, 99),
)
def test_a_model_that_joins_changes_no_comparison_of_the_others(
    models: list[str], penalty: str, seed: int
) -> None:
    choice = Choice(k=6, penalty=penalty, seed=seed)  # type: ignore[arg-type]
    *old, new = models
    before, whole = chosen(old, choice).table, chosen(models, choice).table
    mine = pc.or_(pc.equal(whole["model_a"], new), pc.equal(whole["model_b"], new))
    assert whole.filter(pc.invert(mine)).equals(before)
    planned = pairs_to_plan(models, before, "code")
    assert planned == [pair for pair in all_pairs(models) if new in pair]
    added = chosen(models, choice, planned).table
    assert added.num_rows == len(old) * 6
    assert join_selections(before, added).equals(whole)


@settings(deadline=None, max_examples=30)
@given(st.permutations(range(COUNT)), st.sampled_from(["max", "mean"]))
def test_neither_order_nor_memory_nor_threads_change_the_table(order: list[int], penalty: str) -> None:
    choice = Choice(k=6, penalty=penalty)  # type: ignore[arg-type]
    whole = chosen(["a", "b", "c"], choice)
    moved = chosen(["c", "a", "b"], choice, order=np.array(order), effort=TIGHT)
    assert whole.table.equals(moved.table)
    assert whole.counts.equals(moved.counts)


def test_a_pair_is_not_planned_twice() -> None:
    table = chosen(["a", "b"], Choice(k=4)).table
    with pytest.raises(UserError, match="a and b have comparisons in scenario 'code' already"):
        join_selections(table, table)
    assert pairs_to_plan(["a", "b"], table, "math") == [("a", "b")]
    assert pairs_to_plan(["b", "a"], None, "code") == [("a", "b")]


def test_another_seed_scenario_or_pair_draws_others() -> None:
    hashed, able = hash_ids(pa.array(ids_of(1000))), np.ones(1000, dtype=bool)
    keys = [
        pair_key(names, seed)
        for names, seed in (
            (["s", "a", "b"], 0),
            (["s", "a", "b"], 1),
            (["t", "a", "b"], 0),
            (["s", "a", "c"], 0),
        )
    ]
    draws = {tuple(draw_random(hashed, able, 20, key).tolist()) for key in keys}
    assert len(draws) == 4
    # Names are told apart wherever one ends and the next begins.
    assert pair_key(["ab", "c"], 0) != pair_key(["a", "bc"], 0)


def test_every_set_of_instructions_is_as_likely() -> None:
    hashed, able = hash_ids(pa.array(ids_of(6))), np.ones(6, dtype=bool)
    able[2] = False
    seen = Counter(
        tuple(sorted(draw_random(hashed, able, 2, pair_key(["x"], seed)).tolist())) for seed in range(4000)
    )
    assert len(seen) == 10
    assert stats.chisquare(list(seen.values())).pvalue > 1e-4
    assert not any(2 in pair for pair in seen)


def test_an_instruction_that_joins_the_pool_takes_a_place_at_most() -> None:
    ids = ids_of(200)
    able = np.ones(200, dtype=bool)
    key = pair_key(["x"], 0)
    for count in (0, 1, 10):
        before = {ids[row] for row in draw_random(hash_ids(pa.array(ids[1:])), able[1:], count, key) + 1}
        after = {ids[row] for row in draw_random(hash_ids(pa.array(ids)), able, count, key)}
        assert len(before) == len(after) == count
        assert len(after - before) <= 1


@given(st.integers(1, 200), st.floats(0, 1))
def test_a_budget_is_split_to_the_nearest_comparison(k: int, share: float) -> None:
    picked, drawn = split_budget(k, share)
    assert picked + drawn == k
    assert abs(drawn - share * k) <= 0.5 + 1e-9


def test_a_half_is_drawn() -> None:
    assert split_budget(5, 0.5) == (2, 3)
    assert split_budget(10, 0.3) == (7, 3)
    # 0.35 is a little less in binary; what was written counts.
    assert split_budget(10, 0.35) == (6, 4)


@pytest.mark.parametrize(
    ("k", "share", "said"), [(0, 0.3, "k is 0"), (5, 1.5, "random share is 1.5"), (5, float("nan"), "nan")]
)
def test_a_budget_that_is_none_is_named(k: int, share: float, said: str) -> None:
    with pytest.raises(UserError, match=said):
        split_budget(k, share)


def test_similarities_of_other_instructions_are_refused() -> None:
    part = Similarities([("a", "b")], np.zeros((1, 3)))
    with pytest.raises(UserError, match=r"have shape \(1, 3\); expected \(1, 30\)"):
        choose_comparisons("code", ids_of(COUNT), [part], QUESTIONS, Choice())
