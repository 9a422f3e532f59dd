"""Agreement of raters."""

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from magister.stats import UnitBootstrap, intraclass_correlation, krippendorff_alpha, weighted_kappa
from magister.stats._agreement import _on_grid

NONE = UnitBootstrap(resamples=0, seed=1)
PLAN = UnitBootstrap(resamples=300, seed=1)
GAP = np.nan
#: Krippendorff (2011), example D: four observers, twelve units, missing values.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, GAP, GAP, GAP],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, GAP, 3],
    [GAP, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, GAP],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, GAP],
]
#: Shrout and Fleiss (1979), table 2: six targets, four judges.
JUDGES = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def alpha_by_loops(ratings: NDArray, measurement: str) -> float:
    """The definition: pairs within units against all pairs."""
    units = [row[~np.isnan(row)] for row in ratings]
    units = [row for row in units if row.size > 1]
    pooled = np.concatenate(units)
    values, counts = np.unique(pooled, return_counts=True)
    at = {v: i for i, v in enumerate(values.tolist())}

    def distance(a: float, b: float) -> float:
        if measurement == "nominal":
            return float(a != b)
        if measurement == "interval":
            return (a - b) ** 2
        low, high = sorted((at[a], at[b]))
        return (counts[low : high + 1].sum() - (counts[low] + counts[high]) / 2) ** 2

    observed = sum(
        sum(distance(a, b) for a, b in itertools.permutations(row.tolist(), 2)) / (row.size - 1)
        for row in units
    )
    expected = sum(distance(a, b) for a, b in itertools.permutations(pooled.tolist(), 2))
    return 1 - (pooled.size - 1) * observed / expected


@pytest.mark.parametrize(
    ("measurement", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_reproduces_the_published_example(measurement: str, alpha: float) -> None:
    found = krippendorff_alpha(np.transpose(OBSERVERS), measurement, PLAN)
    assert found.value == pytest.approx(alpha, abs=5e-4)
    assert (found.n, found.n_clusters, found.status) == (40, 11, "ok")
    assert found.ci_low < found.value <= found.ci_high


@pytest.mark.parametrize("measurement", ["nominal", "ordinal", "interval"])
@given(
    hnp.arrays(
        float, st.tuples(st.integers(1, 6), st.integers(2, 4)), elements=st.sampled_from([1, 2, 4, 7, GAP])
    )
)
def test_alpha_is_its_definition_on_any_small_table(measurement: str, ratings: NDArray) -> None:
    found = krippendorff_alpha(ratings, measurement, NONE)
    paired = ratings[(~np.isnan(ratings)).sum(axis=1) > 1]
    if not paired.size:
        assert (found.value, found.status) == (None, "no_data")
    elif np.unique(paired[~np.isnan(paired)]).size == 1:
        assert (found.value, found.status) == (None, "undefined")
        assert "all ratings are equal" in found.reason
    else:
        assert found.value == pytest.approx(alpha_by_loops(ratings, measurement), abs=1e-10)


@pytest.mark.parametrize("measurement", ["nominal", "ordinal", "interval"])
def test_alpha_interval_is_that_of_a_loop_over_resamples(measurement: str) -> None:
    from magister.stats import bootstrap_weights

    ratings = np.random.default_rng(1).integers(1, 5, size=(10, 3)).astype(float)
    ratings[:, 2] = ratings[:, 1]
    weights = bootstrap_weights(["units"] * 10, resamples=300, seed=1).matrix()
    replicates = [alpha_by_loops(np.repeat(ratings, w, axis=0), measurement) for w in weights]
    found = krippendorff_alpha(ratings, measurement, PLAN)
    assert (found.ci_low, found.ci_high) == pytest.approx(np.quantile(replicates, [0.025, 0.975]), abs=1e-10)


def test_clusters_of_units_stay_together() -> None:
    ratings = np.random.default_rng(2).integers(1, 4, size=(40, 3)).astype(float)
    ratings[::2, 1] = ratings[::2, 0]
    repeated = np.repeat(ratings, 5, axis=0)
    alone = krippendorff_alpha(repeated, "nominal", PLAN)
    together = krippendorff_alpha(
        repeated, "nominal", UnitBootstrap(300, 1, clusters=np.repeat(np.arange(40), 5))
    )
    assert together.value == pytest.approx(alone.value, abs=1e-12)
    assert together.n_clusters == 40
    assert together.se > 1.7 * alone.se
    one = krippendorff_alpha(ratings, "nominal", UnitBootstrap(300, 1, clusters=["a"] * 40))
    assert (one.status, one.se) == ("one_cluster", None)


def test_tables_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        krippendorff_alpha([1, 2], "nominal", PLAN)
    with pytest.raises(ValueError, match="unknown"):
        krippendorff_alpha([[1, 2]], "ratio", PLAN)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="64 at most"):
        krippendorff_alpha(np.arange(200).reshape(100, 2), "ordinal", PLAN)
    with pytest.raises(ValueError, match="one per unit"):
        krippendorff_alpha([[1, 2]], "nominal", UnitBootstrap(5, 1, clusters=["a", "b"]))


def test_icc_reproduces_the_published_example() -> None:
    single = intraclass_correlation(JUDGES, "single", PLAN)
    average = intraclass_correlation(JUDGES, "average", PLAN)
    assert single.value == pytest.approx(0.29, abs=0.005)
    assert average.value == pytest.approx(0.62, abs=0.005)
    assert (single.n, single.status) == (6, "ok")


@given(hnp.arrays(float, st.tuples(st.integers(2, 8), st.integers(2, 4)), elements=st.integers(1, 9)))
def test_average_raters_follow_spearman_and_brown(ratings: NDArray) -> None:
    single = intraclass_correlation(ratings, "single", NONE)
    average = intraclass_correlation(ratings, "average", NONE)
    k = ratings.shape[1]
    if single.value is None or average.value is None:
        assert single.status == "undefined" or average.status == "undefined"
    elif abs(1 + (k - 1) * single.value) > 1e-6:
        assert average.value == pytest.approx(k * single.value / (1 + (k - 1) * single.value), abs=1e-6)


def test_icc_leaves_out_units_without_every_rating_and_says_so() -> None:
    found = intraclass_correlation([*JUDGES, [1, GAP, 2, 3]], "single", PLAN)
    assert found.value == pytest.approx(intraclass_correlation(JUDGES, "single", PLAN).value, rel=1e-12)
    assert found.reason == "1 units without every rating left out"
    assert intraclass_correlation([[GAP, 1]], "single", PLAN).status == "no_data"
    for ratings in ([[1, 2]], [[3, 3], [3, 3]], [[1], [2]]):
        nothing = intraclass_correlation(ratings, "average", PLAN)
        assert (nothing.value, nothing.status) == (None, "undefined")
        assert nothing.reason
    with pytest.raises(ValueError, match="unknown"):
        intraclass_correlation(JUDGES, "both", PLAN)  # type: ignore[arg-type]


def test_kappa_by_hand() -> None:
    # 2 x 2 table 20, 5, 10, 15: observed agreement 0.7, expected 0.5.
    first = [1] * 25 + [2] * 25
    second = [1] * 20 + [2] * 5 + [1] * 10 + [2] * 15
    for weighting in ("none", "linear", "quadratic"):
        found = weighted_kappa(first, second, weighting, PLAN)
        assert found.value == pytest.approx(0.4, abs=1e-12)
        assert found.ci_low < 0.4 < found.ci_high


@pytest.mark.parametrize(("weighting", "power"), [("none", 0), ("linear", 1), ("quadratic", 2)])
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=20))
def test_kappa_is_its_definition(weighting: str, power: int, rows: list[tuple[int, int]]) -> None:
    a, b = np.array(rows).T
    observed = np.mean(np.abs(a - b) ** power * (a != b))
    every = np.abs(a[:, None] - b[None, :])
    expected = np.mean(every**power * (every > 0))
    found = weighted_kappa(a, b, weighting, NONE)
    if expected == 0:
        assert (found.value, found.status) == (None, "undefined")
    else:
        assert found.value == pytest.approx(1 - observed / expected, abs=1e-12)


def test_kappa_without_both_ratings_says_so() -> None:
    assert weighted_kappa([1, GAP], [GAP, 2], "linear", PLAN).status == "no_data"
    found = weighted_kappa([1, 2, GAP, 1], [1, 2, 2, 2], "linear", PLAN)
    assert (found.n, found.reason.split("; ")[-1]) == (3, "1 units without every rating left out")
    with pytest.raises(ValueError, match="one shape"):
        weighted_kappa([1], [1, 2], "linear", PLAN)
    with pytest.raises(ValueError, match="unknown"):
        weighted_kappa([1], [1], "cubic", PLAN)  # type: ignore[arg-type]


def test_crowd_votes_agree_little(cases: Path) -> None:
    with (cases / "arena/llmfao/crowd-comparisons.csv").open() as file:
        rows = list(csv.DictReader(file))
    units, workers = (
        np.unique([row[key] for row in rows], return_inverse=True)[1] for key in ("id", "worker")
    )
    votes = np.full((units.max() + 1, workers.max() + 1), GAP)
    votes[units, workers] = np.unique([row["winner"] for row in rows], return_inverse=True)[1]
    found = krippendorff_alpha(votes, "nominal", UnitBootstrap(1000, 1))
    assert found.value == pytest.approx(0.29, abs=0.01)
    assert found.ci_low < found.value < found.ci_high


def test_human_scores_of_edubench(cases: Path) -> None:
    with (cases / "rubrics/edubench/edubench_human_scores_long.csv").open() as file:
        rows = list(csv.DictReader(file))
    keys = ("row", "question_id", "gen_model", "task", "language", "metric")
    units = np.unique(["|".join(row[key] for key in keys) for row in rows], return_inverse=True)[1]
    raters = np.unique([row["rater"] for row in rows], return_inverse=True)[1]
    scores = np.full((units.max() + 1, raters.max() + 1), GAP)
    scores[units, raters] = [float(row["score"] or "nan") for row in rows]
    plan = UnitBootstrap(500, 1)
    assert krippendorff_alpha(scores, "interval", plan).value == pytest.approx(0.451, abs=5e-4)
    icc = intraclass_correlation(scores, "single", plan)
    assert icc.value == pytest.approx(0.460, abs=5e-4)
    assert icc.ci_low < icc.value < icc.ci_high
    paired = scores[~np.isnan(scores).any(axis=1)]
    assert np.corrcoef(paired.T)[0, 1] == pytest.approx(0.477, abs=5e-4)
    assert np.abs(paired[:, 0] - paired[:, 1]).mean() == pytest.approx(1.32, abs=5e-3)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 40), st.just(2)), elements=st.floats(0, 1e6)),
    st.integers(0, 99),
)
def test_sums_on_a_grid_add_up_to_the_same_bits_in_any_order(sums: NDArray, seed: int) -> None:
    fine = _on_grid(sums)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(sums), np.full(len(sums), 1 / len(sums)))
    totals = {
        tuple(np.add.accumulate((fine * drawn[:, None])[rng.permutation(len(sums))])[-1]) for _ in range(5)
    }
    assert len(totals) == 1
    assert np.abs(fine - sums).max() <= 2.0**-50 * max(1.0, sums.max()) * len(sums)
