"""The loop over sweeps."""

from __future__ import annotations

import numpy as np

from magister.diagnosis._ability import (
    ABILITY,
    count_mastered,
    move_abilities,
    set_independent,
    set_prior,
    set_regression,
)
from magister.diagnosis._compile import kept_kernel
from magister.diagnosis._kernels import log_likelihood, philox, set_rates, update_items, update_mastery
from magister.diagnosis._state import HIGHER_ORDER, INDEPENDENT, Data, Floats, Rules, State, Sums
from magister.diagnosis._sums import add_draw, add_thinned

THIN = 10
"""Sweeps from one count of unlocked items and of held-out predictions to the next."""


@kept_kernel
def run_sweeps(
    data: Data, state: State, sums: Sums, rules: Rules, sweeps: tuple[int, int], block: int, trace: Floats
) -> None:
    """Run the sweeps after the first number up to the second, and add them to a block of sums.

    A sweep draws mastery, the Q-matrix and abilities, moves the averaged statistics by t^-0.6 towards those of the draw
    (Delyon, Lavielle and Moulines 1999), and sets the parameters from them.
    """
    n_models = state.ability.size
    numbers = np.empty((4, n_models), np.uint32)
    at_theta = np.empty_like(state.at_theta)
    mastered_at = np.empty_like(state.mastered_at)
    for sweep in range(sweeps[0] + 1, sweeps[1] + 1):
        gain = np.float64(max(1, sweep - rules.warm_up)) ** -0.6
        update_mastery(data, state, rules, sweep)
        update_items(data, state, rules, sweep)
        state.counts[:] += gain * (state.drawn - state.counts)
        set_rates(state, rules.delta)
        if rules.prior_kind == HIGHER_ORDER:
            philox(rules.key_low, rules.key_high, 0, ABILITY, sweep, rules.stream, numbers)
            move_abilities(data, state, numbers)
        if rules.prior_kind == INDEPENDENT or rules.prior_kind == HIGHER_ORDER:
            count_mastered(data, state, at_theta, mastered_at)
            state.at_theta[:] += gain * (at_theta - state.at_theta)
            state.mastered_at[:] += gain * (mastered_at - state.mastered_at)
            if rules.prior_kind == INDEPENDENT:
                set_independent(state)
            else:
                set_regression(data, state)
            set_prior(data, state)
        trace[sweep - sweeps[0] - 1] = log_likelihood(state)
        add_draw(data, state, sums, block)
        if sweep % THIN == 0:
            add_thinned(data, state, sums, block)
