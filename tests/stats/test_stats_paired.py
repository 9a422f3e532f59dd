"""Comparisons of pairs of models."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from magister.stats import bootstrap_weights, holm, mcnemar, paired_differences, ratio_intervals, sign_flip


def test_paired_differences_use_the_same_resamples() -> None:
    rng = np.random.default_rng(1)
    common = rng.normal(size=50)
    sums = np.stack([common, common + 0.5 + rng.normal(0, 0.1, size=50)], axis=1)
    weights = bootstrap_weights(["a"] * 50, resamples=2000, seed=1)
    replicates = weights.totals(sums) / 50
    found = paired_differences(sums.mean(axis=0), replicates, [(1, 0), (0, 1)])
    direct = ratio_intervals(sums[:, 1] - sums[:, 0], np.ones(50), weights).item()
    assert found[0].ci_low == pytest.approx(direct.ci_low, abs=1e-12)
    assert found[1].ci_high == pytest.approx(-direct.ci_low, abs=1e-12)
    alone = replicates.std(axis=0)
    assert found[0].se < alone.min()


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=8))
def test_few_clusters_count_every_pattern_of_signs(differences: list[int]) -> None:
    found = sign_flip(differences, flips=10, seed=1)
    total = abs(sum(differences))
    patterns = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(differences))
    ]
    assert found.exact.all()
    assert found.p.item() == pytest.approx(np.mean([pattern >= total for pattern in patterns]))


def test_sign_flip_agrees_with_scipy() -> None:
    d = np.random.default_rng(3).normal(0.4, 1, size=10)
    theirs = scipy_stats.permutation_test((d,), np.sum, permutation_type="samples", n_resamples=np.inf).pvalue
    assert sign_flip(d, flips=1, seed=1).p.item() == pytest.approx(theirs, abs=1e-12)


def test_random_flips_come_near_the_exact_p() -> None:
    d = np.random.default_rng(4).normal(0.25, 1, size=(60, 3))
    found = sign_flip(d, flips=20_000, seed=2)
    assert not found.exact.any()
    normal = 2 * scipy_stats.norm.sf(np.abs(d.sum(axis=0)) / np.sqrt((d**2).sum(axis=0)))
    assert found.p == pytest.approx(normal, abs=0.012)
    assert np.array_equal(found.p, sign_flip(d, flips=20_000, seed=2).p)
    assert (sign_flip(np.ones(60), flips=99, seed=1).p >= 1 / 100).all()


def test_a_pair_does_not_depend_on_the_other_pairs() -> None:
    d = np.random.default_rng(5).normal(size=(30, 4))
    assert sign_flip(d, flips=500, seed=1).p[2] == sign_flip(d[:, 2], flips=500, seed=1).p[0]


@pytest.mark.parametrize("clusters", [5, 40])
def test_pairs_of_models_are_the_differences_of_their_columns(clusters: int) -> None:
    models = np.random.default_rng(6).integers(0, 9, size=(clusters, 4)).astype(float)
    models[0, 3] = np.nan
    pairs = [(0, 1), (2, 1), (2, 2), (0, 3)]
    found = sign_flip(models, flips=400, seed=3, pairs=pairs)
    direct = sign_flip(np.stack([models[:, a] - models[:, b] for a, b in pairs], axis=1), flips=400, seed=3)
    assert np.array_equal(found.p, direct.p, equal_nan=True)
    assert np.array_equal(found.statistic, direct.statistic, equal_nan=True)
    assert found.status.tolist() == ["ok", "ok", "all_equal", "missing_values"]


def test_pairs_that_agree_or_cannot_be_tested_say_so() -> None:
    agree = sign_flip([[0.0, 1.0, np.nan], [0.0, 1.0, 1.0]], flips=10, seed=1)
    assert agree.status.tolist() == ["all_equal", "ok", "missing_values"]
    assert agree.p[0] == 1.0
    assert np.isnan(agree.p[2])
    assert agree.reason[0] == "the models agree in every cluster"
    assert sign_flip([2.0], flips=10, seed=1).status.tolist() == ["one_cluster"]
    empty = sign_flip(np.zeros((0, 2)), flips=10, seed=1)
    assert empty.status.tolist() == ["no_data", "no_data"]
    assert np.isnan(empty.p).all()
    with pytest.raises(ValueError, match="flips"):
        sign_flip([1.0], flips=0, seed=1)
    with pytest.raises(ValueError, match="must have shape"):
        sign_flip(np.zeros((2, 2, 2)), flips=1, seed=1)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 5))
def test_mcnemar_is_the_binomial_test_of_what_differs(b: int, c: int, same: int) -> None:
    first = np.array([1] * b + [0] * c + [1] * same)
    second = np.array([0] * b + [1] * c + [1] * same)
    found = mcnemar(first, second)
    if b + c:
        assert found.p.item() == pytest.approx(scipy_stats.binomtest(b, b + c).pvalue, abs=1e-10)
        assert found.statistic.item() == b - c
        assert found.n.item() == b + c
    else:
        assert found.status.tolist() == ["all_equal" if same else "no_data"]


def test_mcnemar_leaves_out_items_without_a_score_and_refuses_other_scores() -> None:
    found = mcnemar([[1, 1], [1, np.nan], [0, np.nan]], [[0, 1], [1, 0], [0, 1]])
    assert found.n.tolist() == [1, 0]
    assert found.p.tolist() == [1.0, 1.0]
    assert found.status.tolist() == ["ok", "all_equal"]
    with pytest.raises(ValueError, match="0 and 1"):
        mcnemar([0.5], [1])
    with pytest.raises(ValueError, match="one shape"):
        mcnemar([1], [1, 0])


def test_holm_by_hand() -> None:
    # 0.01 x 4, then 0.02 x 3 = 0.06, then max(0.03 x 2, 0.06), then max(0.05, 0.06).
    assert holm([0.03, 0.01, 0.05, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])


def test_holm_does_not_count_pairs_without_a_test() -> None:
    adjusted = holm([0.01, np.nan, 0.04])
    assert adjusted[[0, 2]] == pytest.approx([0.02, 0.04])
    assert np.isnan(adjusted[1])
    assert holm([]).size == 0
    with pytest.raises(ValueError, match="from 0 to 1"):
        holm([1.5])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_lies_between_the_p_value_and_bonferroni(p: list[float]) -> None:
    adjusted = holm(p)
    raw = np.array(p)
    assert (adjusted >= raw).all()
    assert (adjusted <= np.minimum(1, raw * raw.size) + 1e-15).all()
    order = np.argsort(raw)
    assert (np.diff(adjusted[order]) >= 0).all()
