"""Proportions and clustered means."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from magister.stats import clopper_pearson, cluster_mean, wilson


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 30), (30, 30), (7, 20), (1, 2), (499, 1000)])
def test_proportion_intervals_agree_with_scipy(k: int, n: int, level: float) -> None:
    reference = scipy_stats.binomtest(k, n)
    for ours, method in ((wilson, "wilson"), (clopper_pearson, "exact")):
        expected = reference.proportion_ci(level, method=method)
        found = ours(k, n, level).item()
        assert found.value == k / n
        assert (found.ci_low, found.ci_high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_of_thirty_out_of_thirty_is_not_certainty() -> None:
    found = wilson(30, 30).item()
    assert found.ci_high == 1.0
    assert found.ci_low == pytest.approx(0.8865, abs=1e-4)
    assert found.se is not None
    assert found.se > 0


def test_wilson_takes_arrays_and_says_where_there_are_no_data() -> None:
    found = wilson(np.array([[0, 3], [5, 0]]), np.array([[0, 4], [5, 2]]))
    assert found.shape == (2, 2)
    assert found.status.tolist() == [["no_data", "ok"], ["ok", "ok"]]
    empty = found[0, 0]
    assert (empty.value, empty.ci_low, empty.se) == (None, None, None)
    assert empty.reason == "no observations"
    with pytest.raises(ValueError, match="exactly one"):
        found.item()


@given(st.integers(0, 50), st.integers(1, 50), st.floats(0.5, 0.999))
def test_wilson_contains_the_share_and_stays_in_range(k: int, extra: int, level: float) -> None:
    found = wilson(k, k + extra, level).item()
    assert found.value is not None
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert 0 <= found.ci_low <= found.value <= found.ci_high <= 1


@pytest.mark.parametrize(("k", "n"), [(3, 2), (-1, 4), (0.5, 2)])
def test_impossible_counts_are_refused(k: float, n: int) -> None:
    with pytest.raises(ValueError, match=r"successes"):
        wilson(k, n)


def test_level_must_be_a_share() -> None:
    with pytest.raises(ValueError, match=r"0\.95 for 95 %"):
        wilson(1, 2, 95)


def test_cluster_mean_by_hand() -> None:
    # Mean 0.5; residual sums per cluster +1, -1, 0; variance 3 / 2 * (1 + 1) / 6^2.
    found = cluster_mean([1, 1, 0, 0, 1, 0], ["a", "a", "b", "b", "c", "c"])
    se = math.sqrt(1.5 * 2) / 6
    assert found.value == 0.5
    assert found.se == pytest.approx(se, rel=1e-14)
    assert found.ci_high == pytest.approx(0.5 + scipy_stats.t.ppf(0.975, 2) * se, rel=1e-12)
    assert (found.n, found.n_clusters, found.status) == (6, 3, "ok")


def test_cluster_mean_with_singletons_is_the_ordinary_t_interval() -> None:
    x = np.random.default_rng(3).normal(size=40)
    found = cluster_mean(x, np.arange(40), 0.9)
    assert found.se == pytest.approx(scipy_stats.sem(x), rel=1e-12)
    low, high = scipy_stats.t.interval(0.9, 39, x.mean(), scipy_stats.sem(x))
    assert (found.ci_low, found.ci_high) == pytest.approx((low, high), rel=1e-12)


def test_cluster_mean_widens_when_clusters_repeat_themselves() -> None:
    x = np.random.default_rng(5).normal(size=25)
    alone = cluster_mean(x, np.arange(25))
    repeated = cluster_mean(np.repeat(x, 4), np.repeat(np.arange(25), 4))
    assert repeated.se == pytest.approx(alone.se, rel=1e-12)


@pytest.mark.parametrize(
    ("values", "clusters", "status", "value"),
    [
        ([], [], "no_data", None),
        ([1.0, 0.0, 1.0], ["a", "a", "a"], "one_cluster", 2 / 3),
        ([0.5], ["a"], "one_cluster", 0.5),
        ([1.0, 1.0], ["a", "b"], "all_equal", 1.0),
        ([1.0, 0.0, 0.0, 1.0], ["a", "a", "b", "b"], "all_equal", 0.5),
        ([1.0, math.nan], ["a", "b"], "missing_values", None),
    ],
)
def test_degenerate_means_say_so(
    values: list[float], clusters: list[str], status: str, value: float | None
) -> None:
    found = cluster_mean(values, clusters)
    assert found.status == status
    assert found.value == pytest.approx(value) if value is not None else found.value is None
    assert (found.ci_low, found.ci_high, found.se) == (None, None, None)
    assert found.reason


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-1e3, 1e3)), min_size=2, max_size=30), st.randoms())
def test_cluster_mean_does_not_depend_on_row_order(rows: list[tuple[int, float]], random: object) -> None:
    shuffled = rows.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = (cluster_mean([x for _, x in r], [c for c, _ in r]) for r in (rows, shuffled))
    assert first == second
