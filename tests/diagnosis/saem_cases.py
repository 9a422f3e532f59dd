"""Small problems of SAEM, and what is known of them by enumeration."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from magister.diagnosis import _chain
from magister.diagnosis._chain import SaemOptions
from magister.diagnosis._state import Data, Rules, Space, State
from magister.diagnosis.fits import SaemFit
from magister.diagnosis.matrix import MISSING, ResponseMatrix
from magister.diagnosis.prior import QPrior, point_prior
from magister.diagnosis.simulation import Truth, simulate_dina, simulate_mastery, simulate_q

NO_CELLS = (np.zeros(0, np.intp), np.zeros(0, np.intp))


def names(count: int, what: str) -> tuple[str, ...]:
    return tuple(f"{what} {number:03d}" for number in range(1, count + 1))


def prior_of(q: NDArray[np.bool_], items: tuple[str, ...] | None = None) -> QPrior:
    """A Q-matrix that leaves nothing open."""
    return QPrior(items or names(len(q), "item"), names(q.shape[1], "skill"), q, q.astype(np.float64))


def believed(truth: Truth, q: NDArray[np.bool_]) -> QPrior:
    """Belief in a Q-matrix of the items of a simulation."""
    return point_prior(prior_of(q, truth.responses.items))


def simulated(
    models: int, items: int, attributes: int, *, seed: int, correlation: float = 0.5, missing: float = 0.0
) -> Truth:
    rng = np.random.default_rng(seed)
    alpha = simulate_mastery(models, attributes, correlation, rng)
    truth = simulate_dina(alpha, simulate_q(items, attributes, rng), rng)
    if missing:
        truth.responses.correct[rng.random((models, items)) < missing] = MISSING
    return truth


@dataclass
class Problem:
    """Anything that a chain may be given: random responses, prior, state."""

    correct: NDArray[np.int8]
    prior: QPrior
    alpha: NDArray[np.bool_]
    q: NDArray[np.bool_]
    data: Data
    state: State
    rules: Rules


def random_problem(
    models: int, items: int, attributes: int, *, seed: int, missing: float = 0.2, alpha_prior: str = "flat"
) -> Problem:
    rng = np.random.default_rng(seed)
    correct = rng.integers(0, 2, (models, items)).astype(np.int8)
    correct[rng.random((models, items)) < missing] = MISSING
    reference = rng.random((items, attributes)) < 0.4
    reference[~reference.any(axis=1), 0] = True
    probability = rng.uniform(0.1, 0.9, (items, attributes))
    prior = QPrior(names(items, "item"), names(attributes, "skill"), reference, probability)
    options = SaemOptions(alpha_prior=alpha_prior)
    matrix = ResponseMatrix(names(models, "model"), prior.items, correct)
    data = _chain.pack_data(matrix, prior, options, NO_CELLS)
    alpha = rng.random((models, attributes)) < 0.6
    start = _chain.Start(alpha, reference, rng.uniform(0.5, 0.95, items), rng.uniform(0.05, 0.45, items))
    state = _chain.make_state(data, start)
    # Some ability and some prior of mastery.
    state.prior[:] = np.round(rng.normal(0, 1, state.prior.shape) * 2**32) / 2**32
    state.ability[:models] = rng.integers(0, len(data.theta), models)
    rules = Rules(1, 2, 1, 0, 0, 0, 0.35, 0.05)
    return Problem(correct, prior, alpha, reference, data, state, rules)


def working_space(data: Data) -> Space:
    words, attributes = len(data.valid), data.logit.shape[1]
    return Space(
        *(np.zeros(words, np.uint64) for _ in range(3)),
        np.zeros(2, np.uint64),
        np.zeros(attributes, np.uint64),
        np.zeros(attributes, np.uint64),
        np.zeros(attributes),
        np.zeros(attributes, np.uint8),
        np.zeros((4, 1), np.uint32),
    )


def cell_loglik(
    correct: NDArray[np.int8],
    alpha: NDArray[np.bool_],
    q: NDArray[np.bool_],
    c: NDArray[np.float64],
    g: NDArray[np.float64],
) -> NDArray[np.float64]:
    """N x J: log P of every response, 0 where missing; straight from the definition of the model."""
    eta = np.all(alpha[:, None, :] | ~q[None, :, :], axis=2)
    chance = np.where(eta, c, g)
    loglik = np.log(np.where(correct == 1, chance, 1 - chance))
    return np.where(correct == MISSING, 0.0, loglik)


def rows_of_q(attributes: int) -> list[tuple[bool, ...]]:
    return [row for row in itertools.product((False, True), repeat=attributes) if any(row)]


def same_fit(a: SaemFit, b: SaemFit) -> bool:
    """Whether two fits are equal to the bit."""
    flat = []
    for fit in (a, b):
        parts = [fit.alpha, fit.alpha_mcse, fit.q, fit.guess, fit.slip, np.array(fit.loglik)]
        for chain in fit.chains:
            parts += [value for value in vars(chain).values() if isinstance(value, np.ndarray)]
            parts += [value for draw in chain.draws for value in vars(draw).values()]
        flat.append([part.tobytes() for part in parts])
    return flat[0] == flat[1] and str(a.diagnostics) == str(b.diagnostics)
