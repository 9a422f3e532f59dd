"""The stratified cluster bootstrap."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats as scipy_stats

from magister.stats import _bootstrap as module
from magister.stats import bootstrap_weights, percentile_intervals, ratio_intervals, statistic_intervals

STRATA = ["a"] * 7 + ["b"] * 3 + ["c"]


def test_each_resample_draws_as_many_clusters_as_each_stratum_has() -> None:
    w = bootstrap_weights(STRATA, resamples=300, seed=1).matrix()
    assert w.shape == (300, 11)
    assert (w[:, :7].sum(axis=1) == 7).all()
    assert (w[:, 7:10].sum(axis=1) == 3).all()
    assert (w[:, 10] == 1).all()


def test_weights_are_multinomial() -> None:
    w = bootstrap_weights(["a"] * 5, resamples=20_000, seed=2).matrix().astype(float)
    assert w.mean(axis=0) == pytest.approx(np.ones(5), abs=0.03)
    covariance = np.cov(w.T)
    assert np.diag(covariance) == pytest.approx(np.full(5, 4 / 5), abs=0.04)
    assert covariance[0, 1] == pytest.approx(-1 / 5, abs=0.03)


def test_totals_are_the_product_with_the_weights_for_any_rows() -> None:
    weights = bootstrap_weights(["b", "a", "b", "a", "a"], resamples=200, seed=3)
    sums = np.arange(10).reshape(5, 2)
    assert np.array_equal(weights.totals(sums), weights.matrix() @ sums)
    some = np.array([3, 0, 4])
    assert np.array_equal(weights.totals(sums[some], some), weights.matrix()[:, some] @ sums[some])
    assert np.array_equal(weights.totals(sums[:0], some[:0]), np.zeros((200, 2)))


def test_totals_do_not_depend_on_the_size_of_the_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = np.random.default_rng(1).integers(0, 50, size=(11, 4))
    whole = bootstrap_weights(STRATA, resamples=1000, seed=4).totals(sums)
    monkeypatch.setattr(module, "_PRODUCT_BYTES", 1)
    pieces = module.BootstrapWeights(STRATA, resamples=1000, seed=4, keep_bytes=0)
    assert np.array_equal(pieces.totals(sums), whole)
    assert np.array_equal(pieces.totals(sums), whole)


def test_wide_and_narrow_floats_give_the_same_exact_totals() -> None:
    sums = np.random.default_rng(1).integers(0, 50, size=(11, 4))
    weights = bootstrap_weights(STRATA, resamples=500, seed=4)
    # An odd factor: float32 could hold the multiple of a power of two.
    factor = 2**30 + 1
    assert np.array_equal(weights.totals(sums * factor), weights.totals(sums) * factor)


def test_more_resamples_and_more_strata_leave_earlier_draws_alone() -> None:
    few = bootstrap_weights(STRATA, resamples=130, seed=5).matrix()
    many = bootstrap_weights([*STRATA, "d", "d"], resamples=400, seed=5).matrix()
    assert np.array_equal(many[:130, :11], few)
    assert not np.array_equal(bootstrap_weights(STRATA, resamples=130, seed=6).matrix(), few)


def test_totals_do_not_depend_on_the_number_of_threads() -> None:
    code = (
        "import numpy as np, hashlib; from magister.stats import bootstrap_weights as b;"
        "s = np.random.default_rng(1).integers(0, 9, (900, 300));"
        "t = b(['x'] * 900, resamples=500, seed=1).totals(s);"
        "print(hashlib.sha256(np.ascontiguousarray(t).tobytes()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"OPENBLAS_NUM_THREADS": threads, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(digests) == 1


def test_percentile_interval_is_the_numpy_quantile() -> None:
    replicates = np.random.default_rng(2).normal(size=(501, 3))
    found = percentile_intervals([0.0, 0.1, 0.2], replicates, 0.9)
    assert np.array_equal(found.value, [0.0, 0.1, 0.2])
    assert found.ci_low == pytest.approx(np.quantile(replicates, 0.05, axis=0), rel=1e-12)
    assert found.ci_high == pytest.approx(np.quantile(replicates, 0.95, axis=0), rel=1e-12)
    assert found.se == pytest.approx(replicates.std(axis=0, ddof=1), rel=1e-12)


def test_few_undefined_resamples_are_left_out_and_many_leave_no_interval() -> None:
    replicates = np.tile(np.linspace(0, 1, 100)[:, None], (1, 3))
    replicates[:4, 1] = np.nan
    replicates[:40, 2] = np.nan
    found = percentile_intervals([0.5, 0.5, 0.5], replicates)
    assert found.status.tolist() == ["ok", "ok", "undefined_resamples"]
    assert found.reason.tolist() == [
        "",
        "undefined on 4 of 100 resamples and left out",
        "undefined on 40 of 100 resamples",
    ]
    assert found[1].ci_low == pytest.approx(np.nanquantile(replicates[:, 1], 0.025))
    assert found[2].ci_low is None
    assert found[2].value == 0.5


def test_ratio_intervals_cover_the_truth() -> None:
    """Clusters of two to five answers with a common effect; 95 % intervals of the share of right answers."""
    rng = np.random.default_rng(7)
    hits = 0
    simulations = 300
    weights = bootstrap_weights(["a"] * 60, resamples=400, seed=8)
    for _ in range(simulations):
        sizes = rng.integers(2, 6, size=60)
        chance = rng.beta(2, 2, size=60)
        found = ratio_intervals(rng.binomial(sizes, chance), sizes, weights).item()
        assert found.ci_low is not None
        assert found.ci_high is not None
        hits += found.ci_low <= 0.5 <= found.ci_high
    # Percentile intervals of 60 clusters cover a little less than they claim.
    assert 0.90 <= hits / simulations <= 0.98


def test_se_of_a_mean_agrees_with_the_closed_form() -> None:
    x = np.random.default_rng(9).normal(size=200)
    weights = bootstrap_weights(["a"] * 200, resamples=4000, seed=1)
    found = ratio_intervals(x, np.ones(200), weights).item()
    assert found.se == pytest.approx(x.std() / np.sqrt(200), rel=0.05)


def test_bca_agrees_with_scipy() -> None:
    x = np.random.default_rng(10).lognormal(size=60)
    weights = bootstrap_weights(["a"] * 60, resamples=20_000, seed=2)
    ours = ratio_intervals(x, np.ones(60), weights, method="bca").item()
    theirs = scipy_stats.bootstrap(
        (x,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(1)
    ).confidence_interval
    plain = ratio_intervals(x, np.ones(60), weights).item()
    width = theirs.high - theirs.low
    assert ours.ci_low == pytest.approx(theirs.low, abs=0.03 * width)
    assert ours.ci_high == pytest.approx(theirs.high, abs=0.03 * width)
    assert abs(plain.ci_high - theirs.high) > 0.03 * width


def test_bca_over_strata_stays_near_percentile_for_a_symmetric_mean() -> None:
    x = np.random.default_rng(11).normal(size=90)
    weights = bootstrap_weights(["a"] * 30 + ["b"] * 60, resamples=8000, seed=2)
    bca, plain = (ratio_intervals(x, np.ones(90), weights, method=m).item() for m in ("bca", "percentile"))
    assert bca.ci_low == pytest.approx(plain.ci_low, abs=0.02)
    assert bca.ci_high == pytest.approx(plain.ci_high, abs=0.02)


def test_products_of_ratios_are_statistics_of_sums() -> None:
    sums = np.array([[2, 4, 3], [1, 5, 4], [0, 3, 3], [2, 2, 1]])
    weights = bootstrap_weights(["a"] * 4, resamples=500, seed=3)
    found = statistic_intervals(sums, lambda t: t[..., :1] / t[..., 1:2] * t[..., 2:], weights)
    assert found.item().value == pytest.approx(5 / 14 * 11)
    w = weights.matrix() @ sums
    assert found.item().ci_low == pytest.approx(np.quantile(w[:, 0] / w[:, 1] * w[:, 2], 0.025))


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize(
    ("top", "bottom", "strata", "status", "value"),
    [
        ([1, 2], [2, 4], ["a", "a"], "all_equal", 0.5),
        ([0, 0], [0, 0], ["a", "a"], "undefined", None),
        ([3], [4], ["a"], "one_cluster", 0.75),
        ([3, 1], [4, 2], ["a", "b"], "one_cluster", 4 / 6),
        ([], [], [], "no_data", None),
    ],
)
def test_degenerate_ratios_say_so(
    top: list[int], bottom: list[int], strata: list[str], status: str, value: float | None, method: str
) -> None:
    weights = bootstrap_weights(strata, resamples=50, seed=1)
    found = ratio_intervals(top, bottom, weights, method=method).item()  # type: ignore[arg-type]
    assert found.status == status
    assert found.value == value
    assert (found.ci_low, found.ci_high, found.se) == (None, None, None)
    assert found.reason


def test_no_resamples_is_a_value_without_interval() -> None:
    found = ratio_intervals([1, 0], [1, 1], bootstrap_weights(["a", "a"], resamples=0, seed=1)).item()
    assert (found.value, found.ci_low, found.status) == (0.5, None, "no_resamples")


def test_bad_shapes_and_settings_are_refused() -> None:
    weights = bootstrap_weights(["a", "a"], resamples=5, seed=1)
    with pytest.raises(ValueError, match="one shape"):
        ratio_intervals([1, 2], [1], weights)
    with pytest.raises(ValueError, match="must have shape"):
        weights.totals(np.ones((3, 1)))
    with pytest.raises(ValueError, match="resamples"):
        bootstrap_weights(["a"], resamples=-1, seed=1)
    with pytest.raises(ValueError, match="seed"):
        bootstrap_weights(["a"], resamples=1, seed=-1)
    with pytest.raises(ValueError, match="replicates must have shape"):
        percentile_intervals([1.0, 2.0], np.ones((5, 1)))
