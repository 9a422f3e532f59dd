"""Accuracy and consistency of classification, against the published row and simulated truth."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from magister.diagnosis import fit_exact_em
from magister.diagnosis.classification import (
    attribute_accuracy,
    attribute_consistency,
    classification,
    likeliest_class,
    pattern_accuracy,
    pattern_consistency,
)
from magister.diagnosis.simulation import Truth, simulate_dina, simulate_mastery, simulate_q


def test_the_published_row_is_met(cases: Path) -> None:
    fit = fit_exact_em(
        pd.read_csv(cases / "diagnosis/ecpe_X.csv"),
        pd.read_csv(cases / "diagnosis/ecpe_Q3.csv"),
        method="squarem",
        tolerance=1e-7,
    )
    published = pd.read_csv(cases / "diagnosis/ecpe_dina_fit_GDINA_2.11.0.csv").set_index("stat")["value"]
    found = classification(fit)
    assert found.accuracy == pytest.approx(published["pattern_accuracy_tau"], abs=1.5e-4)
    assert found.consistency == pytest.approx(published["pattern_consistency_gamma"], abs=1.5e-4)
    for k, (accuracy, consistency) in enumerate(
        zip(found.attribute_accuracy, found.attribute_consistency, strict=True), start=1
    ):
        assert accuracy == pytest.approx(published[f"A{k}_accuracy"], abs=1e-4)
        assert consistency == pytest.approx(published[f"A{k}_consistency"], abs=1e-4)


@pytest.fixture(scope="module")
def truth() -> Truth:
    rng = np.random.default_rng(1)
    return simulate_dina(simulate_mastery(3000, 3, 0.4, rng), simulate_q(9, 3, rng), rng, slip=(0.1, 0.3))


def test_accuracy_is_how_often_classification_is_right(truth: Truth) -> None:
    fit = fit_exact_em(truth.responses, truth.q.astype(int))
    found = classification(fit)
    right = fit.classes[likeliest_class(fit)] == truth.alpha
    np.testing.assert_allclose(found.attribute_accuracy, right.mean(axis=0), atol=0.025)
    assert found.accuracy == pytest.approx(right.all(axis=1).mean(), abs=0.025)
    assert found.accuracy < 0.95  # something was there to be wrong about


def test_consistency_is_how_often_two_draws_from_the_posterior_agree(truth: Truth) -> None:
    fit = fit_exact_em(truth.responses, truth.q.astype(int))
    found, rng = classification(fit), np.random.default_rng(2)
    cumulated = fit.posterior.cumsum(axis=1)
    one, two = ((rng.random((len(cumulated), 1)) > cumulated).sum(axis=1) for _ in range(2))
    assert found.consistency == pytest.approx(np.mean(one == two), abs=0.03)
    both = fit.classes[np.minimum(one, 7)] == fit.classes[np.minimum(two, 7)]
    np.testing.assert_allclose(found.attribute_consistency, both.mean(axis=0), atol=0.03)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_accuracy_is_at_least_consistency_and_a_half(values: list[float]) -> None:
    mastery = np.array(values)[:, None]
    accuracy, consistency = attribute_accuracy(mastery)[0], attribute_consistency(mastery)[0]
    assert 0.5 - 1e-12 <= consistency <= accuracy + 1e-12 <= 1 + 2e-12
    assert attribute_accuracy(mastery[::-1])[0] == accuracy
    assert attribute_consistency(1 - mastery)[0] == pytest.approx(consistency)


def test_a_classification_of_ones_own_is_judged_as_it_is() -> None:
    mastery = np.array([[0.9], [0.4]])
    assert attribute_accuracy(mastery)[0] == pytest.approx((0.9 + 0.6) / 2)
    assert attribute_accuracy(mastery, np.array([[True], [True]]))[0] == pytest.approx((0.9 + 0.4) / 2)


def test_patterns_of_one_class_are_sure() -> None:
    assert pattern_accuracy(np.ones((4, 1))) == 1.0
    assert pattern_consistency(np.full((4, 4), 0.25)) == pytest.approx(0.25)


def test_of_equally_likely_patterns_the_one_that_masters_fewest_counts() -> None:
    # Without the first attribute the second cannot be seen.
    q = np.array([[1, 0], [1, 1], [1, 1], [1, 0]])
    rng = np.random.default_rng(3)
    found = fit_exact_em(simulate_dina(rng.random((200, 2)) < 0.5, q.astype(bool), rng).responses, q)
    patterns = found.classes[likeliest_class(found)]
    assert not (patterns[:, 1] & ~patterns[:, 0]).any()
