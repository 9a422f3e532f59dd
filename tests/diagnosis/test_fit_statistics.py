"""M2, RMSEA2 and SRMSR, against the published row, enumeration and simulated truth."""

import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ncx2

from magister.diagnosis import fit_exact_em
from magister.diagnosis.fit_statistics import (
    _covariance,
    _derivatives,
    _Model,
    fit_statistics,
    rmsea_interval,
)
from magister.diagnosis.simulation import simulate_dina, simulate_mastery, simulate_q
from magister.errors import UserError

MODEL = _Model(
    np.array([0.2, 0.15, 0.25, 0.4]),
    np.array([[0, 0, 0, 0], [1, 0, 0, 1], [0, 1, 0, 0], [1, 1, 1, 1]], dtype=bool),
    np.array([0.1, 0.2, 0.15, 0.3]),
    np.array([0.2, 0.1, 0.05, 0.15]),
)


def shares(model: _Model) -> np.ndarray:
    """Shares of right responses to items and pairs, over all response patterns."""
    patterns, chance = every_pattern(model)
    return chance @ moments_of(patterns)


def every_pattern(model: _Model) -> tuple[np.ndarray, np.ndarray]:
    patterns = np.array(list(itertools.product([0, 1], repeat=len(model.guess))))
    by_class = np.where(patterns[:, None, :] == 1, model.chance, 1 - model.chance).prod(axis=2)
    return patterns, by_class @ model.probability


def moments_of(patterns: np.ndarray) -> np.ndarray:
    first, second = np.triu_indices(patterns.shape[1], k=1)
    return np.concatenate([patterns, patterns[:, first] * patterns[:, second]], axis=1)


def test_the_covariance_of_shares_is_that_over_all_patterns() -> None:
    patterns, chance = every_pattern(MODEL)
    moments = moments_of(patterns)
    mean = chance @ moments
    expected = (moments * chance[:, None]).T @ moments - np.outer(mean, mean)
    np.testing.assert_allclose(_covariance(MODEL), expected, atol=1e-14)


def test_the_derivatives_of_shares_are_those_by_differences() -> None:
    items, step = 4, 1e-6
    expected = []
    for number in range(2 * items):
        guess, right = MODEL.guess.copy(), 1 - MODEL.slip
        (guess if number < items else right)[number % items] += step
        moved = _Model(MODEL.probability, MODEL.masters, guess, 1 - right)
        expected.append((shares(moved) - shares(MODEL)) / step)
    for number in range(3):  # the last class is the likeliest: it gives what another takes
        probability = MODEL.probability.copy()
        probability[[number, 3]] += step, -step
        moved = _Model(probability, MODEL.masters, MODEL.guess, MODEL.slip)
        expected.append((shares(moved) - shares(MODEL)) / step)
    np.testing.assert_allclose(_derivatives(MODEL), np.stack(expected, axis=1), atol=1e-5)


def test_the_published_row_is_met(cases: Path) -> None:
    responses = pd.read_csv(cases / "diagnosis/ecpe_X.csv")
    fit = fit_exact_em(
        responses, pd.read_csv(cases / "diagnosis/ecpe_Q3.csv"), method="squarem", tolerance=1e-7
    )
    published = pd.read_csv(cases / "diagnosis/ecpe_dina_fit_GDINA_2.11.0.csv").set_index("stat")["value"]
    found = fit_statistics(fit, responses)
    assert -2 * fit.loglik == pytest.approx(published["neg2LL"], abs=0.01)
    assert fit.parameters == published["npar"]
    assert fit.aic == pytest.approx(published["AIC"], abs=0.01)
    assert fit.bic == pytest.approx(published["BIC"], abs=0.01)
    assert found.m2 == pytest.approx(published["M2"], abs=0.05)
    assert found.df == published["M2_df"]
    assert found.rmsea2 == pytest.approx(published["RMSEA2"], abs=5e-5)
    assert found.ci_low == pytest.approx(published["RMSEA2_lo90"], abs=5e-5)
    assert found.ci_high == pytest.approx(published["RMSEA2_hi90"], abs=5e-5)
    assert found.srmsr == pytest.approx(published["SRMSR"], abs=5e-5)
    assert found.srmsr == pytest.approx(published["CDM_SRMSR"], abs=2e-6)


def test_m2_is_a_chi_square_where_the_model_holds() -> None:
    z = []
    q = np.array([[1, 0]] * 3 + [[0, 1]] * 3 + [[1, 1]] * 2, dtype=bool)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = simulate_dina(simulate_mastery(800, 2, 0.3, rng), q, rng)
        fit = fit_exact_em(truth.responses, truth.q.astype(int), method="squarem", tolerance=1e-6)
        found = fit_statistics(fit, truth.responses)
        assert found.df == 8 + 28 - (16 + 3)
        z.append((found.m2 - found.df) / math.sqrt(2 * found.df))
    assert abs(np.mean(z)) < 0.5
    assert 0.6 < np.std(z) < 1.4


def test_a_wrong_q_matrix_is_seen() -> None:
    rng = np.random.default_rng(1)
    truth = simulate_dina(simulate_mastery(1500, 3, 0.3, rng), simulate_q(12, 3, rng), rng)
    right = fit_statistics(fit_exact_em(truth.responses, truth.q.astype(int)), truth.responses)
    wrong_q = np.roll(truth.q, 1, axis=1).astype(int)
    wrong_q[:6] = truth.q[:6]
    wrong = fit_statistics(fit_exact_em(truth.responses, wrong_q), truth.responses)
    assert right.p > 0.01
    assert wrong.p < 1e-6
    assert wrong.rmsea2 > right.rmsea2
    assert wrong.srmsr > right.srmsr


def test_the_interval_inverts_the_noncentral_chi_square() -> None:
    low, high = rmsea_interval(560.0, 343, 2922, 0.9)
    assert ncx2.cdf(560.0, 343, low**2 * 343 * 2922) == pytest.approx(0.95, abs=1e-6)
    assert ncx2.cdf(560.0, 343, high**2 * 343 * 2922) == pytest.approx(0.05, abs=1e-6)
    assert rmsea_interval(300.0, 343, 2922, 0.9)[0] == 0.0
    assert rmsea_interval(200.0, 343, 2922, 0.9) == (0.0, 0.0)


def test_order_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    truth = simulate_dina(simulate_mastery(300, 2, 0.3, rng), simulate_q(8, 2, rng), rng)
    frame = pd.DataFrame(truth.responses.correct, index=truth.responses.models, columns=truth.responses.items)
    q = pd.DataFrame(truth.q.astype(int), index=frame.columns, columns=["a", "b"])
    moved = frame.iloc[::-1, ::-1]
    one = fit_statistics(fit_exact_em(frame, q), frame)
    other = fit_statistics(fit_exact_em(moved, q), moved)
    assert one == other


def test_where_nothing_is_left_to_test_m2_is_unknown_with_a_reason() -> None:
    rng = np.random.default_rng(3)
    truth = simulate_dina(rng.random((200, 1)) < 0.5, np.ones((3, 1), dtype=bool), rng)
    found = fit_statistics(fit_exact_em(truth.responses, truth.q.astype(int)), truth.responses)
    assert math.isnan(found.m2)
    assert found.df < 1
    assert "nothing is left to test" in found.reason
    assert math.isfinite(found.srmsr)


def test_what_it_cannot_be_of_is_an_error() -> None:
    rng = np.random.default_rng(4)
    truth = simulate_dina(simulate_mastery(60, 2, 0.3, rng), simulate_q(8, 2, rng), rng)
    responses, q = truth.responses, truth.q.astype(int)
    gaps = responses.masked(np.array([3]), np.array([2]))
    with pytest.raises(UserError, match="1 responses are missing"):
        fit_statistics(fit_exact_em(gaps, q), gaps)
    with pytest.raises(UserError, match="saturated"):
        fit_statistics(fit_exact_em(responses, q, prior="independent"), responses)
    with pytest.raises(UserError, match="not those of the fit"):
        fit_statistics(fit_exact_em(responses, q), pd.DataFrame(responses.correct))
    with pytest.raises(UserError, match="level"):
        fit_statistics(fit_exact_em(responses, q), responses, level=1.0)
