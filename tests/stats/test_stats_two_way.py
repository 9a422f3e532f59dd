"""Intervals of statistics of cells that are crossed two ways."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from magister.stats import cluster_mean, two_way_intervals


def influence(values: np.ndarray) -> np.ndarray:
    return (values - values.mean())[:, None] / values.size


def test_it_is_the_sum_of_both_ways_less_the_cells_by_hand() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    rows, columns = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    # Mean 4: sums over rows -5, +5; over columns -3, +3; cells -3, -2, 0, 5; all over n = 4.
    by_row, by_column = 2 / 1 * 50 / 16, 2 / 1 * 18 / 16
    by_cell = 4 / 3 * 38 / 16
    variance = max(by_row + by_column - by_cell, by_row)
    found = two_way_intervals([4.0], influence(values), rows, columns).item()
    assert found.se == pytest.approx(np.sqrt(variance))
    assert found.ci_high == pytest.approx(4 + special.stdtrit(1, 0.975) * np.sqrt(variance))
    assert (found.n, found.n_clusters) == (4, 2)


@given(st.integers(2, 12), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_it_is_never_narrower_than_one_way(groups: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=60)
    rows, columns = rng.integers(0, groups, 60), rng.integers(0, 20, 60)
    found = two_way_intervals([values.mean()], influence(values), rows, columns).item()
    for labels in (rows, columns):
        one_way = cluster_mean(values, labels)
        if found.se is not None and one_way.se is not None:
            assert found.se >= one_way.se * (1 - 1e-9)


@pytest.mark.parametrize(
    ("values", "rows", "status"),
    [
        (np.zeros(0), np.zeros(0), "no_data"),
        (np.array([1.0, 2.0]), np.array([0, 0]), "one_cluster"),
        (np.array([2.0, 2.0]), np.array([0, 1]), "all_equal"),
    ],
)
def test_what_has_no_interval_says_so(values: np.ndarray, rows: np.ndarray, status: str) -> None:
    mean = values.mean() if values.size else 0.0
    change = influence(values) if values.size else np.zeros((0, 1))
    found = two_way_intervals([mean], change, rows, np.arange(values.size)).item()
    assert found.status == status
    assert found.ci_low is None
    assert found.se is None


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="cells, statistics"):
        two_way_intervals([1.0, 2.0], np.zeros((3, 1)), np.arange(3), np.arange(3))
