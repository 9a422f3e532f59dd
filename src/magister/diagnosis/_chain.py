"""One chain of SAEM: where it starts, how it runs, and what its sums come to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from magister.diagnosis._ability import GRID
from magister.diagnosis._state import FLAT, HIGHER_ORDER, INDEPENDENT, Data, Floats, Rules, State, Sums, Words
from magister.diagnosis._sweeps import run_sweeps
from magister.diagnosis.fits import Chain, Draw
from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.prior import QPrior

BLOCKS = 16
"""Blocks of sums. When all are full each two become one, of twice the length."""
DRAWS = 7
"""Draws stored with a block: 28 to 56 in the kept half of the blocks."""
_FIRST = 200
"""Sweeps that eight blocks have at first, unless there are more parallel sweeps; chains are checked after them."""
TRACE = 10
"""Sweeps from one row of the trace to the next."""
_PRIORS = {"flat": FLAT, "bernoulli": INDEPENDENT, "higher_order": HIGHER_ORDER}


@dataclass(frozen=True)
class SaemOptions:
    """Options of a fit; the defaults are those that simulations and golden data were checked with.

    Attributes:
        alpha_prior: `higher_order` (logit P(alpha_ik) = lambda_k theta_i + d_k), `bernoulli` (a share per attribute)
            or `flat` (one half; overclaims mastery of weak models).
        min_sweeps: sweeps before chains may stop.
        max_sweeps: at most; chains stop where they are checked, so the last check within it ends them.
        starts: places that a chain tries; it goes on from the best. One is enough where no entry is open.
        parallel_sweeps: sweeps at first in which all is drawn at once from the sweep before.
        damping: share of mastery that such a sweep leaves as it was.
        delta: least c - g of an item.
        draws: draws that a chain hands out.
    """

    alpha_prior: str = "higher_order"
    min_sweeps: int = 200
    max_sweeps: int = 5000
    starts: int = 3
    parallel_sweeps: int = 100
    damping: float = 0.3
    delta: float = 0.05
    draws: int = 25


def pack(flags: NDArray[np.bool_]) -> Words:
    """Pack N x M flags into M rows of words, 64 of N a word, lowest bit first."""
    n = len(flags)
    padded = np.zeros((flags.shape[1], -(-n // 64) * 64), dtype=bool)
    padded[:, :n] = flags.T
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def unpack(words: Words, n: int) -> NDArray[np.bool_]:
    """The N x M flags of M rows of words."""
    data = np.ascontiguousarray(words.astype("<u8")).view(np.uint8)
    return np.unpackbits(data, axis=1, count=n, bitorder="little").astype(bool).T


def pack_data(
    matrix: ResponseMatrix,
    prior: QPrior,
    options: SaemOptions,
    held_out: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> Data:
    """Arrays of a fit.

    Args:
        matrix: responses, held-out cells missing.
        prior: its items are those of the matrix, in order.
        options: of the fit.
        held_out: models and items of the held-out cells, sorted by item.
    """
    right, wrong = pack(matrix.correct == 1), pack(matrix.correct == 0)
    r = prior.probability
    free = (r > 0) & (r < 1)
    inside = np.where(free, r, 0.5)
    rows, columns = held_out
    return Data(
        right_block=np.ascontiguousarray(right.T),
        wrong_block=np.ascontiguousarray(wrong.T),
        right=right,
        wrong=wrong,
        valid=pack(np.ones((len(matrix.models), 1), dtype=bool))[0],
        logit=np.log(inside / (1 - inside)),
        free=free.astype(np.uint8),
        closed=np.where(free, 2, r).astype(np.uint8),
        n_free=free.sum(axis=1).astype(np.int32),
        n_right=(matrix.correct == 1).sum(axis=0).astype(np.float64),
        n_answered=matrix.answered.sum(axis=0).astype(np.float64),
        theta=GRID if options.alpha_prior == "higher_order" else np.zeros(1),
        held_start=np.searchsorted(columns, np.arange(len(prior.items) + 1)).astype(np.int32),
        held_model=rows.astype(np.int32),
    )


@dataclass
class Start:
    """Where a chain starts: N x K mastery, J x K entries, c and g."""

    alpha: NDArray[np.bool_]
    q: NDArray[np.bool_]
    right_rate: Floats
    guess: Floats


def start_chain(matrix: ResponseMatrix, prior: QPrior, seed: int, chain: int, attempt: int) -> Start:
    """Where a chain starts, in one of its attempts; both are numbered from 1.

    The first attempt of the first chain starts at the reference Q-matrix, mastery where a model's share of right
    answers to an attribute's items is above the median, c = 0.8 and g = 0.2. The others start around it: another
    quantile than the median for every attribute, a tenth of mastery turned over, a quarter of the open entries drawn
    from the prior, c and g drawn.
    """
    reference = prior.reference
    n_models, n_items = matrix.correct.shape
    n_attributes = reference.shape[1]
    answered, right = matrix.answered.astype(np.float64), (matrix.correct == 1).astype(np.float64)
    needs = reference.astype(np.float64)
    n, overall = answered @ needs, right.sum(axis=1) / answered.sum(axis=1)
    score = np.where(n > 0, (right @ needs) / np.maximum(n, 1), overall[:, None])
    if chain == attempt == 1:
        limit = np.median(score, axis=0)
        return Start(score > limit, reference.copy(), np.full(n_items, 0.8), np.full(n_items, 0.2))
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 0x5341, chain, attempt])))
    quantiles = 0.3 + 0.4 * rng.random((n_attributes,))
    limit = np.array([np.quantile(score[:, k], quantiles[k]) for k in range(n_attributes)])
    alpha = (score > limit) ^ (rng.random((n_models, n_attributes)) < 0.1)
    redrawn = (rng.random(reference.shape) < 0.25) & (prior.probability > 0) & (prior.probability < 1)
    q = np.where(redrawn, rng.random(reference.shape) < prior.probability, reference)
    q[~q.any(axis=1)] = reference[~q.any(axis=1)]
    c = 0.7 + 0.2 * rng.random((n_items,))
    g = 0.1 + 0.2 * rng.random((n_items,))
    return Start(alpha, q, c, g)


def make_state(data: Data, start: Start) -> State:
    """The state of a chain before its first sweep."""
    n_words, n_items = data.right_block.shape
    n_attributes, n_grid = start.q.shape[1], len(data.theta)
    mastery = pack(start.alpha)
    grid = 2.0**32
    # Abilities start at the quantile of the number of attributes mastered.
    share = start.alpha.mean(axis=1)
    at = np.searchsorted(data.theta, 2 * (share - share.mean()) / max(share.std(), 1e-9) / 2)
    ability = np.zeros(n_words * 64, np.int32)
    ability[: len(share)] = np.clip(at, 0, n_grid - 1)
    c, g = start.right_rate, start.guess
    loading = np.full(n_attributes, 1.0 if n_grid > 1 else 0.0)
    state = State(
        block=np.ascontiguousarray(mastery.T),
        mastery=mastery,
        q=start.q.astype(np.uint8),
        needs=np.zeros((n_items, n_attributes), np.int32),
        n_needs=np.zeros(n_items, np.int32),
        right_rate=c.copy(),
        guess=g.copy(),
        weight_right=np.rint(np.log(c / g) * grid) / grid,
        weight_wrong=np.rint(np.log((1 - c) / (1 - g)) * grid) / grid,
        counts=np.zeros((4, n_items)),
        drawn=np.zeros((4, n_items)),
        ability=ability,
        loading=loading,
        intercept=np.zeros(n_attributes),
        prior=np.rint(loading[:, None] * data.theta * grid) / grid,
        at_theta=np.zeros(n_grid),
        mastered_at=np.zeros((n_grid, n_attributes)),
    )
    _list_needs(state)
    return state


def _list_needs(state: State) -> None:
    # Attributes that are needed first, in order.
    state.needs[:] = np.argsort(state.q == 0, axis=1, kind="stable")
    state.n_needs[:] = state.q.sum(axis=1)


def make_sums(data: Data) -> Sums:
    """Empty sums."""
    n_words, n_items = data.right_block.shape
    n_attributes = data.logit.shape[1]
    lanes, entries = (BLOCKS, n_words, n_attributes, 64), (BLOCKS, n_items, n_attributes)
    return Sums(
        mastery=np.zeros(lanes, np.int32),
        unlocked=np.zeros(lanes, np.int32),
        q=np.zeros(entries, np.int32),
        counts=np.zeros((BLOCKS, 4, n_items)),
        rates=np.zeros((BLOCKS, 4, n_items)),
        theta=np.zeros((BLOCKS, n_words * 64)),
        attributes=np.zeros((BLOCKS, 2, n_attributes)),
        held=np.zeros((BLOCKS, len(data.held_model))),
        thinned=np.zeros((BLOCKS, 1), np.int32),
    )


@dataclass
class Draws:
    """Draws of the blocks: B x D x (K x W words, J x K entries, J, J)."""

    mastery: Words
    q: NDArray[np.uint8]
    guess: Floats
    right_rate: Floats


@dataclass
class Run:
    """A chain on its way; `blocks` are full, and the next is filled."""

    data: Data
    rules: Rules
    state: State
    sums: Sums
    draws: Draws
    length: int
    blocks: int
    sweep: int
    loglik: Floats
    """Of every sweep so far."""
    changes: Floats
    """3 x E: ends of blocks, and how much the last block changed the means of items and of q."""


def new_run(data: Data, start: Start, options: SaemOptions, key: tuple[int, int], stream: int) -> Run:
    """A chain before its first sweep; chains of another stream have other random numbers."""
    kind = _PRIORS[options.alpha_prior]
    length = -(-max(2 * options.parallel_sweeps, min(options.min_sweeps, _FIRST)) // (BLOCKS // 2))
    rules = Rules(
        *key, stream, kind, BLOCKS // 4 * length, options.parallel_sweeps, options.damping, options.delta
    )
    n_words, n_items = data.right_block.shape
    n_attributes = data.logit.shape[1]
    draws = Draws(
        np.zeros((BLOCKS, DRAWS, n_attributes, n_words), np.uint64),
        np.zeros((BLOCKS, DRAWS, n_items, n_attributes), np.uint8),
        np.zeros((BLOCKS, DRAWS, n_items)),
        np.zeros((BLOCKS, DRAWS, n_items)),
    )
    return Run(
        *(data, rules, make_state(data, start), make_sums(data), draws),
        *(length, 0, 0, np.zeros(0), np.zeros((3, 0))),
    )


def run_block(run: Run) -> None:
    """Run the sweeps of one block, and merge the blocks when all are full."""
    block, first = run.blocks, run.sweep
    for array in run.sums:
        array[block] = 0
    parts = []
    for number in range(DRAWS):
        last = first + run.length * (number + 1) // DRAWS
        trace = np.zeros(last - run.sweep)
        run_sweeps(run.data, run.state, run.sums, run.rules, (run.sweep, last), block, trace)
        parts.append(trace)
        run.sweep = last
        run.draws.mastery[block, number] = run.state.mastery
        run.draws.q[block, number] = run.state.q
        run.draws.guess[block, number] = run.state.guess
        run.draws.right_rate[block, number] = run.state.right_rate
    run.loglik = np.concatenate([run.loglik, *parts])
    run.blocks += 1
    if run.sweep <= BLOCKS // 4 * run.length:
        relabel(run)
    if run.blocks >= 4:
        changed = [float(run.sweep), *last_change([run])]
        run.changes = np.concatenate([run.changes, np.array(changed)[:, None]], axis=1)


def relabel(run: Run) -> None:
    """Give every attribute the place at which its items suit the prior best.

    The responses do not tell the places of attributes apart, so early sweeps may leave two of them exchanged, which
    single draws cannot undo.
    """
    data, state = run.data, run.state
    q = state.q.astype(np.float64)
    fits = q.T @ np.where(data.free, data.logit, 0.0)
    # A closed entry may not change.
    fits -= 1e9 * (q.T @ (data.closed == 0) + (1 - q).T @ (data.closed == 1))
    rows, columns = linear_sum_assignment(fits, maximize=True)
    if fits[rows, columns].sum() <= np.trace(fits) + 1e-9:
        return
    back = np.argsort(columns)
    state.block[:] = state.block[:, back]
    state.mastered_at[:] = state.mastered_at[:, back]
    for array in (state.mastery, state.loading, state.intercept, state.prior):
        array[:] = array[back]
    state.q[:] = state.q[:, back]
    _list_needs(state)


def warm_up(run: Run) -> float:
    """Run the blocks before the first kept ones; how well the responses and the prior of Q suit where they end."""
    while run.blocks < BLOCKS // 4:
        run_block(run)
    belief = np.where(run.data.free, run.data.logit, 0.0)[run.state.q == 1].sum()
    return float(run.loglik[-run.length :].mean() + belief)


def merge_blocks(run: Run) -> None:
    """Join each two blocks and keep every other draw; half of the blocks are free then."""
    half = BLOCKS // 2
    for array in run.sums:
        array[:half] = array[0::2] + array[1::2]
    for array in vars(run.draws).values():
        pairs = array.reshape(half, 2 * DRAWS, *array.shape[2:])
        array[:half] = pairs[:, 1::2].copy()
    run.blocks, run.length = half, 2 * run.length


def kept_blocks(run: Run) -> slice:
    """The blocks of the second half."""
    return slice(run.blocks - run.blocks // 2, run.blocks)


def set_apart(counts: Floats, delta: float) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """c, g and whether they had to be held `delta` apart, from counts (4 x J)."""
    right, n, right_other, n_other = counts
    c, g = (right + 1) / (n + 2), (right_other + 1) / (n_other + 2)
    pooled = c - g < delta
    least = delta / 2 + 1 / (n + n_other + 2)
    p = np.clip((right + right_other + 1) / (n + n_other + 2), least, 1 - least)
    return np.where(pooled, p + delta / 2, c), np.where(pooled, p - delta / 2, g), pooled


def last_change(runs: list[Run]) -> tuple[float, float]:
    """Largest change that the last block makes to the means, over chains, of c and g, and of q."""
    changes = []
    for end in (0, 1):
        rates, entries = [], []
        for run in runs:
            kept = kept_blocks(run)
            kept = slice(kept.start, kept.stop - end)
            n = run.length * (kept.stop - kept.start)
            c, g, _ = set_apart(run.sums.counts[kept].sum(axis=0) / n, run.rules.delta)
            rates.append(np.concatenate([c, g]))
            entries.append(run.sums.q[kept].sum(axis=0) / n)
        changes.append((np.mean(rates, axis=0), np.mean(entries, axis=0)))
    (rates_all, q_all), (rates_before, q_before) = changes
    return float(np.abs(rates_all - rates_before).max()), float(np.abs(q_all - q_before).max())


def finish(run: Run, n_models: int, draws: int) -> Chain:
    """What the chain's kept sweeps come to."""
    kept, sums = kept_blocks(run), run.sums
    n_blocks = kept.stop - kept.start
    n = run.length * n_blocks
    thinned = int(sums.thinned[kept].sum())
    counts = sums.counts[kept].sum(axis=0) / n
    c, g, pooled = set_apart(counts, run.rules.delta)
    ends, items, entries = run.changes
    sweeps = np.union1d(np.arange(TRACE, run.sweep + 1, TRACE), ends.astype(np.int64)).astype(np.int64)
    at = np.searchsorted(sweeps, ends.astype(np.int64))
    traces = np.full((2, len(sweeps)), np.nan)
    traces[:, at] = items, entries
    loading, intercept = sums.attributes[kept].sum(axis=0) / n
    return Chain(
        alpha=_by_model(sums.mastery[kept].sum(axis=0), n_models) / n,
        q=sums.q[kept].sum(axis=0) / n,
        unlocked=_by_model(sums.unlocked[kept].sum(axis=0), n_models) / thinned,
        guess=g,
        slip=1 - c,
        counts=counts,
        pooled=pooled,
        loading=loading,
        intercept=intercept,
        theta=sums.theta[kept].sum(axis=0)[:n_models] / n,
        loglik=float(run.loglik[-n:].mean()),
        trace_sweep=sweeps,
        trace_loglik=run.loglik[sweeps - 1],
        trace_item_change=traces[0],
        trace_q_change=traces[1],
        sweeps=run.sweep,
        kept=n,
        draws=_chosen_draws(run, n_models, draws),
        held_out=sums.held[kept].sum(axis=0) / thinned,
    )


def _by_model(lanes: NDArray[np.int32], n_models: int) -> NDArray[np.int32]:
    # W x K x 64 to N x K.
    return lanes.transpose(0, 2, 1).reshape(-1, lanes.shape[1])[:n_models]


def _chosen_draws(run: Run, n_models: int, draws: int) -> tuple[Draw, ...]:
    kept = kept_blocks(run)
    there = (kept.stop - kept.start) * DRAWS
    # Evenly spread, the last sweep among them.
    chosen = [(there * (number + 1)) // draws - 1 for number in range(draws)]
    found = []
    for place in chosen:
        at = (kept.start + place // DRAWS, place % DRAWS)
        found.append(
            Draw(
                alpha=unpack(run.draws.mastery[at], n_models),
                q=run.draws.q[at].astype(bool),
                guess=run.draws.guess[at].copy(),
                slip=1 - run.draws.right_rate[at],
            )
        )
    return tuple(found)
