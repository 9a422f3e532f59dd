"""Power of a design."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from magister.stats import cluster_mean, detectable_difference, items_needed


def test_a_design_by_hand() -> None:
    # 2 * 0.25 / 400 * (1 + 3 * 0.2) * (1 + 0.5) / 2 = 0.0015.
    found = detectable_difference(400, 100, 0.2, 2, 0.5, 0.5)
    se = math.sqrt(0.0015)
    assert found.se == pytest.approx(se, rel=1e-12)
    assert found.design_effect == pytest.approx(1.6 * 1.5)
    t = scipy_stats.t(99)
    assert found.difference == pytest.approx((t.ppf(0.975) + t.ppf(0.8)) * se, rel=1e-10)
    assert (found.freedom, found.status) == (99, "ok")


def test_many_independent_items_are_the_textbook_two_proportions() -> None:
    found = detectable_difference(100_000, 100_000, 0, 1, 0, 0.3)
    z = scipy_stats.norm.ppf(0.975) + scipy_stats.norm.ppf(0.8)
    assert found.difference == pytest.approx(z * math.sqrt(2 * 0.21 / 100_000), rel=1e-4)


def test_students_who_answer_alike_add_nothing() -> None:
    one = detectable_difference(500, 500, 0, 1, 0, 0.4).difference
    assert detectable_difference(500, 500, 0, 8, 1, 0.4).difference == pytest.approx(one)
    assert detectable_difference(500, 500, 0, 4, 0, 0.4).difference == pytest.approx(one / 2)


def test_pairing_helps_and_comparisons_cost() -> None:
    plain = detectable_difference(500, 100, 0.1, 4, 0.3, 0.4).difference
    assert detectable_difference(500, 100, 0.1, 4, 0.3, 0.4, correlation=0.75).difference == pytest.approx(
        plain / 2
    )
    assert detectable_difference(500, 100, 0.1, 4, 0.3, 0.4, comparisons=45).difference > plain


def test_the_power_is_reached_in_simulation() -> None:
    """Paired differences of two models on clusters of five items with a common effect."""
    clusters, size, runs = 60, 5, 2000
    found = detectable_difference(clusters * size, clusters, 0.3, 1, 0, 0.5)
    rng = np.random.default_rng(1)
    code = np.repeat(np.arange(clusters), size)
    spread = math.sqrt(0.5)
    detected = 0
    for _ in range(runs):
        common = rng.normal(0, spread * math.sqrt(0.3), clusters)[code]
        d = found.difference + common + rng.normal(0, spread * math.sqrt(0.7), code.size)
        detected += cluster_mean(d, code).ci_low > 0
    assert detected / runs == pytest.approx(0.8, abs=0.03)


@given(
    st.floats(0.02, 0.3),
    st.floats(1, 12),
    st.floats(0, 1),
    st.integers(1, 8),
    st.floats(0, 1),
    st.floats(0.2, 0.8),
)
def test_items_needed_is_the_inverse(
    difference: float, size: float, icc: float, students: int, rho: float, p0: float
) -> None:
    found = items_needed(difference, size, icc, students, rho, p0)
    assert found.status == "ok"
    assert found.difference <= difference
    again = detectable_difference(found.n_items, found.n_clusters, icc, students, rho, p0)
    assert again.difference == found.difference


def test_fewer_items_than_needed_are_not_enough() -> None:
    found = items_needed(0.05, 1, 0, 4, 0.4, 0.4)
    fewer = found.n_items - 1
    assert detectable_difference(fewer, fewer, 0, 4, 0.4, 0.4).difference > 0.05


@pytest.mark.parametrize(
    ("items", "clusters", "p0", "status"),
    [
        (100, 1, 0.5, "one_cluster"),
        (100, 50, 0.0, "all_equal"),
        (100, 50, 1.0, "all_equal"),
        (2, 2, 0.5, "out_of_reach"),
    ],
)
def test_designs_that_detect_nothing_say_so(items: int, clusters: int, p0: float, status: str) -> None:
    found = detectable_difference(items, clusters, 0.1, 1, 0, p0)
    assert (found.difference, found.status) == (None, status)
    assert found.reason


def test_differences_out_of_reach_need_no_number_of_items() -> None:
    found = items_needed(0.7, 2, 0, 1, 0, 0.5)
    assert (found.n_items, found.status) == (0, "out_of_reach")
    assert items_needed(0.1, 2, 0, 1, 0, 1.0).status == "all_equal"
    far = items_needed(1e-6, 2, 0, 1, 0, 0.5)
    assert far.status == "out_of_reach"
    assert "items would be needed" in far.reason


@pytest.mark.parametrize(
    "change",
    [
        {"icc": 1.5}, {"rho_students": -0.1}, {"p0": 40}, {"power": 80}, {"level": 95}, {"n_students": 0},
        {"correlation": 1.0}, {"comparisons": 0}, {"n_clusters": 0}, {"n_clusters": 101},
    ],
)  # fmt: skip
def test_numbers_outside_their_range_are_refused(change: dict[str, float]) -> None:
    design = {"n_items": 100, "n_clusters": 50, "icc": 0.1, "n_students": 2, "rho_students": 0.1, "p0": 0.5}
    with pytest.raises(ValueError, match=next(iter(change))):
        detectable_difference(**(design | change))  # type: ignore[arg-type]


def test_needs_are_positive() -> None:
    with pytest.raises(ValueError, match="difference"):
        items_needed(0, 1, 0, 1, 0, 0.5)
    with pytest.raises(ValueError, match="cluster_size"):
        items_needed(0.1, 0.5, 0, 1, 0, 0.5)
