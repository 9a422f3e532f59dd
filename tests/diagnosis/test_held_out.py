"""Held-out responses: which are chosen, and how predictions of them are scored."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profile_cases import made_responses
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from magister.diagnosis.held_out import HeldOut, hold_out, item_means, mean_measures, score_predictions
from magister.diagnosis.matrix import ResponseMatrix


def random_responses(models: int, items: int, seed: int = 0, missing: float = 0.2) -> ResponseMatrix:
    rng = np.random.default_rng(seed)
    correct = (rng.random((models, items)) < 0.6).astype(np.int8)
    correct[rng.random(correct.shape) < missing] = -1
    return made_responses(correct)


def cells(found: HeldOut, responses: ResponseMatrix) -> set[tuple[str, str]]:
    return {(responses.models[i], responses.items[j]) for i, j in zip(found.rows, found.columns, strict=True)}


@given(st.integers(1, 30), st.integers(1, 40), st.integers(0, 5), st.floats(0.05, 0.6))
@settings(max_examples=60, deadline=None)
def test_only_answered_cells_are_held_out_and_everybody_keeps_enough(
    models: int, items: int, seed: int, share: float
) -> None:
    responses = random_responses(models, items, seed)
    found = hold_out(responses, share=share, seed=seed, least_kept=3)
    assert responses.answered[found.rows, found.columns].all()
    assert len(cells(found, responses)) == found.rows.size
    rest = responses.masked(found.rows, found.columns).answered
    for axis in (0, 1):
        before, after = responses.answered.sum(axis=axis), rest.sum(axis=axis)
        assert (after >= np.minimum(before, 3)).all()
    given_up = responses.answered.sum(axis=1) - rest.sum(axis=1)
    assert (given_up <= np.floor(share * responses.answered.sum(axis=1)) + 1).all()


@given(st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_the_order_of_models_and_items_changes_no_cell(seed: int) -> None:
    responses = random_responses(12, 25)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(12), rng.permutation(25)
    other = ResponseMatrix(
        tuple(responses.models[i] for i in rows),
        tuple(responses.items[j] for j in columns),
        responses.correct[np.ix_(rows, columns)],
    )
    one, two = (hold_out(matrix, share=0.2, seed=3) for matrix in (responses, other))
    assert cells(one, responses) == cells(two, other)


def test_about_the_share_asked_for_is_held_out_and_seeds_differ() -> None:
    responses = random_responses(200, 100, missing=0.0)
    found = [hold_out(responses, share=0.1, seed=seed) for seed in (0, 1)]
    assert all(abs(one.rows.size - 2000) < 60 for one in found)
    assert cells(found[0], responses) != cells(found[1], responses)


def test_a_model_that_joins_changes_no_other_model_s_cells() -> None:
    responses = random_responses(40, 60, missing=0.0)
    fewer = made_responses(responses.correct[:-1])
    last = responses.models[-1]
    one, two = (
        cells(hold_out(matrix, share=0.1, seed=0, least_kept=1), matrix) for matrix in (responses, fewer)
    )
    assert {cell for cell in one if cell[0] != last} == two


def test_a_small_study_holds_nothing_out() -> None:
    assert hold_out(random_responses(4, 4), share=0.2, seed=0, least_kept=5).rows.size == 0


def test_a_share_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        hold_out(random_responses(4, 4), share=1.0, seed=0)


def test_item_means_are_those_of_the_other_models() -> None:
    responses = made_responses([[1, 0], [1, 0], [0, 1], [1, -1]])
    held = HeldOut(np.array([0]), np.array([0]), 0.1, 0)
    assert item_means(responses, held).tolist() == [3 / 5]


@given(st.integers(2, 40), st.integers(0, 200))
@settings(max_examples=40, deadline=None)
def test_measures_are_scikit_learn_s(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    # Few values: ties.
    chance = rng.integers(1, 6, n) / 6
    held = HeldOut(np.zeros(n, dtype=np.intp), np.arange(n), 0.1, 0)
    found = mean_measures(made_responses(truth[None, :]), held, chance)
    assert found["loglik"] == pytest.approx(-log_loss(truth, chance, labels=[0, 1]))
    assert found["brier"] == pytest.approx(brier_score_loss(truth, chance, pos_label=1))
    if 0 < truth.sum() < n:
        assert found["auc"] == pytest.approx(roc_auc_score(truth, chance))
    else:
        assert np.isnan(found["auc"])


def scored(**predicted: np.ndarray) -> dict[tuple[str, str], dict[str, object]]:
    responses = random_responses(30, 40, missing=0.0)
    held = hold_out(responses, share=0.2, seed=0)
    named = {name: values(responses, held) for name, values in predicted.items()}  # type: ignore[operator]
    table = score_predictions(responses, held, named, level=0.95, absent={"2pl": "it did not converge"})
    return {(row["predictor"], row["measure"]): row for row in table.to_pylist()}


def good(responses: ResponseMatrix, held: HeldOut) -> np.ndarray:
    truth = responses.correct[held.rows, held.columns]
    noise = np.random.default_rng(1).random(truth.size)
    return np.where(truth == 1, 0.5 + 0.4 * noise, 0.5 - 0.3 * noise)


def coin(responses: ResponseMatrix, held: HeldOut) -> np.ndarray:
    return 0.4 + 0.2 * np.random.default_rng(2).random(held.rows.size)


def test_a_better_prediction_has_positive_differences_in_every_measure() -> None:
    rows = scored(dina=good, item_mean=coin)
    for measure in ("loglik", "auc", "brier"):
        row = rows["item_mean", measure]
        assert row["difference_ci_low"] > 0
        assert row["ci_low"] < row["value"] < row["ci_high"]
        assert rows["dina", measure]["difference"] is None
    swapped = scored(dina=coin, item_mean=good)
    for measure in ("loglik", "auc", "brier"):
        assert swapped["item_mean", measure]["difference"] == pytest.approx(
            -rows["item_mean", measure]["difference"]
        )


def test_a_predictor_that_is_not_there_says_why() -> None:
    rows = scored(dina=good)
    assert rows["2pl", "auc"]["status"] == "not_computable"
    assert rows["2pl", "auc"]["reason"] == "it did not converge"
    assert rows["2pl", "auc"]["value"] is None
    assert rows["fixed_q", "auc"]["reason"] == "not fitted"


def test_several_draws_count_by_their_mean_score_and_not_by_their_mean_prediction() -> None:
    responses = random_responses(30, 40, missing=0.0)
    held = hold_out(responses, share=0.2, seed=0)
    draws = np.stack([good(responses, held), coin(responses, held)])
    table = score_predictions(
        responses, held, {"dina": draws[0], "placebo": draws}, level=0.9, against={"placebo": draws[1]}
    )
    rows = {(row["predictor"], row["measure"]): row for row in table.to_pylist()}
    for measure in ("loglik", "auc", "brier"):
        each = [mean_measures(responses, held, draw)[measure] for draw in draws]
        assert rows["placebo", measure]["value"] == pytest.approx(np.mean(each))
        # Held against what stands in `against`: the worse of its two draws.
        assert rows["placebo", measure]["difference"] < 0


def test_held_out_responses_of_one_model_give_no_interval() -> None:
    responses = made_responses([[1, 0, 1, 1, 0, 0, 1, 0]])
    held = HeldOut(np.zeros(8, dtype=np.intp), np.arange(8), 0.1, 0)
    table = score_predictions(responses, held, {"dina": np.linspace(0.2, 0.8, 8)}, level=0.95)
    row = table.to_pylist()[0]
    assert row["status"] == "no_interval"
    assert "one model" in row["reason"]
    assert row["value"] is not None
    assert row["ci_low"] is None


def test_intervals_of_the_two_way_mean_hold_what_they_say() -> None:
    # Responses to the same item are alike, and so are those of a model: the interval must know.
    rng = np.random.default_rng(5)
    held_in = 0
    for _ in range(200):
        logits = rng.normal(0, 1, (25, 1)) + rng.normal(0, 1, (1, 30))
        correct = (rng.random((25, 30)) < 1 / (1 + np.exp(-logits))).astype(np.int8)
        rows, columns = np.nonzero(np.ones_like(correct))
        held = HeldOut(rows, columns, 0.1, 0)
        table = score_predictions(
            made_responses(correct), held, {"dina": np.full(rows.size, 0.5 - 1e-9)}, level=0.95
        )
        brier = next(row for row in table.to_pylist() if row["measure"] == "brier")
        assert brier["value"] == pytest.approx(0.25)
        share = np.full(rows.size, 0.9)
        table = score_predictions(made_responses(correct), held, {"dina": share}, level=0.95)
        row = next(row for row in table.to_pylist() if row["measure"] == "brier")
        # By symmetry P(right) is 1/2 over all models and items: the expected score is (0.01 + 0.81) / 2.
        held_in += row["ci_low"] <= 0.41 <= row["ci_high"]
    assert 180 <= held_in <= 198
