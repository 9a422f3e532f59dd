"""Sums over kept sweeps, by block of sweeps."""

from __future__ import annotations

import numpy as np

from magister.diagnosis._compile import kernel
from magister.diagnosis._state import Data, State, Sums

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LANES = np.uint64(1) << np.arange(64, dtype=np.uint64)


@kernel
def add_draw(data: Data, state: State, sums: Sums, block: int) -> None:
    """Add a sweep's draw."""
    n_words, n_attributes = state.block.shape
    for w in range(n_words):
        for k in range(n_attributes):
            word = state.block[w, k]
            total = sums.mastery[block, w, k]
            for i in range(64):
                total[i] += np.int32(1) if word & _LANES[i] else np.int32(0)
        for i in range(64):
            sums.theta[block, w * 64 + i] += data.theta[state.ability[w * 64 + i]]
    n_items = state.q.shape[0]
    for j in range(n_items):
        for k in range(n_attributes):
            sums.q[block, j, k] += state.q[j, k]
        for m in range(4):
            sums.counts[block, m, j] += state.counts[m, j]
        c = (state.drawn[0, j] + 1.0) / (state.drawn[1, j] + 2.0)
        g = (state.drawn[2, j] + 1.0) / (state.drawn[3, j] + 2.0)
        sums.rates[block, 0, j] += c
        sums.rates[block, 1, j] += g
        sums.rates[block, 2, j] += c * c
        sums.rates[block, 3, j] += g * g
    for k in range(n_attributes):
        sums.attributes[block, 0, k] += state.loading[k]
        sums.attributes[block, 1, k] += state.intercept[k]


@kernel
def add_thinned(data: Data, state: State, sums: Sums, block: int) -> None:
    """Add which answered items tell of an attribute, and the predictions of held-out cells."""
    n_words = state.block.shape[0]
    n_items = state.q.shape[0]
    for w in range(n_words):
        for j in range(n_items):
            answered = data.right_block[w, j] | data.wrong_block[w, j]
            for m in range(state.n_needs[j]):
                unlocked = answered
                for other in range(state.n_needs[j]):
                    if other != m:
                        unlocked &= state.block[w, state.needs[j, other]]
                if unlocked:
                    total = sums.unlocked[block, w, state.needs[j, m]]
                    for i in range(64):
                        total[i] += np.int32(1) if unlocked & _LANES[i] else np.int32(0)
    for j in range(n_items):
        for cell in range(data.held_start[j], data.held_start[j + 1]):
            model = data.held_model[cell]
            word = _ALL
            for m in range(state.n_needs[j]):
                word &= state.block[model >> 6, state.needs[j, m]]
            masters = word & _LANES[model & 63]
            sums.held[block, cell] += state.right_rate[j] if masters else state.guess[j]
    sums.thinned[block, 0] += 1
