"""Ranks and groups."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from magister.stats import rank_intervals, shared_ranks, significance_groups


@given(st.lists(st.integers(0, 5), min_size=1, max_size=15))
def test_equal_scores_share_a_rank_as_in_scipy(scores: list[int]) -> None:
    expected = scipy_stats.rankdata(-np.array(scores), method="min")
    assert np.array_equal(shared_ranks(scores), expected)


def test_rounding_does_not_break_a_tie_and_no_score_is_no_rank() -> None:
    assert shared_ranks([0.1 + 0.2, 0.3, np.nan, 0.9]).tolist() == [2, 2, 0, 1]


def test_rank_intervals_hold_the_ranks_that_resamples_saw() -> None:
    rng = np.random.default_rng(1)
    value = np.array([3.0, 2.0, 1.9, 0.0])
    replicates = value + rng.normal(0, 0.2, size=(2000, 4))
    found = rank_intervals(value, replicates)
    assert found.rank.tolist() == [1, 2, 3, 4]
    assert found.ci_low.tolist() == [1, 2, 2, 4]
    assert found.ci_high.tolist() == [1, 3, 3, 4]
    assert found.p_first == pytest.approx([1, 0, 0, 0], abs=0.01)


def test_p_of_first_place_counts_shared_ones_for_both() -> None:
    found = rank_intervals([1.0, 1.0], np.array([[1.0, 1.0], [2.0, 1.0]]))
    assert found.rank.tolist() == [1, 1]
    assert found.p_first.tolist() == [1.0, 0.5]


def test_ranks_do_not_depend_on_the_size_of_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    from magister.stats import _rank

    replicates = np.random.default_rng(2).normal(size=(300, 5))
    whole = rank_intervals(replicates[0], replicates)
    monkeypatch.setattr(_rank, "_BLOCK_CELLS", 1)
    assert np.array_equal(rank_intervals(replicates[0], replicates).ci_high, whole.ci_high)


def test_models_without_scores_say_so() -> None:
    replicates = np.tile([1.0, 2.0, 3.0, 4.0], (100, 1))
    replicates[:50, 2] = np.nan
    replicates[:3, 3] = np.nan
    found = rank_intervals([1.0, np.nan, 3.0, 4.0], replicates)
    assert found.status.tolist() == ["ok", "undefined", "undefined_resamples", "ok"]
    assert found.rank.tolist() == [3, 0, 2, 1]
    assert found.ci_low[1:3].tolist() == [0, 0]
    assert found.reason[3] == "undefined on 3 of 100 resamples and left out"
    assert all(found.reason[1:])
    none = rank_intervals([1.0, 2.0], np.zeros((0, 2)))
    assert none.status.tolist() == ["no_resamples", "no_resamples"]
    with pytest.raises(ValueError, match="shapes"):
        rank_intervals([1.0], np.zeros((5, 2)))


def test_letters_of_a_chain_overlap() -> None:
    pairs = list(itertools.combinations(range(4), 2))
    # 0 differs from 2 and 3; 1 from 3.
    adjusted = [0.5, 0.01, 0.001, 0.2, 0.04, 0.9]
    assert significance_groups([4, 3, 2, 1], pairs, adjusted) == ["a", "ab", "bc", "c"]


def test_letters_follow_the_scores_not_the_rows() -> None:
    assert significance_groups([1, 2], [(0, 1)], [0.01]) == ["b", "a"]
    assert significance_groups([1, 2], [(0, 1)], [0.2]) == ["a", "a"]
    assert significance_groups([1, np.nan, 2], [(0, 2)], [0.01]) == ["b", "", "a"]
    assert significance_groups([1, 2], [(0, 1)], [np.nan]) == ["a", "a"]
    assert significance_groups([], [], []) == []


def test_letters_do_not_run_out() -> None:
    models = 60
    pairs = list(itertools.combinations(range(models), 2))
    letters = significance_groups(np.arange(models), pairs, np.zeros(len(pairs)))
    assert len(set(letters)) == models
    assert letters[-1] == "a"
    assert letters[0] == "(60)"


def test_pairs_that_name_no_model_are_refused() -> None:
    with pytest.raises(ValueError, match="name models 0 to 1"):
        significance_groups([1, 2], [(0, 2)], [0.1])
    with pytest.raises(ValueError, match="one per pair"):
        significance_groups([1, 2], [(0, 1)], [])


@given(st.integers(1, 7), st.data())
def test_models_share_a_letter_exactly_when_they_are_not_told_apart(models: int, data: st.DataObject) -> None:
    pairs = list(itertools.combinations(range(models), 2))
    p = data.draw(st.lists(st.sampled_from([0.01, 0.5]), min_size=len(pairs), max_size=len(pairs)))
    letters = significance_groups(data.draw(st.permutations(range(models))), pairs, p)
    assert all(letters)
    for (i, j), chance in zip(pairs, p, strict=True):
        assert bool(set(letters[i]) & set(letters[j])) == (chance > 0.05)
