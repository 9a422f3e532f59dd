"""Bradley-Terry fits, held to a general optimiser and to definitions written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from league_votes import round_robin
from numpy.typing import NDArray
from scipy.optimize import minimize

from magister.arena._dense import inverse, product, solve
from magister.arena.bradley_terry import (
    POINTS,
    TIES,
    Games,
    Likelihood,
    Maximum,
    Ties,
    cell_scores,
    covariance,
    fit,
    profile_ends,
    sandwich,
    under_constraint,
)
from magister.arena.league import order_league
from magister.arena.resamples import design_of
from magister.arena.tally import Tally
from magister.arena.votes import code_votes


def league_of(models: int, games: int, seed: int = 0, **columns: object) -> tuple:
    rows = round_robin(models, games, seed).assign(**columns)  # type: ignore[arg-type]
    votes = code_votes(rows)
    design = design_of(votes, order_league(votes))
    pairs = design.tally.pairs(slice(0, models))
    return design, pairs, Games(*pairs.games(design.tally.counts[None]))


def log_likelihood(theta: NDArray, tally: Tally, likelihood: Likelihood) -> float:
    """A cell at a time, from the model's probabilities."""
    total = 0.0
    for i, j, outcome, count in zip(tally.low, tally.high, tally.outcome, tally.counts, strict=True):
        a, b = np.exp(theta[i]), np.exp(theta[j])
        if likelihood.ties == "half":
            chance = a / (a + b)
            s = (1, 0, 0.5)[outcome]
            total += count * (s * np.log(chance) + (1 - s) * np.log(1 - chance))
        else:
            tie = np.exp(theta[-1]) * np.sqrt(a * b)
            total += count * np.log((a, b, tie)[outcome] / (a + b + tie))
    return total - likelihood.ridge / 2 * float(theta @ theta)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(("models", "games"), [(2, 3), (4, 5), (6, 40)])
def test_the_fit_is_that_of_a_general_optimiser(ties: Ties, models: int, games: int) -> None:
    design, _, data = league_of(models, games)
    likelihood = Likelihood(ties)
    found = fit(data, likelihood)[0]
    q = models + (ties == "davidson")
    peer = minimize(lambda theta: -log_likelihood(theta, design.tally, likelihood), np.zeros(q), tol=1e-10)
    assert np.abs(found - peer.x).max() < 1e-3
    assert likelihood.value(found[None], data)[0] == pytest.approx(
        log_likelihood(found, design.tally, likelihood)
    )
    assert np.abs(likelihood.gradient(found[None], data)).max() < 1e-8
    assert found[:models].mean() == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize("ties", TIES)
def test_the_information_is_the_curvature_and_scores_add_up_to_the_gradient(ties: Ties) -> None:
    design, pairs, data = league_of(4, 8)
    likelihood = Likelihood(ties)
    theta = np.random.default_rng(0).normal(0, 0.5, 4 + (ties == "davidson"))
    step = 1e-5
    moved = np.stack(
        [theta + step * e for e in np.eye(theta.size)] + [theta - step * e for e in np.eye(theta.size)]
    )
    slopes = likelihood.gradient(moved, data.some(np.zeros(2 * theta.size, dtype=np.int64)))
    curvature = (slopes[: theta.size] - slopes[theta.size :]) / (2 * step)
    assert np.allclose(-curvature, likelihood.information(theta[None], data.games)[0], atol=1e-5)
    summed = design.tally.counts @ cell_scores(pairs, likelihood, theta).toarray()
    assert np.allclose(summed - likelihood.ridge * theta, likelihood.gradient(theta[None], data)[0])


@pytest.mark.parametrize("ties", TIES)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), models=st.integers(2, 30))
def test_resamples_have_the_maxima_that_they_have_alone(ties: Ties, seed: int, models: int) -> None:
    design, pairs, data = league_of(models, 3, seed)
    likelihood = Likelihood(ties)
    best = Maximum.at(data, likelihood, fit(data, likelihood)[0])
    drawn = Games(*pairs.games(design.units.totals(0, 12, seed)))
    nearby = fit(drawn, likelihood, best)
    assert np.abs(nearby - fit(drawn, likelihood)).max() < 1e-7
    assert np.abs(likelihood.gradient(nearby, drawn)).max() < 1e-6


def test_a_league_that_was_won_outright_has_a_finite_rating() -> None:
    data = Games(np.array([[[0.0, 6], [6, 0]]]), np.array([[6.0, 0]]), np.zeros(1))
    found = POINTS * fit(data, Likelihood())[0]
    assert 100 < found[0] < 1000
    wider = POINTS * fit(data, Likelihood(prior_sd=2000))[0]
    assert wider[0] > found[0]


def test_a_million_votes_without_defeat_converge() -> None:
    data = Games(np.array([[[0.0, 1e6], [1e6, 0]]]), np.array([[1e6, 0.0]]), np.zeros(1))
    for ties in TIES:
        assert np.isfinite(fit(data, Likelihood(ties))).all()


@pytest.mark.parametrize("ties", TIES)
def test_the_sandwich_is_the_sum_over_instructions_written_out(ties: Ties) -> None:
    design, pairs, data = league_of(4, 30, instruction_id=np.arange(180) % 25)
    likelihood = Likelihood(ties)
    best = Maximum.at(data, likelihood, fit(data, likelihood)[0])
    scores = cell_scores(pairs, likelihood, best.theta).toarray()
    assert design.units.count == 25
    by_unit = design.units.contents.toarray() @ scores
    middle = sum(size * np.outer(s, s) for size, s in zip(design.units.size, by_unit, strict=True))
    bread = np.linalg.inv(likelihood.information(best.theta[None], data.games)[0])
    wanted = (25 / 24 * bread @ middle @ bread)[:4, :4]
    assert np.allclose(sandwich(best, likelihood, pairs, design.units), wanted)


def test_the_variance_of_votes_that_follow_the_model_is_that_of_the_model() -> None:
    votes = code_votes(round_robin(4, 3000, tie=0.0))
    design = design_of(votes, order_league(votes))
    pairs = design.tally.pairs(slice(0, 4))
    data = Games(*pairs.games(design.tally.counts[None]))
    best = Maximum.at(data, Likelihood(), fit(data, Likelihood())[0])
    robust, model = sandwich(best, Likelihood(), pairs, design.units), covariance(best, 4)
    assert np.allclose(np.diag(robust), np.diag(model), rtol=0.05)


def test_a_constraint_holds_and_costs_likelihood() -> None:
    _, _, data = league_of(5, 10)
    likelihood = Likelihood()
    top = fit(data, likelihood)[0]
    contrast = np.array([[1.0, -1, 0, 0, 0], [0, 0, 1, 0, -1]])
    found = under_constraint(data, likelihood, top, contrast, np.zeros(2))
    for c, theta, deviance in zip(contrast, found.theta, found.deviance, strict=True):
        assert c @ theta == pytest.approx(0, abs=1e-9)
        # No other point on the constraint is better.
        rng = np.random.default_rng(0)
        for _ in range(20):
            away = rng.normal(0, 0.05, 5)
            away -= c * (c @ away) / (c @ c)
            assert likelihood.value((theta + away)[None], data)[0] < likelihood.value(theta[None], data)[0]
        lost = 2 * (likelihood.value(top[None], data) - likelihood.value(theta[None], data))[0]
        assert deviance == pytest.approx(lost)


def test_the_profile_end_of_a_clean_sweep_is_that_of_clopper_and_pearson() -> None:
    # A prior so wide that it says nothing: the lower end of 6 of 6 is 0.025^(1/6).
    data = Games(np.array([[[0.0, 6], [6, 0]]]), np.array([[6.0, 0]]), np.zeros(1))
    likelihood = Likelihood(prior_sd=1e5)
    top = fit(data, likelihood)[0]
    critical = np.array([-2 * np.log(0.025)])
    end, _ = profile_ends(data, likelihood, top, np.array([0]), np.array([-1]), critical)
    assert 1 / (1 + np.exp(-2 * end[0])) == pytest.approx(0.025 ** (1 / 6), abs=1e-3)


@pytest.mark.parametrize("n", [1, 2, 47, 48, 49, 64, 65, 150])
def test_dense_pieces_are_numpys(n: int) -> None:
    a = np.random.default_rng(n).normal(size=(n, n))
    matrix = a @ a.T + np.eye(n)
    assert np.allclose(inverse(matrix) @ matrix, np.eye(n), atol=1e-8)
    assert np.allclose(product(a, matrix), a @ matrix)
    right = a[: max(1, n // 2)]
    stack = np.stack([matrix] * right.shape[0])
    assert np.allclose(solve(stack, right), np.linalg.solve(matrix, right.T).T)
