"""The two-parameter logistic model, against numerical integration and simulated truth."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import norm

from magister.diagnosis import fit_2pl, irt
from magister.diagnosis._squarem import Stop
from magister.diagnosis.fits import IrtFit
from magister.diagnosis.matrix import MISSING, ResponseMatrix
from magister.diagnosis.simulation import simulate_2pl
from magister.errors import UserError


def with_gaps(responses: ResponseMatrix, share: float, seed: int) -> ResponseMatrix:
    rows, columns = np.nonzero(np.random.default_rng(seed).random(responses.correct.shape) < share)
    return responses.masked(rows, columns)


@pytest.fixture(scope="module")
def study() -> ResponseMatrix:
    return with_gaps(simulate_2pl(80, 6, np.random.default_rng(1)), 0.15, 2)


def likelihood(fit: IrtFit, answers: NDArray[np.int8], theta: float) -> float:
    there = answers != MISSING
    chance = 1 / (1 + np.exp(-(fit.slope * theta + fit.intercept)))
    return float(np.prod(np.where(answers == 1, chance, 1 - chance)[there]))


def test_likelihood_abilities_and_predictions_are_the_integrals_they_stand_for(study: ResponseMatrix) -> None:
    fit = fit_2pl(study)
    loglik = 0.0
    for row, answers in enumerate(study.correct):

        def integral(of, answers: NDArray[np.int8] = answers) -> float:
            return quad(lambda t: of(t) * likelihood(fit, answers, t) * norm.pdf(t), -9, 9, epsabs=1e-13)[0]

        total = integral(lambda _: 1.0)
        loglik += math.log(total)
        mean = integral(lambda t: t) / total
        assert fit.theta[row] == pytest.approx(mean, abs=1e-5)
        assert fit.theta_sd[row] ** 2 == pytest.approx(
            integral(lambda t, m=mean: (t - m) ** 2) / total, abs=1e-5
        )
        for item in (0, 5):
            chance = (
                integral(lambda t, j=item: 1 / (1 + math.exp(-(fit.slope[j] * t + fit.intercept[j])))) / total
            )
            assert fit.predicted[row, item] == pytest.approx(chance, abs=1e-5)
    assert fit.loglik == pytest.approx(loglik, abs=1e-4)


def test_no_nearby_items_are_better(study: ResponseMatrix) -> None:
    """The penalised likelihood is flat at the estimate and falls on all sides."""
    fit = fit_2pl(study, tolerance=1e-8)
    data, nodes, prior = irt._data(study), irt._nodes(0.2), irt._Prior(irt.SLOPE_SD, irt.INTERCEPT_SD)

    def objective(items: NDArray[np.float64]) -> float:
        point = irt._with_typical(items, prior)
        _, loglik = irt._expect(data, nodes, point)
        return math.fsum(loglik) + prior.log_density(point)

    items = np.concatenate([fit.slope, fit.intercept])
    best = objective(items)
    for at in range(items.size):
        for move in (-0.02, 0.02):
            there = items.copy()
            there[at] += move
            assert objective(there) < best


def test_the_objective_never_falls(study: ResponseMatrix) -> None:
    data, prior = irt._data(study), irt._Prior(irt.SLOPE_SD, irt.INTERCEPT_SD)
    path = irt._maximise(data, prior, irt._nodes(0.1), irt._start(data, prior), Stop(1e-9, 1e-15, 200))
    assert len(path.trace) > 5
    assert np.diff(path.trace).min() > -1e-7


def test_the_truth_is_recovered() -> None:
    rng = np.random.default_rng(3)
    responses = simulate_2pl(2000, 60, rng)
    again = np.random.default_rng(3)
    theta = again.standard_normal(2000)
    slope, difficulty = again.uniform(0.8, 2.0, 60), again.normal(0.0, 1.0, 60)
    fit = fit_2pl(responses)
    assert fit.converged
    assert np.corrcoef(fit.theta, theta)[0, 1] > 0.95
    assert np.abs(fit.slope - slope).mean() < 0.09
    assert np.mean(fit.slope / slope) == pytest.approx(1.0, abs=0.03)
    assert np.abs(fit.intercept + slope * difficulty).mean() < 0.08
    inside = np.abs(theta - fit.theta) < 1.96 * fit.theta_sd
    assert 0.93 < inside.mean() < 0.97


def test_many_items_and_few_models_keep_the_scale_of_abilities() -> None:
    """However many items there are, their priors do not stretch the abilities."""
    fit = fit_2pl(simulate_2pl(300, 1200, np.random.default_rng(4)))
    assert math.hypot(fit.theta.std(), fit.theta_sd.mean()) == pytest.approx(1.0, abs=0.02)
    assert fit.theta.mean() == pytest.approx(0.0, abs=0.02)


def test_held_out_cells_are_predicted_better_than_by_the_items_means() -> None:
    whole = simulate_2pl(500, 50, np.random.default_rng(5))
    gaps = with_gaps(whole, 0.2, 6)
    hidden = ~gaps.answered
    fit = fit_2pl(gaps)
    means = np.broadcast_to(np.nanmean(np.where(gaps.answered, gaps.correct, np.nan), axis=0), hidden.shape)

    def loss(chance: NDArray[np.float64]) -> float:
        return float(-np.mean(np.log(np.where(whole.correct == 1, chance, 1 - chance)[hidden])))

    assert loss(fit.predicted) < loss(means) - 0.05
    assert np.mean(fit.predicted[hidden]) == pytest.approx(whole.correct[hidden].mean(), abs=0.01)


def test_responses_missing_at_random_leave_estimates_near() -> None:
    whole = simulate_2pl(1500, 40, np.random.default_rng(7))
    one, two = fit_2pl(whole), fit_2pl(with_gaps(whole, 0.2, 8))
    assert np.corrcoef(one.theta, two.theta)[0, 1] > 0.97
    assert np.abs(one.slope - two.slope).mean() < 0.1
    assert two.theta_sd.mean() > one.theta_sd.mean()


def test_an_item_that_fits_in_with_none_has_a_slope_near_zero_and_a_reversed_one_below() -> None:
    responses = simulate_2pl(1000, 30, np.random.default_rng(9))
    responses.correct[:, 0] = np.random.default_rng(10).integers(0, 2, 1000)
    responses.correct[:, 1] = 1 - responses.correct[:, 1]
    fit = fit_2pl(responses)
    assert abs(fit.slope[0]) < 0.25
    assert fit.slope[1] < -0.5


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 9), st.integers(2, 7), st.integers(0, 10_000), st.sampled_from(["any", "right", "wrong"])
)
def test_studies_however_small_have_finite_estimates(models: int, items: int, seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    correct = rng.integers(0, 2, (models, items)).astype(np.int8)
    if kind != "any":
        correct[:, 0] = kind == "right"
    fit = fit_2pl(correct)
    for values in (fit.slope, fit.intercept, fit.theta, fit.theta_sd, fit.predicted):
        assert np.isfinite(values).all()
    assert fit.predicted.min() > 0
    assert fit.predicted.max() < 1
    assert math.isfinite(fit.loglik)


@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=False), st.booleans())
def test_the_order_of_models_and_items_does_not_matter(random, gaps: bool) -> None:
    responses = simulate_2pl(37, 11, np.random.default_rng(random.randrange(1000)))
    if gaps:
        responses = with_gaps(responses, 0.2, 11)
    rows = random.sample(range(37), 37)
    columns = random.sample(range(11), 11)
    moved = ResponseMatrix(
        tuple(responses.models[row] for row in rows),
        tuple(responses.items[column] for column in columns),
        responses.correct[np.ix_(rows, columns)],
    )
    one, other = fit_2pl(responses), fit_2pl(moved)
    assert one.loglik == other.loglik
    np.testing.assert_array_equal(one.slope[columns], other.slope)
    np.testing.assert_array_equal(one.theta[rows], other.theta)
    np.testing.assert_array_equal(one.predicted[np.ix_(rows, columns)], other.predicted)


def test_threads_of_the_blas_do_not_change_a_bit() -> None:
    code = (
        "import hashlib, numpy as np\n"
        "from magister.diagnosis import fit_2pl\n"
        "from magister.diagnosis.simulation import simulate_2pl\n"
        "fit = fit_2pl(simulate_2pl(700, 130, np.random.default_rng(12)))\n"
        "print(hashlib.sha256(fit.predicted.tobytes() + fit.theta.tobytes()).hexdigest())\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2", "3")
    }
    assert len(found) == 1


def test_one_ability_predicts_the_answers_of_29_models(cases: Path) -> None:
    table = pd.read_csv(cases / "diagnosis/mmlu_pro_12032x29.csv", nrows=600).iloc[:, 5:]
    responses = table.T
    responses.columns = [f"q{number}" for number in range(600)]
    responses = responses.loc[:, responses.notna().any()]
    fit = fit_2pl(responses)
    shares = responses.mean(axis=1).to_numpy(dtype=float)
    assert np.corrcoef(fit.theta, shares)[0, 1] > 0.97
    assert fit.predicted.shape == responses.shape


def test_too_small_studies_and_odd_settings_are_errors() -> None:
    with pytest.raises(UserError, match="at least 2 models and 2 items, found 1 and 3"):
        fit_2pl(np.array([[1, 0, 1]]))
    with pytest.raises(UserError, match="above 0"):
        fit_2pl(np.eye(3), slope_sd=0.0)
    with pytest.raises(UserError, match="found 2"):
        fit_2pl(np.array([[1, 2], [0, 1]]))
