"""What a response says of a mastery: held against the posterior of the DINA model with and without it."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from magister.audit.evidence import weights_of_evidence, without_response

Floats = NDArray[np.float64]
share = st.floats(0.02, 0.98)
chance = st.floats(0.02, 0.45)


def posterior(prior: Floats, needs: Floats, guess: Floats, slip: Floats, right: NDArray[np.bool_]) -> Floats:
    """Posterior of every attribute by summing over all profiles; Q certain, attributes independent."""
    total, of = 0.0, np.zeros(prior.size)
    for profile in itertools.product((0, 1), repeat=prior.size):
        alpha = np.array(profile)
        has = ((needs > 0.5) <= (alpha > 0)).all(axis=1)
        p = np.where(has, 1 - slip, guess)
        weight = np.where(alpha, prior, 1 - prior).prod() * np.where(right, p, 1 - p).prod()
        total += weight
        of += weight * alpha
    return np.asarray(of / total)


@given(share, st.lists(st.tuples(chance, chance, st.booleans()), min_size=1, max_size=8))
def test_with_one_attribute_the_step_is_the_posterior_without_the_response(
    prior: float, items: list[tuple[float, float, bool]]
) -> None:
    guess, slip, right = (np.array(column) for column in zip(*items, strict=True))
    needs = np.ones((guess.size, 1))
    start = np.array([prior])
    p = posterior(start, needs, guess, slip, right)
    assume(1e-5 < p[0] < 1 - 1e-5)
    weights = weights_of_evidence(p, needs, guess, slip, right, 0)
    found = without_response(float(p[0]), weights)
    for at in range(guess.size):
        rest = np.arange(guess.size) != at
        expected = posterior(start, needs[rest], guess[rest], slip[rest], right[rest])[0]
        np.testing.assert_allclose(found[at], np.clip(expected, 1e-6, 1 - 1e-6), atol=2e-6)


def test_with_two_attributes_the_step_finds_the_response_that_moves_it_most() -> None:
    needs = np.array([[1.0, 0], [1, 0], [1, 1], [0, 1], [0, 1]])
    guess, slip = np.full(5, 0.2), np.array([0.05, 0.3, 0.1, 0.1, 0.1])
    right, start = np.array([True, True, False, False, True]), np.array([0.5, 0.5])
    p = posterior(start, needs, guess, slip, right)
    found = without_response(float(p[0]), weights_of_evidence(p, needs, guess, slip, right, 0))
    exact = [
        posterior(start, *(part[np.arange(5) != at] for part in (needs, guess, slip, right)))[0]
        for at in range(5)
    ]
    assert np.argmax(np.abs(p[0] - found)) == np.argmax(np.abs(p[0] - np.array(exact)))
    # What a response to another attribute's item says by way of that attribute is not in the step.
    np.testing.assert_allclose(found[:2], exact[:2], atol=1e-9)
    np.testing.assert_allclose(found, exact, atol=0.1)


@given(share, share, chance, chance)
def test_right_answers_speak_for_mastery_and_wrong_ones_against(
    mastery: float, need: float, guess: float, slip: float
) -> None:
    given_items = (np.array([[need]]), np.array([guess]), np.array([slip]))
    for right in (True, False):
        weight = weights_of_evidence(np.array([mastery]), *given_items, np.array([right]), 0)[0]
        assert weight == 0 or (weight > 0) == right


def test_an_item_that_does_not_need_the_attribute_says_nothing_of_it() -> None:
    weights = weights_of_evidence(
        np.array([0.5, 0.5]), np.array([[0.0, 1.0]]), np.array([0.2]), np.array([0.1]), np.array([True]), 0
    )
    assert weights.tolist() == [0.0]


def test_a_posterior_of_1_is_moved_by_no_single_response_to_0() -> None:
    assert 0.5 < without_response(1.0, np.array([3.0]))[0] < 1.0
