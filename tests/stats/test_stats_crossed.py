"""Items crossed with students."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from magister.stats import (
    CrossedSample,
    bootstrap_weights,
    cluster_jackknife,
    cluster_mean,
    crossed_sample,
    expanded_intervals,
    expanded_level,
    percentile_intervals,
    pigeonhole_replicates,
    student_half_width,
    student_mean,
    student_ratio,
    student_weights,
    tails_are_empty,
)


def gains(totals: NDArray, students: NDArray) -> NDArray:
    """CA and GA of sums (cells, gained, wrong before, fixed)."""
    cells, gained, wrong, fixed = np.moveaxis(totals, -1, 0)
    return np.stack([student_mean(gained, cells, students), student_ratio(fixed, wrong, students)], axis=-1)


def mean_alone(totals: NDArray, students: NDArray) -> NDArray:
    return student_mean(totals[..., 0], totals[..., 1], students)[..., None]


def scores(clusters: int, students: int, seed: int) -> NDArray:
    """Sums (score, 1) of one unit, one item a cluster, shape (C, 1, S, 2)."""
    rng = np.random.default_rng(seed)
    y = (
        rng.normal(size=(clusters, 1))
        + rng.normal(size=(1, students))
        + rng.normal(size=(clusters, students))
    )
    return np.stack([y, np.ones_like(y)], axis=-1)[:, None]


def random_sums(clusters: int = 12, units: int = 3, students: int = 4, seed: int = 1) -> NDArray:
    rng = np.random.default_rng(seed)
    cells = rng.integers(2, 6, size=(clusters, units, students))
    wrong = rng.binomial(cells, 0.6)
    fixed = rng.binomial(wrong, 0.5)
    lost = rng.binomial(cells - wrong, 0.2)
    return np.stack([cells, fixed - lost, wrong, fixed], axis=-1)


def sample(sums: NDArray, resamples: int = 400) -> CrossedSample:
    return crossed_sample(sums, gains, bootstrap_weights(["a"] * sums.shape[0], resamples=resamples, seed=2))


def test_values_are_the_statistics_of_all_items() -> None:
    sums = random_sums()
    found = sample(sums)
    cells, gained, wrong, fixed = np.moveaxis(sums.sum(axis=0), -1, 0)
    assert found.value[::2] == pytest.approx((gained / cells).mean(axis=1), rel=1e-14)
    assert found.value[1::2] == pytest.approx(fixed.sum(axis=1) / wrong.sum(axis=1), rel=1e-14)


def test_random_students_variance_is_the_two_way_analysis_of_variance() -> None:
    """Mean squares of a crossed design: V = (MS_students + MS_items - MS_rest) / (S C)."""
    c, s = 30, 5
    sums = scores(c, s, seed=3)
    y = sums[:, 0, :, 0]
    rows, columns = y.mean(axis=1, keepdims=True), y.mean(axis=0, keepdims=True)
    ms_items = s * ((rows - y.mean()) ** 2).sum() / (c - 1)
    ms_students = c * ((columns - y.mean()) ** 2).sum() / (s - 1)
    ms_rest = ((y - rows - columns + y.mean()) ** 2).sum() / ((c - 1) * (s - 1))
    weights = bootstrap_weights(["a"] * c, resamples=10, seed=1)
    found = crossed_sample(sums, mean_alone, weights)
    assert found.item_variance.item() == pytest.approx(ms_items / (s * c), rel=1e-10)
    assert found.student_variance.item() == pytest.approx(ms_students / (s * c), rel=1e-10)
    assert found.cell_variance.item() == pytest.approx(ms_rest / (s * c), rel=1e-10)
    variance = (ms_students + ms_items - ms_rest) / (s * c)
    assert found.random_students().item().se == pytest.approx(np.sqrt(variance), rel=1e-10)


def test_fixed_students_se_is_the_cluster_robust_one() -> None:
    sums = scores(25, 3, seed=4)
    means = sums[:, 0, :, 0].mean(axis=1)
    weights = bootstrap_weights(["a"] * 25, resamples=4000, seed=1)
    found = crossed_sample(sums, mean_alone, weights).fixed_students().item()
    reference = cluster_mean(means, np.arange(25))
    assert found.se == pytest.approx(reference.se, rel=1e-10)
    assert found.ci_low == pytest.approx(reference.ci_low, abs=0.15 * reference.se)
    assert found.ci_high == pytest.approx(reference.ci_high, abs=0.15 * reference.se)


def test_random_students_are_less_certain_than_fixed_ones() -> None:
    found = crossed_sample(
        scores(40, 4, seed=5), mean_alone, bootstrap_weights(["a"] * 40, resamples=500, seed=1)
    )
    fixed, random = found.fixed_students().item(), found.random_students().item()
    assert fixed.value == random.value
    assert random.ci_high - random.ci_low > fixed.ci_high - fixed.ci_low


def test_few_students_widen_their_own_share_of_the_interval() -> None:
    y = np.array([[0.1, 0.4, 0.6]]).repeat(20, axis=0)
    sums = np.stack([y, np.ones_like(y)], axis=-1)[:, None]
    found = crossed_sample(sums, mean_alone, bootstrap_weights(["a"] * 20, resamples=50, seed=1))
    random, se = found.random_students().item(), scipy_stats.sem(y[0])
    assert random.se == pytest.approx(se, rel=1e-10)
    assert random.ci_high - random.value == pytest.approx(scipy_stats.t.ppf(0.975, 2) * se, rel=1e-10)
    assert found.fixed_students().item().status == "all_equal"


@pytest.mark.parametrize("clusters", [7, 30, 101])
def test_clusters_that_do_not_vary_leave_no_standard_error_of_rounding(clusters: int) -> None:
    sums = np.broadcast_to([3, 1, 3, 1], (clusters, 1, 3, 4))
    found = sample(sums)
    assert found.value == pytest.approx([1 / 3, 1 / 3])
    for estimates in (found.fixed_students(), found.random_students()):
        assert estimates.status.tolist() == ["all_equal", "all_equal"]
        assert np.isnan(estimates.se).all()


def test_no_resamples_leave_random_students_their_interval() -> None:
    found = sample(random_sums(), resamples=0)
    assert set(found.fixed_students().status) == {"no_resamples"}
    assert set(found.random_students().status) == {"ok"}


def test_a_handful_of_clusters_has_the_t_interval_and_says_so() -> None:
    sums = scores(4, 3, seed=2)
    found = crossed_sample(sums, mean_alone, bootstrap_weights(["a"] * 4, resamples=1000, seed=1))
    fixed = found.fixed_students().item()
    reference = cluster_mean(sums[:, 0, :, 0].mean(axis=1), np.arange(4))
    assert (fixed.ci_low, fixed.ci_high) == pytest.approx((reference.ci_low, reference.ci_high), rel=1e-9)
    assert (fixed.status, fixed.reason) == ("ok", "few clusters: Student's t in place of resamples")


@given(st.integers(2, 8), st.integers(1, 4), st.integers(0, 10_000))
def test_every_absent_number_has_a_reason(clusters: int, students: int, seed: int) -> None:
    sums = np.random.default_rng(seed).integers(0, 2, size=(clusters, 2, students, 4))
    found = sample(sums, resamples=30)
    for part in (found, found.differences([(0, 2), (1, 3)])):
        for estimates in (part.fixed_students(), part.random_students()):
            absent = np.isnan(estimates.ci_low) | np.isnan(estimates.ci_high) | np.isnan(estimates.se)
            assert np.array_equal(absent, estimates.status != "ok")
            assert all(estimates.reason[absent])
            assert (estimates.se[~absent] > 0).all()


def test_a_difference_of_a_statistic_with_itself_has_no_variation() -> None:
    found = sample(random_sums()).differences([(0, 0), (0, 2)])
    assert found.fixed_students().status.tolist() == ["all_equal", "ok"]
    assert found.random_students().status.tolist() == ["all_equal", "ok"]
    assert found.fixed_students()[0].se is None


def test_differences_agree_with_a_sample_of_the_difference() -> None:
    sums = random_sums()
    both = np.concatenate([sums[:, 0], sums[:, 1]], axis=-1)[:, None]

    def difference(totals: NDArray, students: NDArray) -> NDArray:
        return gains(totals[..., :4], students) - gains(totals[..., 4:], students)

    weights = bootstrap_weights(["a"] * 12, resamples=300, seed=2)
    direct = crossed_sample(both, difference, weights)
    paired = crossed_sample(sums, gains, weights).differences([(0, 2), (1, 3)])
    for ours, theirs in (
        (paired.fixed_students(), direct.fixed_students()),
        (paired.random_students(), direct.random_students()),
    ):
        assert ours.value == pytest.approx(theirs.value, abs=1e-14)
        assert ours.ci_low == pytest.approx(theirs.ci_low, abs=1e-10)
        assert ours.se == pytest.approx(theirs.se, rel=1e-8)


def test_contributions_of_a_mean_are_the_clusters_shares_of_it() -> None:
    sums = scores(9, 3, seed=6)
    found = crossed_sample(sums, mean_alone, bootstrap_weights(["a"] * 9, resamples=5, seed=1))
    assert found.contributions()[:, 0] == pytest.approx(sums[:, 0, :, 0].mean(axis=1) / 9, rel=1e-10)


def test_an_absent_student_is_no_part_of_the_mean() -> None:
    sums = random_sums(units=1)
    sums[:, :, 3] = 0
    weights = bootstrap_weights(["a"] * 12, resamples=200, seed=1)
    found = crossed_sample(sums, gains, weights, present=[[True, True, True, False]])
    alone = crossed_sample(sums[:, :, :3], gains, weights)
    assert np.array_equal(found.value, alone.value)
    assert found.random_students().se == pytest.approx(alone.random_students().se, rel=1e-12)
    assert found.n_students.tolist() == [3, 3]
    assert np.isnan(crossed_sample(sums, gains, weights).value[0])


def test_one_student_cannot_stand_for_others() -> None:
    found = sample(random_sums(students=1))
    assert set(found.random_students().status) == {"one_student"}
    assert found.random_students()[0].se is None
    assert "one student" in found.random_students()[0].reason
    assert set(found.fixed_students().status) == {"ok"}


@pytest.mark.parametrize(("clusters", "status"), [(1, "one_cluster"), (0, "no_data")])
def test_too_few_clusters_say_so(clusters: int, status: str) -> None:
    found = sample(random_sums(clusters=clusters))
    for estimates in (found.fixed_students(), found.random_students()):
        assert set(estimates.status) == {status}
        assert np.isnan(estimates.ci_low).all()
        assert all(estimates.reason)


def test_a_denominator_of_zero_is_undefined() -> None:
    sums = random_sums()
    sums[..., 2:] = 0
    found = sample(sums)
    assert found.fixed_students().status.tolist() == ["ok", "undefined"] * 3
    assert found.random_students().status.tolist() == ["ok", "undefined"] * 3


def test_strata_of_one_cluster_add_nothing() -> None:
    sums = random_sums(clusters=6)
    weights = bootstrap_weights(["a", "b", "c", "a", "b", "b"], resamples=100, seed=1)
    found = crossed_sample(sums, gains, weights)
    assert found.influence[2] == pytest.approx(np.zeros(6))
    assert set(found.fixed_students().status) == {"ok"}


def test_sums_of_another_shape_are_refused() -> None:
    weights = bootstrap_weights(["a"] * 12, resamples=5, seed=1)
    with pytest.raises(ValueError, match="sums must have shape"):
        crossed_sample(random_sums(clusters=3), gains, weights)
    with pytest.raises(ValueError, match="present must have shape"):
        crossed_sample(random_sums(), gains, weights, present=[[True]])


def test_student_weights_are_a_stream_of_their_own() -> None:
    w = student_weights(4, resamples=2000, seed=3)
    assert (w.sum(axis=1) == 4).all()
    assert w.mean(axis=0) == pytest.approx(np.ones(4), abs=0.08)
    assert np.array_equal(w[:10], student_weights(4, resamples=10, seed=3))


def test_pigeonhole_replicates_vary_with_students_and_items() -> None:
    """Owen's variance of the mean: items + students + three times the interaction, to first order."""
    c, s = 40, 20
    sums = scores(c, s, seed=8)
    weights = bootstrap_weights(["a"] * c, resamples=6000, seed=1)
    found = crossed_sample(sums, mean_alone, weights)
    both = pigeonhole_replicates(sums, mean_alone, weights, seed=1)
    assert both.shape == (6000, 1)
    items = found.item_variance.item() * (c - 1) / c
    students = found.student_variance.item() * (s - 1) / s
    rest = found.cell_variance.item() * (c - 1) / c * (s - 1) / s
    assert both.var() == pytest.approx(items + students + rest, rel=0.08)


def test_expanded_intervals_are_percentiles_at_the_expanded_level_of_the_clusters_read() -> None:
    weights = bootstrap_weights(["a"] * 30 + ["b"] * 30, resamples=4000, seed=2)
    scores = np.random.default_rng(1).random(60)
    read = np.arange(12)
    totals = weights.totals(np.stack([scores[:12], np.ones(12)], axis=1), read)
    replicates = (totals[:, 0] / totals[:, 1])[:, None]
    value = [scores[:12].mean()]
    found = expanded_intervals(value, replicates, weights, clusters=read)[0]
    same = percentile_intervals(
        value, replicates, expanded_level(bootstrap_weights(["a"] * 12, resamples=1, seed=1))
    )[0]
    assert (found.ci_low, found.ci_high) == (same.ci_low, same.ci_high)
    narrower = expanded_intervals(value, replicates, weights)[0]
    assert found.ci_low < narrower.ci_low < narrower.ci_high < found.ci_high


def test_students_t_stands_in_where_the_tails_hold_no_resample() -> None:
    weights = bootstrap_weights(["a"] * 3, resamples=500, seed=2)
    scores = np.array([0.1, 0.4, 0.9])
    replicates = weights.totals(scores[:, None]) / 3
    found = expanded_intervals([scores.mean()], replicates, weights)[0]
    half = scipy_stats.t.ppf(0.975, 2) * np.sqrt(3 / 2) * replicates.std(ddof=1)
    assert found.ci_high == pytest.approx(scores.mean() + half)
    assert "Student's t" in found.reason
    assert expanded_intervals([0.5], np.full((500, 1), 0.5), weights)[0].status == "all_equal"


def test_the_expanded_level_holds_the_t_interval_of_few_clusters() -> None:
    weights = bootstrap_weights(["a"] * 10, resamples=1, seed=1)
    z = scipy_stats.norm.ppf(0.5 + expanded_level(weights) / 2)
    assert z == pytest.approx(scipy_stats.t.ppf(0.975, 9) * np.sqrt(10 / 9), rel=1e-9)
    many = bootstrap_weights(["a"] * 100_000, resamples=0, seed=1)
    assert expanded_level(many) == pytest.approx(0.95, abs=1e-4)
    assert expanded_level(bootstrap_weights(["a", "a"], resamples=1, seed=1)) < 1
    still = bootstrap_weights(["a", "b"], resamples=1, seed=1)
    assert expanded_level(still) == 0.95


@given(st.integers(2, 20), st.integers(0, 10_000))
def test_order_of_students_does_not_matter(clusters: int, seed: int) -> None:
    sums = random_sums(clusters=clusters, units=1, seed=seed)
    weights = bootstrap_weights(["a"] * clusters, resamples=20, seed=1)
    there = crossed_sample(sums, gains, weights)
    back = crossed_sample(sums[:, :, ::-1], gains, weights)
    assert there.value == pytest.approx(back.value, rel=1e-12, nan_ok=True)
    assert there.student_variance == pytest.approx(back.student_variance, rel=1e-8, abs=1e-15, nan_ok=True)


def test_the_jackknife_of_a_mean_is_its_textbook_variance() -> None:
    y = np.array([1.0, 4.0, 2.0, 9.0, 5.0])
    weights = bootstrap_weights(["a"] * 5, resamples=0, seed=1)
    left_out = (y.sum() - y)[:, None] / 4
    found = cluster_jackknife(left_out, weights)
    assert found.variance[0] == pytest.approx(y.var(ddof=1) / 5)
    assert found.influence.sum() == pytest.approx(0)
    assert found.influence[:, 0] == pytest.approx((y - y.mean()) / 5)


def test_too_few_clusters_for_the_tails_are_told_apart_from_enough() -> None:
    few, many = (bootstrap_weights(["a"] * n, resamples=1000, seed=1) for n in (4, 40))
    assert tails_are_empty(few)
    assert not tails_are_empty(many)
    assert student_half_width(np.array([1.0]), few)[0] == pytest.approx(scipy_stats.t.ppf(0.975, 3))
