"""Fits by SAEM: what they recover, what they may not depend on, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from saem_cases import believed, names, prior_of, same_fit, simulated

from magister.diagnosis import fit_exact_em, fit_saem
from magister.diagnosis._chain import set_apart
from magister.diagnosis.fits import EmFit
from magister.diagnosis.matrix import MISSING, ResponseMatrix
from magister.diagnosis.prior import QPrior, point_prior
from magister.diagnosis.saem import SaemOptions
from magister.diagnosis.simulation import Truth, flip, mislabel
from magister.errors import UserError

QUICK = SaemOptions(max_sweeps=200)
BERNOULLI = SaemOptions(alpha_prior="bernoulli", parallel_sweeps=0, delta=0.02)


@pytest.fixture(scope="module")
def truth() -> Truth:
    return simulated(600, 200, 8, seed=1)


@pytest.fixture(scope="module")
def small() -> Truth:
    return simulated(150, 40, 4, seed=2, missing=0.1)


def test_labels_that_are_wrong_for_a_fifth_of_the_items_are_put_right(truth: Truth) -> None:
    wrong = mislabel(truth.q, 0.2, np.random.default_rng(1))
    fit = fit_saem(truth.responses, believed(truth, wrong), seed=1)
    assert np.array_equal(fit.q > 0.5, truth.q)
    assert ((fit.alpha > 0.5) == truth.alpha).mean() >= 0.995
    assert np.abs(fit.guess - truth.guess).mean() < 0.02
    assert np.abs(fit.slip - truth.slip).mean() < 0.02
    assert fit.diagnostics.converged, fit.diagnostics.reason
    assert fit.diagnostics.q_jaccard == 1.0


@pytest.mark.slow
def test_parallel_sweeps_find_what_single_draws_from_a_spoiled_prior_do_not() -> None:
    hybrid, sequential = [], []
    single = replace(QUICK, starts=1)
    for seed in (1, 2, 3):
        truth = simulated(1000, 300, 16, seed=seed)
        wrong = flip(truth.q, 0.25, np.random.default_rng(seed))
        for found, options in ((hybrid, single), (sequential, replace(single, parallel_sweeps=0))):
            fit = fit_saem(truth.responses, believed(truth, wrong), seed=1, chains=2, options=options)
            found += [((chain.q > 0.5) == truth.q).all(axis=1).mean() for chain in fit.chains]
    assert np.mean(hybrid) > 0.99
    assert np.mean(hybrid) > np.mean(sequential) + 0.1


def test_threads_change_no_bit(small: Truth) -> None:
    prior = believed(small, flip(small.q, 0.1, np.random.default_rng(1)))
    cells = (np.array([3, 1, 3]), np.array([7, 2, 1]))
    fits = [
        fit_saem(small.responses, prior, seed=5, chains=3, options=QUICK, threads=threads, held_out=cells)
        for threads in (1, 2, 3)
    ]
    assert same_fit(fits[0], fits[1])
    assert same_fit(fits[0], fits[2])


def test_a_chain_does_not_depend_on_how_many_others_run(small: Truth) -> None:
    prior = believed(small, small.q)
    one, two = (fit_saem(small.responses, prior, seed=5, chains=n, options=QUICK) for n in (1, 2))
    assert one.chains[0].alpha.tobytes() == two.chains[0].alpha.tobytes()
    assert one.chains[0].guess.tobytes() == two.chains[0].guess.tobytes()


def test_another_seed_gives_other_draws(small: Truth) -> None:
    prior = believed(small, small.q)
    one, two = (fit_saem(small.responses, prior, seed=seed, chains=1, options=QUICK) for seed in (1, 2**70))
    assert one.alpha.tobytes() != two.alpha.tobytes()


def test_chains_start_apart(small: Truth) -> None:
    fit = fit_saem(small.responses, believed(small, small.q), seed=1, chains=3, options=QUICK)
    first = [chain.trace_loglik[0] for chain in fit.chains]
    assert len(set(first)) == 3


def test_the_order_of_the_priors_items_does_not_matter(small: Truth) -> None:
    prior = believed(small, small.q)
    turned = QPrior(prior.items[::-1], prior.attributes, prior.reference[::-1], prior.probability[::-1])
    one, two = (fit_saem(small.responses, p, seed=1, chains=1, options=QUICK) for p in (prior, turned))
    assert same_fit(one, two)


def exact_fit(truth: Truth) -> EmFit:
    """Marginal maximum likelihood under the same prior."""
    q = pd.DataFrame(truth.q.astype(int), index=list(truth.responses.items))
    return fit_exact_em(truth.responses, q, prior="independent")


def test_a_fixed_q_gives_what_exact_em_gives() -> None:
    truth = simulated(800, 24, 3, seed=3, missing=0.1)
    exact = exact_fit(truth)
    fit = fit_saem(truth.responses, prior_of(truth.q, truth.responses.items), seed=1, options=BERNOULLI)
    assert np.array_equal(fit.q, truth.q)
    assert np.abs(fit.slip - exact.slip).mean() <= 0.003
    assert np.abs(fit.guess - exact.guess).mean() <= 0.003
    assert ((fit.alpha > 0.5) == (exact.alpha > 0.5)).all(axis=1).mean() >= 0.985
    assert np.abs(fit.alpha - exact.alpha).mean() < 0.01
    share = 1 / (1 + np.exp(-np.mean([chain.intercept for chain in fit.chains], axis=0)))
    assert share == pytest.approx(exact.class_probability @ exact.classes, abs=0.01)


def test_the_monte_carlo_error_covers_the_distance_to_exact_em() -> None:
    truth = simulated(400, 15, 3, seed=4)
    exact = exact_fit(truth)
    fit = fit_saem(truth.responses, prior_of(truth.q, truth.responses.items), seed=1, options=BERNOULLI)
    assert (fit.alpha_mcse > 0).all()
    z = np.abs(fit.alpha - exact.alpha) / fit.alpha_mcse
    assert np.quantile(z, 0.9) < 4
    assert fit.alpha_mcse.max() < 0.1


def test_a_single_attribute_is_a_latent_class_model() -> None:
    truth = simulated(500, 12, 1, seed=5)
    exact = exact_fit(truth)
    options = replace(BERNOULLI, min_sweeps=2000)
    fit = fit_saem(truth.responses, believed(truth, truth.q), seed=1, options=options)
    assert np.abs(fit.alpha - exact.alpha).max() < 0.05
    assert (fit.q == 1).all()


def test_ability_stands_behind_mastery_under_the_higher_order_prior(truth: Truth) -> None:
    fit = fit_saem(truth.responses, believed(truth, truth.q), seed=1, chains=2, options=QUICK)
    chain = fit.chains[0]
    # A normal copula with correlation 0.5: logit slopes near 1.7 and ability near the common factor.
    assert np.abs(chain.loading - 1.7).max() < 0.6
    assert np.corrcoef(chain.theta, truth.alpha.mean(axis=1))[0, 1] > 0.95


def test_a_flat_prior_claims_more_mastery_of_weak_models_than_a_higher_order_one() -> None:
    truth = simulated(500, 40, 12, seed=6, correlation=0.7)
    weak = truth.alpha.mean(axis=1) < 0.2
    claims = []
    for kind in ("flat", "higher_order"):
        options = replace(QUICK, alpha_prior=kind)
        fit = fit_saem(truth.responses, believed(truth, truth.q), seed=1, chains=1, options=options)
        claims.append(fit.alpha[weak].mean())
    assert claims[1] < claims[0] - 0.05
    assert abs(claims[1] - truth.alpha[weak].mean()) < abs(claims[0] - truth.alpha[weak].mean())


def test_held_out_cells_are_predicted_unseen(small: Truth) -> None:
    prior = believed(small, small.q)
    rng = np.random.default_rng(1)
    rows, columns = np.nonzero((small.responses.correct != MISSING) & (rng.random((150, 40)) < 0.1))
    fit = fit_saem(small.responses, prior, seed=1, chains=2, options=QUICK, held_out=(rows, columns))
    seen = small.responses.correct[rows, columns]
    assert fit.held_out.shape == seen.shape
    assert fit.held_out[seen == 1].mean() > fit.held_out[seen == 0].mean() + 0.2
    flipped = small.responses.correct.copy()
    flipped[rows, columns] = 1 - seen
    turned = ResponseMatrix(small.responses.models, small.responses.items, flipped)
    again = fit_saem(turned, prior, seed=1, chains=2, options=QUICK, held_out=(rows, columns))
    assert same_fit(fit, again)


def test_held_out_predictions_are_in_the_order_of_the_cells(small: Truth) -> None:
    prior = believed(small, small.q)
    cells = np.array([[5, 2, 9, 2], [3, 30, 3, 1]])
    one, two = (
        fit_saem(small.responses, prior, seed=1, chains=1, options=QUICK, held_out=tuple(part))
        for part in (cells, cells[:, ::-1])
    )
    assert np.array_equal(one.held_out, two.held_out[::-1])


def test_unlocked_counts_items_whose_other_attributes_are_mastered() -> None:
    truth = simulated(80, 12, 3, seed=7, missing=0.2)
    fit = fit_saem(truth.responses, prior_of(truth.q, truth.responses.items), seed=1, chains=1, options=QUICK)
    single = truth.q.sum(axis=1) == 1
    answered, needs = truth.responses.answered.astype(float), truth.q.astype(float)
    assert (fit.chains[0].unlocked >= answered[:, single] @ needs[single] - 1e-9).all()
    assert (fit.chains[0].unlocked <= answered @ needs + 1e-9).all()
    assert (fit.chains[0].unlocked < answered @ needs - 0.5).any()


def test_draws_are_of_the_kept_sweeps(small: Truth) -> None:
    fit = fit_saem(small.responses, believed(small, small.q), seed=1, chains=2, options=QUICK)
    for chain in fit.chains:
        assert len(chain.draws) == 25
        assert np.abs(np.mean([draw.alpha for draw in chain.draws], axis=0) - chain.alpha).mean() < 0.05
        assert all(draw.q.any(axis=1).all() for draw in chain.draws)


def test_items_that_tell_nothing_are_held_apart_and_flagged() -> None:
    truth = simulated(100, 20, 3, seed=8)
    correct = truth.responses.correct.copy()
    correct[:, 4], correct[:, 5] = 1, 0
    matrix = ResponseMatrix(truth.responses.models, truth.responses.items, correct)
    fit = fit_saem(matrix, believed(truth, truth.q), seed=1, chains=2, options=QUICK)
    for item in (4, 5):
        assert all(chain.pooled[item] for chain in fit.chains)
        assert 1 - fit.slip[item] - fit.guess[item] == pytest.approx(0.05)
    assert ((fit.guess > 0) & (fit.guess < 1) & (fit.slip > 0) & (fit.slip < 1)).all()


def test_one_model_is_fitted() -> None:
    matrix = ResponseMatrix(("only",), names(6, "item"), np.array([[1, 0, 1, 1, 0, 0]], np.int8))
    q = np.eye(3, dtype=bool)[[0, 1, 2, 0, 1, 2]]
    fit = fit_saem(matrix, point_prior(prior_of(q)), seed=1, chains=2, options=QUICK)
    assert np.isfinite(fit.alpha).all()
    assert np.isfinite(fit.loglik)


def test_a_frame_of_zeros_and_ones_is_believed_in(small: Truth) -> None:
    frame = pd.DataFrame(small.q.astype(int), index=list(small.responses.items), columns=list("abcd"))
    correct = small.responses.correct
    responses = pd.DataFrame(
        np.where(correct == MISSING, np.nan, correct),
        list(small.responses.models),
        list(small.responses.items),
    )
    fit = fit_saem(responses, frame, seed=1, chains=1, options=QUICK)
    assert fit.attributes == ("a", "b", "c", "d")
    assert ((fit.q > 0) & (fit.q < 1)).any()


def test_closed_entries_stay_closed(small: Truth) -> None:
    prior = believed(small, small.q)
    wrong = ~small.q
    probability = prior.probability.copy()
    probability[7] = small.q[7]
    probability[8, wrong[8]] = 0
    closed = QPrior(prior.items, prior.attributes, prior.reference, probability)
    fit = fit_saem(small.responses, closed, seed=1, chains=2, options=QUICK)
    for chain in fit.chains:
        assert np.array_equal(chain.q[7], small.q[7])
        assert not chain.q[8, wrong[8]].any()


def test_a_chain_goes_on_from_the_best_of_its_starts() -> None:
    truth = simulated(800, 240, 14, seed=2)
    prior = believed(truth, flip(truth.q, 0.25, np.random.default_rng(2)))
    worst = []
    for starts in (1, 3):
        fit = fit_saem(truth.responses, prior, seed=1, options=replace(QUICK, starts=starts))
        worst.append(min(((chain.q > 0.5) == truth.q).all(axis=1).mean() for chain in fit.chains))
    assert worst[0] < 0.9
    assert worst[1] > 0.99


def test_fewer_than_four_chains_are_not_called_converged(small: Truth) -> None:
    fit = fit_saem(small.responses, believed(small, small.q), seed=1, chains=1, options=QUICK)
    assert not fit.diagnostics.converged
    assert "R-hat needs 4 chains, there are 1" in fit.diagnostics.reason
    assert np.isnan(fit.diagnostics.q_jaccard)


def test_chains_in_different_places_are_not_called_converged() -> None:
    # A prior that knows nothing leaves chains wherever they fall.
    truth = simulated(300, 60, 6, seed=9)
    rng = np.random.default_rng(1)
    reference = rng.random(truth.q.shape) < 0.3
    reference[~reference.any(axis=1), 0] = True
    prior = QPrior(truth.responses.items, names(6, "skill"), reference, np.full(reference.shape, 0.4))
    fit = fit_saem(truth.responses, prior, seed=1, options=replace(QUICK, parallel_sweeps=0))
    assert not fit.diagnostics.converged
    assert fit.diagnostics.rhat_items > 1.05
    assert "R-hat of c and g" in fit.diagnostics.reason
    assert fit.diagnostics.q_jaccard < 0.9


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_small_problem_is_fitted_or_refused(data: st.DataObject) -> None:
    models, items = data.draw(st.integers(1, 70)), data.draw(st.integers(1, 8))
    attributes = data.draw(st.integers(1, items))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    correct = rng.integers(-1, 2, (models, items)).astype(np.int8)
    reference = rng.random((items, attributes)) < 0.5
    reference[np.arange(items), rng.integers(0, attributes, items)] = True
    matrix = ResponseMatrix(names(models, "model"), names(items, "item"), correct)
    options = SaemOptions(
        alpha_prior=data.draw(st.sampled_from(["flat", "bernoulli", "higher_order"])),
        min_sweeps=80,
        max_sweeps=120,
        parallel_sweeps=data.draw(st.integers(0, 40)),
    )
    whole = (correct != MISSING).any(axis=1).all() and (correct != MISSING).any(axis=0).all()
    if not whole:
        with pytest.raises(UserError, match="has no response"):
            fit_saem(matrix, point_prior(prior_of(reference)), seed=1, chains=2, options=options)
        return
    fit = fit_saem(matrix, point_prior(prior_of(reference)), seed=1, chains=2, options=options)
    for values in (fit.alpha, fit.q, fit.guess, fit.slip):
        assert ((values >= 0) & (values <= 1)).all()
    assert (1 - fit.slip > fit.guess).all()
    # Every row of Q has an attribute in every draw, so its means sum to at least 1.
    assert (fit.q.sum(axis=1) >= 1 - 1e-12).all()
    _, g, pooled = set_apart(fit.chains[0].counts, options.delta)
    assert np.array_equal(g, fit.chains[0].guess)
    assert np.array_equal(pooled, fit.chains[0].pooled)


def problem(**changes: object) -> tuple[ResponseMatrix, QPrior]:
    correct = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0]], np.int8)
    prior = point_prior(prior_of(np.array([[1, 0], [0, 1], [1, 1]], bool)))
    return ResponseMatrix(names(3, "model"), names(3, "item"), correct), replace(prior, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"items": ("item 001", "item 002", "item 009")}, "'item 009' is not among the responses'"),
        ({"items": ("item 001", "item 002", "item 001")}, "item 'item 001' stands twice"),
        ({"attributes": ("skill", "skill")}, "attribute 'skill' stands twice"),
        (
            {"reference": np.array([[1, 0], [0, 0], [1, 1]], bool)},
            "item 'item 002' needs no attribute",
        ),
        (
            {"probability": np.array([[0.5, 0.5], [0.5, 1.5], [0.5, 0.5]])},
            "item 'item 002', attribute 'skill 002': expected a probability, found 1.5",
        ),
        (
            {"probability": np.array([[0.5, 0.5], [0.5, np.nan], [0.5, 0.5]])},
            "item 'item 002', attribute 'skill 002': expected a probability, found nan",
        ),
        (
            {"probability": np.array([[0.0, 0.5], [0.5, 0.5], [0.5, 0.5]])},
            "item 'item 001', attribute 'skill 001': the reference says 1",
        ),
    ],
)
def test_a_bad_prior_is_named_by_row_and_column(changes: dict[str, object], said: str) -> None:
    matrix, prior = problem(**changes)
    with pytest.raises(UserError, match=said):
        fit_saem(matrix, prior, seed=1)


def test_a_prior_that_lacks_an_item_is_refused() -> None:
    matrix, prior = problem()
    short = QPrior(prior.items[:2], prior.attributes, prior.reference[:2], prior.probability[:2])
    with pytest.raises(UserError, match="item 'item 003' has no row"):
        fit_saem(matrix, short, seed=1)


def test_more_attributes_than_items_are_refused() -> None:
    matrix, _ = problem()
    wide = point_prior(prior_of(np.ones((3, 4), bool)))
    with pytest.raises(UserError, match="4 attributes for 3 items"):
        fit_saem(matrix, wide, seed=1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"seed": -1}, "seed: expected 0"),
        ({"chains": 0}, "chains: expected 1"),
        ({"threads": -2}, "threads: expected 1"),
        ({"options": SaemOptions(alpha_prior="normal")}, "alpha_prior: expected one of"),
        ({"options": SaemOptions(min_sweeps=150)}, "min_sweeps: 150 is too few"),
        ({"options": SaemOptions(max_sweeps=100)}, "max_sweeps: expected 200"),
        ({"options": SaemOptions(damping=1.0)}, "damping"),
        ({"options": SaemOptions(delta=0.5)}, "delta"),
        ({"options": SaemOptions(draws=100)}, "draws: expected 0 to 28"),
        ({"held_out": ([0], [0, 1])}, "as many models as items"),
        ({"held_out": ([0, 9], [0, 1])}, "cell 2 names model number 9; there are 3"),
        ({"held_out": ([0, 1, 2], [0, 0, 0])}, "item 'item 001' has no response"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], said: str) -> None:
    matrix, prior = problem()
    with pytest.raises(UserError, match=said):
        fit_saem(matrix, prior, **({"seed": 1} | arguments))  # type: ignore[arg-type]
