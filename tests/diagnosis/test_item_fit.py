"""RMSD and PVAF of items, against R's CDM, by hand and under a wrong Q-matrix."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from magister.diagnosis import fit_exact_em
from magister.diagnosis.item_fit import em_item_fit, item_fit, profile_item_fit
from magister.diagnosis.matrix import MISSING, ResponseMatrix, response_matrix
from magister.diagnosis.simulation import simulate_dina, simulate_mastery, simulate_q


@pytest.mark.parametrize(
    ("data", "q", "table"),
    [
        ("fraction20", "fraction20_Q8", "fraction20_Q8"),
        ("fraction15", "fraction15_Q5", "fraction15_Q5"),
        ("ecpe", "ecpe_Q3", "ecpe_Q3"),
        ("simdina", "simdina_Q3", "simdina"),
    ],
)
def test_rmsd_is_the_published_one_of_one_category(cases: Path, data: str, q: str, table: str) -> None:
    """R's CDM adds right and wrong responses, whose differences are equal."""
    responses = response_matrix(pd.read_csv(cases / f"diagnosis/{data}_X.csv"))
    fit = fit_exact_em(responses, pd.read_csv(cases / f"diagnosis/{q}.csv"))
    published = pd.read_csv(cases / f"diagnosis/din_{table}.csv")["rmsea"]
    np.testing.assert_allclose(em_item_fit(fit, responses).rmsd * np.sqrt(2), published, atol=2e-4)


def two_groups() -> tuple[ResponseMatrix, np.ndarray]:
    correct = np.array([[1, 1], [1, MISSING], [0, 1], [0, 0]], dtype=np.int8)
    membership = np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    return ResponseMatrix(("a", "b", "c", "d"), ("x", "y"), correct), membership


def test_shares_are_of_those_that_answered() -> None:
    responses, membership = two_groups()
    masters = np.array([[True, True], [False, False]])
    found = item_fit(responses, membership, masters, np.array([0.2, 0.5]), np.array([0.1, 0.1]))
    np.testing.assert_allclose(found.weight, [[2.5, 1.5], [1.5, 1.5]])
    np.testing.assert_allclose(found.observed, [[2 / 2.5, 1.0], [0.0, 0.5 / 1.5]])
    expected = np.sqrt((2.5 * (0.8 - 0.9) ** 2 + 1.5 * (0.0 - 0.2) ** 2) / 4)
    assert found.rmsd[0] == pytest.approx(expected)
    np.testing.assert_allclose(found.pvaf, 1.0)  # two groups, two levels


def test_where_success_does_not_vary_pvaf_is_unknown_and_a_group_without_answers_is_not_seen() -> None:
    responses, membership = two_groups()
    correct = responses.correct.copy()
    correct[:, 0] = 1
    correct[2:, 1] = MISSING
    masters = np.array([[True, True], [False, False]])
    membership = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    found = item_fit(
        ResponseMatrix(responses.models, responses.items, correct),
        membership,
        masters,
        np.array([0.9, 0.5]),
        np.array([0.1, 0.1]),
    )
    assert np.isnan(found.pvaf).all()
    assert np.isnan(found.observed[1, 1])
    assert found.rmsd[1] == pytest.approx(0.1)


def test_an_item_whose_row_of_q_lacks_an_attribute_fits_worst() -> None:
    rng = np.random.default_rng(1)
    q = simulate_q(24, 3, rng)
    q[10] = [True, True, False]
    truth = simulate_dina(simulate_mastery(3000, 3, 0.0, rng), q, rng)
    wrong = q.copy()
    wrong[10] = [True, False, False]
    fit = fit_exact_em(truth.responses, wrong.astype(int))
    found = em_item_fit(fit, truth.responses)
    assert found.rmsd.argmax() == 10
    assert found.pvaf.argmin() == 10
    assert found.pvaf[10] < 0.8
    assert np.delete(found.pvaf, 10).min() > 0.95
    assert np.delete(found.rmsd, 10).max() < 0.05


def test_over_profiles_it_is_seen_as_well() -> None:
    rng = np.random.default_rng(2)
    q = simulate_q(40, 3, rng)
    q[10] = [True, True, False]
    truth = simulate_dina(simulate_mastery(3000, 3, 0.0, rng), q, rng)
    wrong = q.copy()
    wrong[10] = [True, False, False]
    fit = fit_exact_em(truth.responses, wrong.astype(int))
    found = profile_item_fit(truth.responses, fit.alpha > 0.5, wrong, fit.guess, fit.slip)
    assert len(found.weight) == 8
    assert found.pvaf.argmin() == 10
    assert found.pvaf[10] < 0.8


def test_order_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    truth = simulate_dina(simulate_mastery(200, 2, 0.3, rng), simulate_q(8, 2, rng), rng)
    frame = pd.DataFrame(truth.responses.correct, index=truth.responses.models, columns=truth.responses.items)
    q = pd.DataFrame(truth.q.astype(int), index=frame.columns, columns=["a", "b"])
    one = em_item_fit(fit_exact_em(frame, q), response_matrix(frame))
    moved = frame.iloc[::-1]
    other = em_item_fit(fit_exact_em(moved, q), response_matrix(moved))
    np.testing.assert_array_equal(one.rmsd, other.rmsd)
    np.testing.assert_array_equal(one.pvaf, other.pvaf)
