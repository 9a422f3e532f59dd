"""Responses whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from magister.diagnosis.matrix import ResponseMatrix


@dataclass(frozen=True)
class Truth:
    """What simulated responses come from.

    Attributes:
        responses: N x J.
        alpha: N x K; all False where the truth is no DINA.
        q: J x K.
        guess, slip: J.
    """

    responses: ResponseMatrix
    alpha: NDArray[np.bool_]
    q: NDArray[np.bool_]
    guess: NDArray[np.float64]
    slip: NDArray[np.float64]


def simulate_mastery(
    models: int, attributes: int, correlation: float, rng: np.random.Generator, *, prevalence: float = 0.5
) -> NDArray[np.bool_]:
    """Mastery from a normal copula whose attributes have one common factor.

    Args:
        models: N.
        attributes: K.
        correlation: of the normal variables behind any two attributes, within [0, 1).
        rng: source of randomness.
        prevalence: share of models that master an attribute.

    Returns:
        N x K.
    """
    common = rng.standard_normal((models, 1))
    own = rng.standard_normal((models, attributes))
    latent = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    return latent > norm.ppf(1 - prevalence)


def simulate_q(items: int, attributes: int, rng: np.random.Generator, *, most: int = 3) -> NDArray[np.bool_]:
    """A Q-matrix whose first rows are the unit vectors and whose other items need 1..most attributes each."""
    q = np.zeros((items, attributes), dtype=bool)
    q[np.arange(min(items, attributes)), np.arange(min(items, attributes))] = True
    for item in range(attributes, items):
        needed = rng.integers(1, min(most, attributes) + 1)
        q[item, rng.choice(attributes, size=needed, replace=False)] = True
    return q


def simulate_dina(
    alpha: NDArray[np.bool_],
    q: NDArray[np.bool_],
    rng: np.random.Generator,
    *,
    guess: tuple[float, float] = (0.1, 0.3),
    slip: tuple[float, float] = (0.05, 0.25),
) -> Truth:
    """Responses under DINA: right with 1 - slip where all needed attributes are mastered, with guess elsewhere.

    Args:
        alpha: N x K.
        q: J x K.
        rng: source of randomness.
        guess: range that items' guess is drawn from.
        slip: range that items' slip is drawn from.
    """
    models, items = len(alpha), len(q)
    guesses, slips = rng.uniform(*guess, items), rng.uniform(*slip, items)
    chance = dina_chance(alpha, q, guesses, slips)
    correct = (rng.random((models, items)) < chance).astype(np.int8)
    return Truth(_named(correct), alpha, q, guesses, slips)


def dina_chance(
    alpha: NDArray[np.bool_], q: NDArray[np.bool_], guess: NDArray[np.float64], slip: NDArray[np.float64]
) -> NDArray[np.float64]:
    """P(right) under DINA, N x J."""
    # Lacking none of what is needed.
    mastered = (~alpha).astype(np.float32) @ q.T.astype(np.float32) == 0
    return np.where(mastered, 1 - slip, guess)


def simulate_2pl(models: int, items: int, rng: np.random.Generator) -> ResponseMatrix:
    """Responses that one ability explains: no attributes stand behind them."""
    theta = rng.standard_normal((models, 1))
    slope, difficulty = rng.uniform(0.8, 2.0, items), rng.normal(0.0, 1.0, items)
    chance = ability_chance(theta, slope, difficulty)
    return _named((rng.random((models, items)) < chance).astype(np.int8))


def ability_chance(
    theta: NDArray[np.float64], slope: NDArray[np.float64], difficulty: NDArray[np.float64]
) -> NDArray[np.float64]:
    """P(right) under the two-parameter logistic model, N x J, from abilities N x 1."""
    chance: NDArray[np.float64] = 1 / (1 + np.exp(-slope * (theta - difficulty)))
    return chance


def mislabel(q: NDArray[np.bool_], share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Move a share of the items with one attribute to another attribute."""
    wrong = q.copy()
    single = np.flatnonzero(q.sum(axis=1) == 1)
    for item in rng.choice(single, size=round(share * len(single)), replace=False):
        here = int(np.flatnonzero(q[item])[0])
        there = int(rng.choice(np.delete(np.arange(q.shape[1]), here)))
        wrong[item, here], wrong[item, there] = False, True
    return wrong


def flip(q: NDArray[np.bool_], share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Flip a share of all entries; a row left empty gets back one of its attributes."""
    wrong = q ^ (rng.random(q.shape) < share)
    for item in np.flatnonzero(~wrong.any(axis=1)):
        wrong[item, int(rng.choice(np.flatnonzero(q[item])))] = True
    return wrong


def _named(correct: NDArray[np.int8]) -> ResponseMatrix:
    models, items = correct.shape
    return ResponseMatrix(
        tuple(f"model {number:0{len(str(models))}d}" for number in range(1, models + 1)),
        tuple(f"item {number:0{len(str(items))}d}" for number in range(1, items + 1)),
        correct,
    )
