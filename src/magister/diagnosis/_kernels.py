"""Sweeps of SAEM over packed bits: 64 models a word, compiled, without the interpreter's lock.

Random numbers are Philox 4x32-10 (Salmon et al. 2011), a function of (seed; index, kind, sweep, stream): no number
depends on how many were drawn before, so neither threads nor a resumed fit change a bit. Weights of responses are
rounded to whole multiples of 2^-32, on which sums of float64 are exact: no order of summation matters.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from magister.diagnosis._compile import kernel
from magister.diagnosis._state import Floats, Space

CERTAIN = 23.0
"""Log-odds beyond which a 32-bit uniform number decides one way: above log(2^33)."""
MOVE = 2
"""Sweeps from one move of an attribute of every item to the next."""
_GRID = 2.0**32
_LANES = np.uint64(1) << np.arange(64, dtype=np.uint64)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_BINS = 1024
_MASTERY, _DAMPING, _ENTRY, _PLACE = 1, 2, 3, 4


def _bin_edges() -> Floats:
    # Log-odds at which a uniform number's bin begins; outermost bins are never decided by their edge.
    edges = [math.log(number / (_BINS - number)) for number in range(1, _BINS)]
    return np.array([-np.inf, *edges, np.inf])


_EDGES = _bin_edges()


@intrinsic
def popcount(context: Any, word: Any) -> Any:
    """Number of ones of a word."""

    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@kernel
def philox(key_low, key_high, index, kind, sweep, stream, out):  # type: ignore[no-untyped-def]
    """Fill `out` (4 x n, uint32) with the blocks of index, index + 1, ..., as Philox 4x32-10."""
    mask = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    for n in range(out.shape[1]):
        x0 = np.uint64(index + n) & mask
        x1 = np.uint64(kind) & mask
        x2 = np.uint64(sweep) & mask
        x3 = np.uint64(stream) & mask
        k0 = np.uint64(key_low) & mask
        k1 = np.uint64(key_high) & mask
        for _ in range(10):
            p0 = x0 * np.uint64(0xD2511F53)
            p1 = x2 * np.uint64(0xCD9E8D57)
            x0, x1, x2, x3 = (
                (p1 >> half) ^ x1 ^ k0,
                p1 & mask,
                (p0 >> half) ^ x3 ^ k1,
                p0 & mask,
            )
            k0 = (k0 + np.uint64(0x9E3779B9)) & mask
            k1 = (k1 + np.uint64(0xBB67AE85)) & mask
        out[0, n] = np.uint32(x0)
        out[1, n] = np.uint32(x1)
        out[2, n] = np.uint32(x2)
        out[3, n] = np.uint32(x3)


@kernel
def is_drawn(odds, number):  # type: ignore[no-untyped-def]
    """Whether a uniform 32-bit number is below the probability of these log-odds."""
    return (np.float64(number) + 0.5) * 2.0**-32 < 1.0 / (1.0 + math.exp(-odds))


@kernel
def draw_word(odds, numbers):  # type: ignore[no-untyped-def]
    """Draw 64 bits by their log-odds; a number's bin decides nearly always, the logistic function the rest."""
    drawn = np.uint64(0)
    not_drawn = np.uint64(0)
    for i in range(64):
        here = numbers[i] >> np.uint32(22)
        drawn |= _LANES[i] if odds[i] >= _EDGES[here + 1] else np.uint64(0)
        not_drawn |= _LANES[i] if odds[i] < _EDGES[here] else np.uint64(0)
    open_lanes = ~(drawn | not_drawn)
    if open_lanes:
        for i in range(64):
            if open_lanes & _LANES[i] and is_drawn(odds[i], numbers[i]):
                drawn |= _LANES[i]
    return drawn


@kernel
def add_odds(data, state, others, w, k, items, total):  # type: ignore[no-untyped-def]
    """Add to `total` (64) what the word's models' responses say of attribute k, given the other attributes."""
    for n in range(items.size):
        j = items[n]
        unlocked = _ALL
        for m in range(state.n_needs[j]):
            other = state.needs[j, m]
            if other != k:
                unlocked &= others[other]
        right = unlocked & data.right_block[w, j]
        wrong = unlocked & data.wrong_block[w, j]
        if right | wrong == np.uint64(0):
            continue
        a = state.weight_right[j]
        b = state.weight_wrong[j]
        for i in range(64):
            total[i] += a if right & _LANES[i] else (b if wrong & _LANES[i] else 0.0)


@kernel
def items_by_attribute(state):  # type: ignore[no-untyped-def]
    """The items that need an attribute: K + 1 starts, and items."""
    n_items, n_attributes = state.q.shape
    start = np.zeros(n_attributes + 1, np.int32)
    for j in range(n_items):
        for m in range(state.n_needs[j]):
            start[state.needs[j, m] + 1] += 1
    for k in range(n_attributes):
        start[k + 1] += start[k]
    items = np.empty(start[n_attributes], np.int32)
    place = start.copy()
    for j in range(n_items):
        for m in range(state.n_needs[j]):
            k = state.needs[j, m]
            items[place[k]] = j
            place[k] += 1
    return start, items


@kernel
def mastery_odds(data, state, w, k, others, start, items, total):  # type: ignore[no-untyped-def]
    """Log-odds (64) of attribute k of a word's models, given all else."""
    for i in range(64):
        total[i] = state.prior[k, state.ability[w * 64 + i]]
    add_odds(data, state, others, w, k, items[start[k] : start[k + 1]], total)


@kernel
def update_mastery(data, state, rules, sweep):  # type: ignore[no-untyped-def]
    """Draw every mastery: attribute by attribute, or all at once and damped in the parallel sweeps."""
    n_words, n_attributes = state.block.shape
    start, items = items_by_attribute(state)
    parallel = sweep <= rules.parallel_sweeps
    total = np.empty(64, np.float64)
    numbers = np.empty((4, 16), np.uint32)
    others = np.empty(n_attributes, np.uint64)
    share = np.uint32(min(4294967295.0, (1.0 - rules.damping) * 4294967296.0))
    for w in range(n_words):
        others[:] = state.block[w]
        for k in range(n_attributes):
            mastery_odds(data, state, w, k, others, start, items, total)
            index = (w * n_attributes + k) * 16
            philox(rules.key_low, rules.key_high, index, _MASTERY, sweep, rules.stream, numbers)
            word = draw_word(total, numbers.reshape(64)) & data.valid[w]
            if parallel:
                philox(rules.key_low, rules.key_high, index, _DAMPING, sweep, rules.stream, numbers)
                changes = np.uint64(0)
                for i in range(64):
                    if numbers[i >> 4, i & 15] < share:
                        changes |= _LANES[i]
                word = (word & changes) | (state.block[w, k] & ~changes)
            else:
                others[k] = word
            state.block[w, k] = word
    for k in range(n_attributes):
        for w in range(n_words):
            state.mastery[k, w] = state.block[w, k]


@kernel
def set_unlocked(data, state, j, without, right, wrong):  # type: ignore[no-untyped-def]
    """Models that are right or wrong on an item and master all that it needs, but for one attribute left out."""
    for w in range(right.size):
        right[w] = data.right[j, w]
        wrong[w] = data.wrong[j, w]
    for m in range(state.n_needs[j]):
        k = state.needs[j, m]
        if k != without:
            words = state.mastery[k]
            for w in range(right.size):
                right[w] &= words[w]
                wrong[w] &= words[w]


@kernel
def count_masters(right, wrong, mastery, with_right, with_wrong):  # type: ignore[no-untyped-def]
    """Of the models that are right, and that are wrong: how many master each attribute."""
    n_attributes = mastery.shape[0]
    first = 0
    while first < n_attributes:
        # Four attributes a pass over the words; the last pass may repeat the last attribute.
        k0 = first
        k1 = min(first + 1, n_attributes - 1)
        k2 = min(first + 2, n_attributes - 1)
        k3 = min(first + 3, n_attributes - 1)
        m0, m1, m2, m3 = mastery[k0], mastery[k1], mastery[k2], mastery[k3]
        r0 = r1 = r2 = r3 = np.uint64(0)
        w0 = w1 = w2 = w3 = np.uint64(0)
        for w in range(right.size):
            right_word = right[w]
            wrong_word = wrong[w]
            r0 += popcount(right_word & m0[w])
            w0 += popcount(wrong_word & m0[w])
            r1 += popcount(right_word & m1[w])
            w1 += popcount(wrong_word & m1[w])
            r2 += popcount(right_word & m2[w])
            w2 += popcount(wrong_word & m2[w])
            r3 += popcount(right_word & m3[w])
            w3 += popcount(wrong_word & m3[w])
        with_right[k3] = r3
        with_wrong[k3] = w3
        with_right[k2] = r2
        with_wrong[k2] = w2
        with_right[k1] = r1
        with_wrong[k1] = w1
        with_right[k0] = r0
        with_wrong[k0] = w0
        first += 4


@kernel
def survey_row(data, state, j, space):  # type: ignore[no-untyped-def]
    """Log-odds of an item's entries given the others, in `odds`; answers of those that master all, in `answers`."""
    right, wrong, one = space.right, space.wrong, space.one
    all_right, all_wrong = data.right[j], data.wrong[j]
    first = state.mastery[state.needs[j, 0]]
    # `right` holds who lacks nothing at first, `one` who lacks a single attribute.
    for w in range(right.size):
        right[w] = first[w]
        one[w] = ~first[w]
    for m in range(1, state.n_needs[j]):
        mastery = state.mastery[state.needs[j, m]]
        for w in range(right.size):
            one[w] = (one[w] & mastery[w]) | (right[w] & ~mastery[w])
            right[w] &= mastery[w]
    n_right = np.uint64(0)
    n_wrong = np.uint64(0)
    for w in range(right.size):
        unlocked = right[w]
        right[w] = unlocked & all_right[w]
        wrong[w] = unlocked & all_wrong[w]
        n_right += popcount(right[w])
        n_wrong += popcount(wrong[w])
    count_masters(right, wrong, state.mastery, space.with_right, space.with_wrong)
    a = state.weight_right[j]
    b = state.weight_wrong[j]
    for k in range(space.odds.size):
        lacking = a * np.float64(n_right - space.with_right[k]) + b * np.float64(
            n_wrong - space.with_wrong[k]
        )
        space.odds[k] = data.logit[j, k] - lacking
    for m in range(state.n_needs[j]):
        k = state.needs[j, m]
        mastery = state.mastery[k]
        lack_right = np.uint64(0)
        lack_wrong = np.uint64(0)
        for w in range(right.size):
            lacks = one[w] & ~mastery[w]
            lack_right += popcount(lacks & all_right[w])
            lack_wrong += popcount(lacks & all_wrong[w])
        space.odds[k] = data.logit[j, k] - (a * np.float64(lack_right) + b * np.float64(lack_wrong))
    space.answers[0] = n_right
    space.answers[1] = n_wrong


@kernel
def draw_entry(rules, odds, index, sweep, numbers):  # type: ignore[no-untyped-def]
    """A draw of an entry; no number is made where it could not matter."""
    if odds >= CERTAIN:
        return True
    if odds <= -CERTAIN:
        return False
    philox(rules.key_low, rules.key_high, index, _ENTRY, sweep, rules.stream, numbers)
    return is_drawn(odds, numbers[0, 0])


@kernel
def list_needs(state, j):  # type: ignore[no-untyped-def]
    """Set the list of an item's attributes from its row."""
    n = 0
    for k in range(state.q.shape[1]):
        if state.q[j, k]:
            state.needs[j, n] = k
            n += 1
    state.n_needs[j] = n


@kernel
def update_row(data, state, rules, sweep, j, first, space):  # type: ignore[no-untyped-def]
    """Draw an item's entries one by one, from `first` on, up to the first that changes; the last attribute stays.

    Returns the entry that follows the change, K where nothing changed, and whether something did.
    """
    n_attributes = state.q.shape[1]
    for k in range(first, n_attributes):
        if not data.free[j, k] or (state.q[j, k] and state.n_needs[j] == 1):
            continue
        drawn = draw_entry(rules, space.odds[k], j * n_attributes + k, sweep, space.numbers)
        if drawn != state.q[j, k]:
            state.q[j, k] = drawn
            list_needs(state, j)
            return k + 1, True
    return n_attributes, False


@kernel
def update_row_at_once(data, state, rules, sweep, j, space):  # type: ignore[no-untyped-def]
    """Draw an item's entries all from the old row; where none would be left the row stays. Whether it changed."""
    n_attributes = state.q.shape[1]
    left = 0
    changed = False
    for k in range(n_attributes):
        space.row[k] = state.q[j, k]
        if data.free[j, k]:
            drawn = draw_entry(rules, space.odds[k], j * n_attributes + k, sweep, space.numbers)
            changed = changed or drawn != state.q[j, k]
            space.row[k] = drawn
        left += space.row[k]
    if left and changed:
        state.q[j] = space.row
        list_needs(state, j)
        return True
    return False


@kernel
def move_entry(data, state, rules, sweep, j, space):  # type: ignore[no-untyped-def]
    """Take one of an item's open attributes at random and draw where it belongs, given the others.

    A draw from the full conditional over {k} and all open entries that the item does not need: e_k becomes e_l without
    the way over a row that needs both. Returns whether it moved.
    """
    n_attributes = state.q.shape[1]
    n_open = 0
    for m in range(state.n_needs[j]):
        n_open += data.free[j, state.needs[j, m]]
    if n_open == 0:
        return False
    philox(rules.key_low, rules.key_high, j, _PLACE, sweep, rules.stream, space.numbers)
    chosen = np.int64((np.uint64(space.numbers[0, 0]) * np.uint64(n_open)) >> np.uint64(32))
    here = -1
    for m in range(state.n_needs[j]):
        if data.free[j, state.needs[j, m]]:
            if chosen == 0:
                here = state.needs[j, m]
            chosen -= 1
    set_unlocked(data, state, j, here, space.right, space.wrong)
    count_masters(space.right, space.wrong, state.mastery, space.with_right, space.with_wrong)
    scores = space.odds
    best = -np.inf
    for k in range(n_attributes):
        scores[k] = -np.inf
        if k == here or (data.free[j, k] and not state.q[j, k]):
            scores[k] = (
                data.logit[j, k]
                + state.weight_right[j] * np.float64(space.with_right[k])
                + state.weight_wrong[j] * np.float64(space.with_wrong[k])
            )
            best = max(best, scores[k])
    total = 0.0
    for k in range(n_attributes):
        scores[k] = math.exp(scores[k] - best) if scores[k] - best > -2 * CERTAIN else 0.0
        total += scores[k]
    left = (np.float64(space.numbers[1, 0]) + 0.5) * 2.0**-32 * total
    there = here
    for k in range(n_attributes):
        if scores[k] > 0.0:
            there = k
            left -= scores[k]
            if left < 0.0:
                break
    if there != here:
        state.q[j, here] = 0
        state.q[j, there] = 1
        list_needs(state, j)
        return True
    return False


@kernel
def update_items(data, state, rules, sweep):  # type: ignore[no-untyped-def]
    """Draw every item's row, and count its answers with mastery of all that it needs, and without."""
    n_items, n_attributes = state.q.shape
    n_words = state.mastery.shape[1]
    space = Space(
        np.empty(n_words, np.uint64),
        np.empty(n_words, np.uint64),
        np.empty(n_words, np.uint64),
        np.empty(2, np.uint64),
        np.empty(n_attributes, np.uint64),
        np.empty(n_attributes, np.uint64),
        np.empty(n_attributes, np.float64),
        np.empty(n_attributes, np.uint8),
        np.empty((4, 1), np.uint32),
    )
    for j in range(n_items):
        to_draw = data.n_free[j] > 0
        to_move = to_draw and sweep > rules.parallel_sweeps and sweep % MOVE == 0
        first = 0
        changed = True
        while changed:
            survey_row(data, state, j, space)
            changed = False
            if to_draw and sweep <= rules.parallel_sweeps:
                changed = update_row_at_once(data, state, rules, sweep, j, space)
                to_draw = False
            elif to_draw:
                first, changed = update_row(data, state, rules, sweep, j, first, space)
                to_draw = changed
            if to_move and not changed:
                changed = move_entry(data, state, rules, sweep, j, space)
                to_move = False
        n_right = np.float64(space.answers[0])
        n_wrong = np.float64(space.answers[1])
        state.drawn[0, j] = n_right
        state.drawn[1, j] = n_right + n_wrong
        state.drawn[2, j] = data.n_right[j] - n_right
        state.drawn[3, j] = data.n_answered[j] - n_right - n_wrong


@kernel
def set_rates(state, delta):  # type: ignore[no-untyped-def]
    """c and g from the averaged counts, held `delta` apart, and the weights of responses."""
    for j in range(state.guess.size):
        right, n, right_other, n_other = state.counts[:, j]
        c = (right + 1.0) / (n + 2.0)
        g = (right_other + 1.0) / (n_other + 2.0)
        if c - g < delta:
            least = delta / 2.0 + 1.0 / (n + n_other + 2.0)
            p = (right + right_other + 1.0) / (n + n_other + 2.0)
            p = min(max(p, least), 1.0 - least)
            c = p + delta / 2.0
            g = p - delta / 2.0
        state.right_rate[j] = c
        state.guess[j] = g
        state.weight_right[j] = np.rint(math.log(c / g) * _GRID) / _GRID
        state.weight_wrong[j] = np.rint(math.log((1.0 - c) / (1.0 - g)) * _GRID) / _GRID


@kernel
def log_likelihood(state):  # type: ignore[no-untyped-def]
    """log P(responses | alpha, q, guess, slip) of the last draw."""
    total = 0.0
    for j in range(state.guess.size):
        right, n, right_other, n_other = state.drawn[:, j]
        c = state.right_rate[j]
        g = state.guess[j]
        total += right * math.log(c) + (n - right) * math.log(1.0 - c)
        total += right_other * math.log(g) + (n_other - right_other) * math.log(1.0 - g)
    return total
