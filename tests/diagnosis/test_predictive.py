"""Posterior predictive checks: what the model made passes, what it did not make does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profile_cases import able, made_fit, made_responses

from magister.diagnosis.fits import Draw, SaemFit
from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.predictive import STATISTICS, _correlations, _counts, predictive_checks
from magister.diagnosis.simulation import Truth, simulate_2pl, simulate_dina, simulate_mastery, simulate_q


def study(seed: int, models: int = 150, items: int = 24, attributes: int = 3) -> Truth:
    rng = np.random.default_rng(seed)
    return simulate_dina(
        simulate_mastery(models, attributes, 0.3, rng), simulate_q(items, attributes, rng), rng
    )


def fit_of(alpha: Any, q: Any, guess: Any, slip: Any) -> SaemFit:
    return made_fit(alpha, q, guess=guess, slip=slip, draws=[Draw(alpha, q, guess, slip)] * 3)


def checked(responses: ResponseMatrix, fit: SaemFit, replicates: int = 200, **how: Any) -> dict[str, Any]:
    rows = predictive_checks(responses, fit, replicates=replicates, seed=1, **how)
    return {row["statistic"]: row for row in rows}


def test_responses_of_the_model_pass() -> None:
    failed = 0
    for seed in range(8):
        truth = study(seed)
        rows = checked(
            made_responses(truth.responses.correct), fit_of(truth.alpha, truth.q, truth.guess, truth.slip)
        )
        assert set(rows) == set(STATISTICS)
        failed += sum(row["holds"] is False for row in rows.values())
    assert failed <= 1


def test_items_that_need_something_else_correlate_as_the_fit_does_not_say() -> None:
    truth = study(3)
    wrong = np.roll(truth.q, 1, axis=1)
    responses = made_responses(truth.responses.correct)
    # Counted under the wrong Q, as a fit would.
    has = able(truth.alpha, wrong)
    right = responses.correct == 1
    guess, hit = (right & ~has).sum(axis=0) / (~has).sum(axis=0), (right & has).sum(axis=0) / has.sum(axis=0)
    rows = checked(responses, fit_of(truth.alpha, wrong, guess, 1 - hit))
    assert rows["pair_correlation"]["holds"] is False
    assert rows["pair_correlation"]["value"] > rows["pair_correlation"]["high"]


def test_scores_that_spread_more_than_any_draw_are_seen() -> None:
    responses = made_responses(simulate_2pl(150, 24, np.random.default_rng(0)).correct)
    share = (responses.correct == 1).mean(axis=0)
    # One attribute that everybody masters: scores are chance.
    rows = checked(
        responses, fit_of(np.ones((150, 1), bool), np.ones((24, 1), bool), np.zeros(24), 1 - share)
    )
    assert rows["score_sd"]["holds"] is False
    assert rows["item_share"]["holds"] is not False


def test_missing_responses_are_missing_in_replicates_too() -> None:
    truth = study(1)
    correct = truth.responses.correct.copy()
    rng = np.random.default_rng(0)
    correct[rng.random(correct.shape) < 0.4] = -1
    # The weak are asked little: their scores vary more.
    correct[:40, 6:] = -1
    correct[:40, :3] = truth.responses.correct[:40, :3]
    fit = fit_of(truth.alpha, truth.q, truth.guess, truth.slip)
    assert not any(row["holds"] is False for row in checked(made_responses(correct), fit).values())


@given(st.integers(0, 500))
@settings(max_examples=25, deadline=None)
def test_correlations_are_pearson_s_over_what_both_answered(seed: int) -> None:
    rng = np.random.default_rng(seed)
    answered = rng.random((30, 4)) < 0.7
    right = (rng.random((30, 4)) < 0.5) & answered
    found = _correlations(right, answered, _counts(answered, answered))
    for value, (i, j) in zip(found, zip(*np.triu_indices(4, 1), strict=True), strict=True):
        both = answered[:, i] & answered[:, j]
        x, y = right[both, i].astype(float), right[both, j].astype(float)
        if both.any() and x.std() > 0 and y.std() > 0:
            assert value == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-9)
        else:
            assert np.isnan(value)


def test_the_order_of_models_and_items_changes_no_digit() -> None:
    truth = study(2, models=40, items=12)
    responses, fit = (
        made_responses(truth.responses.correct),
        fit_of(truth.alpha, truth.q, truth.guess, truth.slip),
    )
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(40), rng.permutation(12)
    other = ResponseMatrix(
        tuple(responses.models[i] for i in rows),
        tuple(responses.items[j] for j in columns),
        responses.correct[np.ix_(rows, columns)],
    )
    moved = fit_of(truth.alpha[rows], truth.q[columns], truth.guess[columns], truth.slip[columns])
    assert checked(responses, fit, 20) == checked(other, moved, 20)


def test_of_many_items_some_pairs_are_looked_at() -> None:
    truth = study(0)
    fit = fit_of(truth.alpha, truth.q, truth.guess, truth.slip)
    rows = checked(made_responses(truth.responses.correct), fit, 20, most_items=10)
    assert rows["pair_correlation"]["n"] == 45
    assert rows["item_share"]["n"] == 24


def test_too_few_replicates_cannot_fail_a_check() -> None:
    truth = study(0)
    rows = checked(
        made_responses(1 - truth.responses.correct),
        fit_of(truth.alpha, truth.q, truth.guess, truth.slip),
        20,
    )
    assert all(row["holds"] is None for row in rows.values())
    assert "p cannot get below" in rows["item_share"]["reason"]


def test_a_fit_without_draws_is_not_checked() -> None:
    rows = predictive_checks(
        made_responses(np.eye(3)), made_fit(np.ones((3, 1)), np.ones((3, 1))), replicates=50, seed=0
    )
    assert {row["status"] for row in rows} == {"not_computable"}
    assert {row["reason"] for row in rows} == {"the fit kept no draws"}


def test_scores_that_do_not_vary_are_said_not_to() -> None:
    fit = fit_of(np.ones((5, 1), bool), np.ones((4, 1), bool), np.zeros(4), np.zeros(4))
    rows = checked(made_responses(np.ones((5, 4))), fit, 20)
    assert rows["score_skew"]["status"] == "not_computable"
    assert rows["pair_correlation"]["value"] is None
