"""What a chain of SAEM is given, where it stands and what it sums up, as arrays that compiled code takes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bits = NDArray[np.uint8]


FLAT, INDEPENDENT, HIGHER_ORDER = 0, 1, 2
"""Priors of mastery."""


class Data(NamedTuple):
    """What a fit is given: N models in W words, J items, K attributes."""

    right_block: Words
    """W x J: models that are right, the word's items side by side."""
    wrong_block: Words
    """W x J."""
    right: Words
    """J x W: the same, the item's words side by side."""
    wrong: Words
    """J x W."""
    valid: Words
    """W: bits that are models."""
    logit: Floats
    """J x K, prior log-odds of an entry."""
    free: Bits
    """J x K, whether an entry is open."""
    closed: Bits
    """J x K, what an entry is that is not open; 2 where it is."""
    n_free: Ints
    """J, open entries."""
    n_right: Floats
    """J, right answers."""
    n_answered: Floats
    """J, answers."""
    theta: Floats
    """G, grid of abilities; a single 0 under priors without one."""
    held_start: Ints
    """J + 1: where an item's held-out cells begin."""
    held_model: Ints
    """M, models of the held-out cells, sorted by item."""


class State(NamedTuple):
    """Where a chain stands; arrays are changed in place."""

    block: Words
    """W x K: models that master, the word's attributes side by side."""
    mastery: Words
    """K x W: the same."""
    q: Bits
    """J x K."""
    needs: Ints
    """J x K, the attributes of an item, in the first `n_needs` places."""
    n_needs: Ints
    """J."""
    right_rate: Floats
    """J, c."""
    guess: Floats
    """J, g."""
    weight_right: Floats
    """J, a = log(c / g), rounded."""
    weight_wrong: Floats
    """J, b = log((1 - c) / (1 - g)), rounded."""
    counts: Floats
    """4 x J, S: C1, N1, C0, N0."""
    drawn: Floats
    """4 x J, s: the same of the last sweep."""
    ability: Ints
    """N in whole words, places on the grid of abilities."""
    loading: Floats
    """K, lambda."""
    intercept: Floats
    """K, d."""
    prior: Floats
    """K x G: lambda_k theta_g + d_k, rounded."""
    at_theta: Floats
    """G: averaged number of models at an ability."""
    mastered_at: Floats
    """G x K: of them, those that master the attribute."""


class Sums(NamedTuple):
    """Sums over the sweeps of a block; the first axis are blocks."""

    mastery: Ints
    """W x K x 64."""
    unlocked: Ints
    """W x K x 64, over every tenth sweep."""
    q: Ints
    """J x K."""
    counts: Floats
    """4 x J, of S."""
    rates: Floats
    """4 x J: c and g of the drawn counts, and their squares."""
    theta: Floats
    """N in whole words."""
    attributes: Floats
    """2 x K: lambda and d."""
    held: Floats
    """M, P(right), over every tenth sweep."""
    thinned: Ints
    """1: how many tenth sweeps."""


class Rules(NamedTuple):
    """What stays the same over a fit."""

    key_low: int
    key_high: int
    stream: int
    """Of random numbers: the chain, and the attempt that it started from."""
    prior_kind: int
    """0 flat, 1 independent, 2 higher order."""
    warm_up: int
    """First sweeps whose counts replace the averaged ones."""
    parallel_sweeps: int
    damping: float
    delta: float


class Space(NamedTuple):
    """Room to work in for an item's row."""

    right: Words
    """W."""
    wrong: Words
    """W."""
    one: Words
    """W."""
    answers: Words
    """2: right and wrong answers of models that master all that an item needs."""
    with_right: Words
    """K, counts."""
    with_wrong: Words
    """K, counts."""
    odds: Floats
    """K."""
    row: Bits
    """K."""
    numbers: NDArray[np.uint32]
    """4 x 1."""
