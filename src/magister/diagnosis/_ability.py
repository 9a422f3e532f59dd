"""Priors of mastery: logit P(alpha_ik = 1) = lambda_k theta_i + d_k, with theta_i ~ N(0, 1) on a grid.

On a grid of G abilities the complete data have finite sufficient statistics: how many models are at an ability, and
how many of them master an attribute. SAEM averages these as it does the counts of right answers, and lambda and d
follow from a weighted logistic regression of each attribute on the grid. The independent prior is the same with G = 1
and theta = 0.

References:
    de la Torre and Douglas (2004), Psychometrika 69, equation 7: the higher-order model.
"""

from __future__ import annotations

import math

import numpy as np

from magister.diagnosis._compile import kernel
from magister.diagnosis._state import Data, Floats, State, Words

GRID = np.arange(-40, 41) / 8.0
"""Abilities under the higher-order prior."""
MOVES = 4
"""Metropolis moves of an ability in a sweep, one for each number of a block of Philox."""
ABILITY = 5
"""Kind of random number."""
LOADING = (0.0, 4.0)
"""Least and greatest lambda: attributes do not fall with ability."""
INTERCEPT = 8.0
"""Greatest |d|."""
_PRIOR_LOADING, _PRIOR_INTERCEPT = 1.0, 0.25  # precisions of lambda ~ N(1, 1), d ~ N(0, 4)
_GRID = 2.0**32
_LANES = np.uint64(1) << np.arange(64, dtype=np.uint64)


@kernel
def set_prior(data: Data, state: State) -> None:
    """Prior log-odds of mastery at every ability."""
    for k in range(state.loading.size):
        for g in range(data.theta.size):
            odds = state.loading[k] * data.theta[g] + state.intercept[k]
            state.prior[k, g] = np.rint(odds * _GRID) / _GRID


@kernel
def count_mastered(data: Data, state: State, at_theta: Floats, mastered_at: Floats) -> None:
    """Count models, and those that master an attribute, at every ability."""
    at_theta[:] = 0.0
    mastered_at[:] = 0.0
    n_words, n_attributes = state.block.shape
    for w in range(n_words):
        for i in range(64):
            lane = np.uint64(i)
            if (data.valid[w] >> lane) & np.uint64(1):
                g = state.ability[w * 64 + i]
                at_theta[g] += 1.0
                for k in range(n_attributes):
                    mastered_at[g, k] += np.float64((state.block[w, k] >> lane) & np.uint64(1))


@kernel
def set_independent(state: State) -> None:
    """d from the averaged number of models that master, at least half a model away from none and from all."""
    n = state.at_theta[0]
    for k in range(state.loading.size):
        share = min(max(state.mastered_at[0, k], 0.5), n - 0.5) / n
        state.intercept[k] = math.log(share / (1.0 - share))


@kernel
def set_regression(data: Data, state: State) -> None:
    """One Newton step of each attribute's lambda and d, with weak normal priors and bounds."""
    for k in range(state.loading.size):
        slope = state.loading[k]
        level = state.intercept[k]
        by_slope = -_PRIOR_LOADING * (slope - 1.0)
        by_level = -_PRIOR_INTERCEPT * level
        slope_slope = _PRIOR_LOADING
        slope_level = 0.0
        level_level = _PRIOR_INTERCEPT
        for g in range(data.theta.size):
            n = state.at_theta[g]
            if n > 0.0:
                theta = data.theta[g]
                p = 1.0 / (1.0 + math.exp(-(slope * theta + level)))
                residual = state.mastered_at[g, k] - n * p
                weight = n * p * (1.0 - p)
                by_slope += residual * theta
                by_level += residual
                slope_slope += weight * theta * theta
                slope_level += weight * theta
                level_level += weight
        scale = slope_slope * level_level - slope_level * slope_level
        step = (level_level * by_slope - slope_level * by_level) / scale
        shift = (slope_slope * by_level - slope_level * by_slope) / scale
        slope += min(max(step, -0.5), 0.5)
        level += min(max(shift, -1.0), 1.0)
        state.loading[k] = min(max(slope, LOADING[0]), LOADING[1])
        state.intercept[k] = min(max(level, -INTERCEPT), INTERCEPT)


@kernel
def move_abilities(data: Data, state: State, numbers: Words) -> None:
    """Move every ability by Metropolis steps of at most 1 along the grid.

    Given the mastery, log p(theta_i) is s_i theta - B(theta) with s_i the sum of the mastered attributes' lambda and B
    common to all models: a step costs two look-ups.
    """
    n_words, n_attributes = state.block.shape
    n_grid = data.theta.size
    common = np.empty(n_grid, np.float64)
    for g in range(n_grid):
        theta = data.theta[g]
        total = theta * theta / 2.0
        for k in range(n_attributes):
            odds = state.loading[k] * theta + state.intercept[k]
            total += max(odds, 0.0) + math.log1p(math.exp(-abs(odds)))
        common[g] = total
    slopes = np.empty(64, np.float64)
    for w in range(n_words):
        slopes[:] = 0.0
        for k in range(n_attributes):
            word = state.block[w, k]
            loading = state.loading[k]
            for i in range(64):
                slopes[i] += loading if word & _LANES[i] else 0.0
        for i in range(64):
            model = w * 64 + i
            here = np.int64(state.ability[model])
            for m in range(MOVES):
                number = numbers[m, model]
                # 16 moves by the lowest bits: -8 .. -1 and 1 .. 8 places; the other 28 bits decide.
                move = np.int64(number & np.uint32(15)) - 8
                there = here + (move if move < 0 else move + 1)
                if there < 0 or there >= n_grid:
                    continue
                gain = slopes[i] * (data.theta[there] - data.theta[here]) - common[there] + common[here]
                if gain >= 0.0 or (np.float64(number >> np.uint32(4)) + 0.5) * 2.0**-28 < math.exp(gain):
                    here = there
            state.ability[model] = here
