"""Lazy greedy selection: the maximum over picks only grows, so an old objective bounds the new one from below."""

from __future__ import annotations

import numpy as np

from magister.arena._candidates import Candidates
from magister.arena._grid import FloatArray, cosines
from magister.arena.effort import Effort, each
from magister.arena.vectors import Positions

# Penalties computed at once: most steps need fewer.
_BATCH = 64


def lazy_picks(
    values: FloatArray, pool: Candidates, k: int, lam: float, penalty: str, effort: Effort
) -> tuple[Positions, FloatArray]:
    """Picks with the `max` penalty.

    The first pick has no penalty, and a cosine may be negative: what an instruction is worth without penalty
    bounds nothing. So the cosines of all instructions with the first pick are computed, in large products that serve
    all pairs; from then on every value is a lower bound.

    Args:
        values: similarities, shape (P, N), columns in the order of ids; NaN for what cannot be picked.
        pool: the instructions.
        k: picks.
        lam: weight of the penalty, 0 or more.
        penalty: "max".
        effort: memory and threads.

    Returns:
        Columns picked, int64, shape (P, k), -1 for none; and their penalties, NaN for none.
    """
    if penalty != "max":
        raise ValueError(f"lazy evaluation needs a penalty that only grows: max, not {penalty}")
    count, size = values.shape
    rows = np.full((count, k), -1, dtype=np.int64)
    penalties = np.full((count, k), np.nan)
    some = np.flatnonzero(~np.isnan(values).all(axis=1)) if size else np.empty(0, dtype=np.int64)
    for pairs in np.array_split(some, max(1, -(-some.size * size * 8 // max(effort.memory // 4, 1)))):
        if not pairs.size:
            continue
        first = np.array([np.nanargmin(values[pair]) for pair in pairs.tolist()], dtype=np.int64)
        rows[pairs, 0], penalties[pairs, 0] = first, 0.0
        if k == 1:
            continue
        unique, which = np.unique(first, return_inverse=True)
        near = _against(pool, unique, effort)

        def work(
            at: int, pairs: Positions = pairs, near: FloatArray = near, which: Positions = which
        ) -> None:
            pair = pairs[at]
            _continue(values[pair], near[which[at]], pool, lam, rows[pair], penalties[pair])

        each(work, range(pairs.size), effort)
    return rows, penalties


def _against(pool: Candidates, picks: Positions, effort: Effort) -> FloatArray:
    """Cosines of some instructions with all, shape (n, N); 0 for those without a vector."""
    near = np.empty((picks.size, pool.count))
    picked, length = pool.rows(picks), pool.length[picks][:, None]

    def work(start: int) -> None:
        block = pool.block(start)
        part = near[:, start : start + block.shape[0]]
        part[:] = cosines(picked @ block.T, length, pool.length[start : start + block.shape[0]])

    each(work, pool.starts(), effort)
    near[:, pool.absent] = 0.0
    return near


def _continue(
    values: FloatArray,
    near: FloatArray,
    pool: Candidates,
    lam: float,
    rows: Positions,
    penalties: FloatArray,
) -> None:
    """The second and later picks of one pair, into `rows` and `penalties`, shape (k,)."""
    similarity = np.where(np.isnan(values), np.inf, values)
    near = near.copy()
    bound = similarity + lam * near
    bound[rows[0]] = np.inf
    # Picks that an instruction's bound has seen.
    seen = np.ones(values.size, dtype=np.int32)
    vectors = pool.rows(rows[:1])
    for step in range(1, rows.size):
        lowest = int(bound.argmin())
        if bound[lowest] == np.inf:
            return
        if step > 1:
            some = np.array([lowest])
            best = np.inf
            while some.size:
                fresh = pool.cosines(some, rows[1:step], vectors).max(axis=1)
                near[some] = np.maximum(near[some], fresh)
                bound[some] = similarity[some] + lam * near[some]
                seen[some] = step
                best = min(best, float(bound[some].min()))
                # Equal bounds too: they may tie, and ties break by id.
                some = np.flatnonzero(bound <= best)
                some = some[seen[some] < step]
                if some.size > _BATCH:
                    some = some[np.argpartition(bound[some], _BATCH)[:_BATCH]]
            lowest = int(bound.argmin())
        rows[step], penalties[step] = lowest, near[lowest]
        bound[lowest] = np.inf
        new = pool.rows(rows[step : step + 1])
        vectors = new if step == 1 else np.concatenate([vectors, new])
