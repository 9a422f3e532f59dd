"""Correlations between boards."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from magister.errors import UserError
from magister.stats import (
    ModelBootstrap,
    bootstrap_weights,
    compare_correlations,
    correlation,
    partial_correlation,
    williams,
)

PLAN = ModelBootstrap(resamples=200, seed=1)
NONE = ModelBootstrap(resamples=0, seed=1)
COEFFICIENTS = ("spearman", "kendall", "pearson")
SCIPY = {
    "spearman": scipy_stats.spearmanr,
    "kendall": scipy_stats.kendalltau,
    "pearson": scipy_stats.pearsonr,
}


def boards(n: int = 20, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    return np.round(common + rng.normal(0, [[0.3], [0.9], [0.5]], size=(3, n)), 1)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=4, max_size=25))
def test_correlations_agree_with_scipy(coefficient: str, rows: list[tuple[int, int]]) -> None:
    x, y = np.array(rows, dtype=float).T
    found = correlation(x, y, coefficient, NONE)
    assert found.n == len(rows)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert (found.value, found.status) == (None, "undefined")
        assert found.reason == "all models have equal scores on a board"
    else:
        assert found.value == pytest.approx(SCIPY[coefficient](x, y).statistic, abs=1e-12)
        assert found.status == "no_resamples"


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
@pytest.mark.parametrize("nested", [False, True])
def test_intervals_are_those_of_a_loop_over_resamples(coefficient: str, nested: bool) -> None:
    x, y, _ = boards(12)
    draws = x + np.random.default_rng(2).normal(0, 0.3, size=(200, 12)) if nested else None
    found = correlation(x, y, coefficient, PLAN, draws)
    weights = bootstrap_weights(["models"] * 12, resamples=200, seed=1).matrix()
    replicates = []
    for b, w in enumerate(weights):
        row = x if draws is None else draws[b]
        replicates.append(SCIPY[coefficient](np.repeat(row, w), np.repeat(y, w)).statistic)
    low, high = np.quantile(replicates, [0.025, 0.975])
    assert (found.ci_low, found.ci_high) == pytest.approx((low, high), abs=1e-10)
    assert found.status == "ok"


@pytest.mark.parametrize(
    ("coefficient", "expected"), [("spearman", 0.625649), ("kendall", 0.491090), ("pearson", 0.699449)]
)
def test_arena_against_livebench(cases: Path, coefficient: str, expected: float) -> None:
    with (cases / "stats/arena_vs_livebench_23pairs.csv").open() as file:
        rows = list(csv.DictReader(file))
    arena = [float(row["arena_score_20250804"]) for row in rows]
    livebench = [float(row["livebench_2025_04_25_global_avg"]) for row in rows]
    found = correlation(arena, livebench, coefficient, ModelBootstrap(2000, 1))
    assert found.value == pytest.approx(expected, abs=5e-7)
    assert found.n == 23
    assert found.ci_low < found.value < found.ci_high


def test_items_in_the_interval_widen_it() -> None:
    x, y, _ = boards(30, seed=3)
    plan = ModelBootstrap(2000, 1)
    alone = correlation(x, y, "pearson", plan)
    draws = x + np.random.default_rng(1).normal(0, 1.0, size=(2000, 30))
    nested = correlation(x, y, "pearson", plan, draws)
    assert nested.se > alone.se
    assert nested.value == alone.value


def test_fewer_than_four_models_are_refused() -> None:
    with pytest.raises(UserError, match="over 3 models says nothing: give at least 4"):
        correlation([1, 2, 3], [1, 2, 3], "spearman", PLAN)
    with pytest.raises(UserError, match="at least 4"):
        williams(0.5, 0.4, 0.3, 3)


def test_models_without_a_score_and_wrong_shapes_say_so() -> None:
    found = correlation([1, 2, np.nan, 4], [1, 2, 3, 5], "kendall", PLAN)
    assert (found.value, found.status) == (None, "missing_values")
    assert found.reason == "1 of 4 models have no score on some board"
    both = compare_correlations([1, 2, np.nan, 4], [1, 2, 3, 5], [1, 3, 2, 4], "kendall", PLAN)
    assert (both.p, both.status) == (None, "missing_values")
    with pytest.raises(ValueError, match="one shape"):
        correlation([1, 2, 3, 4], [1, 2, 3, 4, 5], "spearman", PLAN)
    with pytest.raises(ValueError, match="draws must have shape"):
        correlation([1, 2, 3, 4], [1, 2, 3, 5], "spearman", PLAN, [[1, 2, 3, 4]])
    with pytest.raises(ValueError, match="unknown"):
        correlation([1, 2, 3, 4], [1, 2, 3, 5], "cosine", PLAN)  # type: ignore[arg-type]


def test_boards_that_agree_wholly_have_no_interval() -> None:
    found = correlation([1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, 7, 8], "spearman", PLAN)
    assert (found.value, found.ci_low, found.status) == (1.0, None, "all_equal")


def test_williams_test_reproduces_a_published_example() -> None:
    """Steiger's case A with n = 103: t = -0.89, p = 0.37."""
    t, p = williams(0.4, 0.5, 0.1, 103)
    assert t == pytest.approx(-0.89, abs=0.005)
    assert p == pytest.approx(0.37, abs=0.005)


def test_williams_test_holds_its_level() -> None:
    rng = np.random.default_rng(4)
    n, runs = 23, 2000
    target = rng.normal(size=(runs, n))
    first, second = (target + rng.normal(size=(runs, n)) for _ in range(2))
    rejected = 0
    for a, b, c in zip(first, second, target, strict=True):
        r = np.corrcoef([a, b, c])
        rejected += williams(r[0, 2], r[1, 2], r[0, 1], n)[1] <= 0.05
    assert rejected / runs == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_two_boards_are_compared_on_the_same_models(coefficient: str) -> None:
    first, second, target = boards(25, seed=6)
    found = compare_correlations(first, second, target, coefficient, PLAN)
    assert found.first == pytest.approx(SCIPY[coefficient](first, target).statistic)
    assert found.second == pytest.approx(SCIPY[coefficient](second, target).statistic)
    assert found.between == pytest.approx(SCIPY[coefficient](first, second).statistic)
    assert found.difference.value == pytest.approx(found.first - found.second, abs=1e-12)
    assert found.difference.ci_low < found.difference.value < found.difference.ci_high
    assert (found.n, found.freedom, found.status) == (25, 22, "ok")
    assert (found.statistic, found.p) == williams(found.first, found.second, found.between, 25)


def test_a_board_compared_with_itself_is_undefined() -> None:
    x, y, _ = boards(10)
    found = compare_correlations(x, x, y, "spearman", PLAN)
    assert found.difference.value == 0
    assert found.difference.status == "all_equal"
    assert (found.statistic, found.p, found.status) == (None, None, "undefined")
    assert found.reason


def test_partial_correlation_is_that_of_residuals() -> None:
    x, y, z = boards(30, seed=7)
    residuals = [v - np.polyval(np.polyfit(z, v, 1), z) for v in (x, y)]
    found = partial_correlation(x, y, z, "pearson", PLAN)
    assert found.value == pytest.approx(np.corrcoef(residuals)[0, 1], abs=1e-12)
    assert found.ci_low < found.value < found.ci_high


def test_partial_spearman_is_the_partial_pearson_of_ranks() -> None:
    x, y, z = boards(30, seed=8)
    ranks = [scipy_stats.rankdata(v) for v in (x, y, z)]
    found = partial_correlation(x, y, z, "spearman", NONE)
    assert found.value == pytest.approx(partial_correlation(*ranks, "pearson", NONE).value, abs=1e-12)


def test_a_board_explained_wholly_leaves_nothing_to_correlate() -> None:
    x, y, _ = boards(10)
    found = partial_correlation(x, y, 2 * x + 1, "pearson", PLAN)
    assert (found.value, found.status) == (None, "undefined")
    assert "explains another wholly" in found.reason


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_both_boards_read_the_same_resamples_of_items(coefficient: str) -> None:
    first, second, target = boards(16, seed=9)
    shared = np.random.default_rng(2).normal(0, 0.4, size=(200, 16))
    draws = {"first": first + shared, "second": second + shared}
    found = compare_correlations(first, second, target, coefficient, PLAN, draws).difference
    partial = partial_correlation(first, target, second, coefficient, PLAN, {"given": draws["second"]})
    differences, partials = [], []
    for b, w in enumerate(bootstrap_weights(["models"] * 16, resamples=200, seed=1).matrix()):
        x, y, z = (
            np.repeat(board, w) for board in (draws["first"][b], draws["second"][b], np.asarray(target))
        )
        one, two = SCIPY[coefficient](x, z).statistic, SCIPY[coefficient](y, z).statistic
        differences.append(one - two)
        kept = np.repeat(first, w)
        a, c = SCIPY[coefficient](kept, z).statistic, SCIPY[coefficient](kept, y).statistic
        left = (1 - c**2) * (1 - two**2)
        partials.append((a - c * two) / np.sqrt(left) if left > 1e-12 else np.nan)
    ends = (found.ci_low, found.ci_high)
    assert ends == pytest.approx(tuple(np.quantile(differences, [0.025, 0.975])), abs=1e-10)
    ends = (partial.ci_low, partial.ci_high)
    assert ends == pytest.approx(tuple(np.nanquantile(partials, [0.025, 0.975])), abs=1e-10)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_a_score_that_a_resample_leaves_undefined_is_no_low_score(coefficient: str) -> None:
    x, y, _ = boards(10)
    counts = bootstrap_weights(["models"] * 10, resamples=200, seed=1).matrix()
    draws = np.tile(x, (200, 1))
    draws[counts == 0] = np.nan
    whole = correlation(x, y, coefficient, PLAN)
    assert correlation(x, y, coefficient, PLAN, draws) == whole
    drawn = np.argwhere(counts > 0)[[0, 50, 300]]
    draws[tuple(drawn.T)] = np.nan
    found = correlation(x, y, coefficient, PLAN, draws)
    assert found.reason == f"undefined on {len(set(drawn[:, 0]))} of 200 resamples and left out"
    with pytest.raises(ValueError, match="draws of 'third': expected those of first, second"):
        correlation(x, y, coefficient, PLAN, {"third": draws})
