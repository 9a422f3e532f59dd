"""Full greedy selection: every penalty of every pair at every step, in large products."""

from __future__ import annotations

import numpy as np

from magister.arena._candidates import Candidates
from magister.arena._grid import FloatArray, cosines
from magister.arena.effort import Effort, each
from magister.arena.vectors import Positions


def full_picks(
    values: FloatArray, pool: Candidates, k: int, lam: float, penalty: str, effort: Effort
) -> tuple[Positions, FloatArray]:
    """Picks with the `max` or `mean` penalty; see `_lazy.lazy_picks`.

    All pairs take a step together: the cosines of all instructions with the latest picks are one product, block by
    block. A mean adds its cosines in the order of picks, so that it is the same bytes however it is computed.
    """
    count, size = values.shape
    rows = np.full((count, k), -1, dtype=np.int64)
    penalties = np.full((count, k), np.nan)
    if not size or not count:
        return rows, penalties
    # Two arrays of this size: similarities and sums.
    for pairs in np.array_split(
        np.arange(count), max(1, -(-count * size * 16 // max(effort.memory // 4, 1)))
    ):
        if pairs.size:
            _walk(values[pairs], pool, lam, penalty, effort, rows, penalties, pairs)
    return rows, penalties


def _walk(
    similarity: FloatArray,
    pool: Candidates,
    lam: float,
    penalty: str,
    effort: Effort,
    rows: Positions,
    penalties: FloatArray,
    pairs: Positions,
) -> None:
    similarity[np.isnan(similarity)] = np.inf
    state = np.full(similarity.shape, -np.inf if penalty == "max" else 0.0)
    lines = np.arange(pairs.size)
    lowest = similarity.argmin(axis=1)
    live = similarity[lines, lowest] < np.inf
    rows[pairs[live], 0], penalties[pairs[live], 0] = lowest[live], 0.0
    starts = pool.starts()
    for step in range(1, rows.shape[1]):
        similarity[lines, lowest] = np.inf
        unique, which = np.unique(lowest, return_inverse=True)
        picked, length = pool.rows(unique), pool.length[unique][:, None]
        least = np.empty((len(starts), pairs.size))
        where = np.empty((len(starts), pairs.size), dtype=np.int64)

        def work(
            start: int,
            step: int = step,
            picked: FloatArray = picked,
            length: FloatArray = length,
            which: Positions = which,
            least: FloatArray = least,
            where: Positions = where,
        ) -> None:
            block = pool.block(start)
            span = slice(start, start + block.shape[0])
            near = cosines(picked @ block.T, length, pool.length[span])
            near[:, pool.absent[span]] = 0.0
            part = state[:, span]
            if penalty == "max":
                np.maximum(part, near[which], out=part)
                objective = similarity[:, span] + lam * part
            else:
                part += near[which]
                objective = similarity[:, span] + lam * (part / step)
            index, at = start // pool.step, objective.argmin(axis=1)
            where[index], least[index] = at + start, objective[lines, at]

        each(work, starts, effort)
        block = least.argmin(axis=0)  # the first of equals: blocks are in the order of ids
        lowest = where[block, lines]
        live = least[block, lines] < np.inf
        rows[pairs[live], step] = lowest[live]
        worth = state[lines, lowest] if penalty == "max" else state[lines, lowest] / step
        penalties[pairs[live], step] = worth[live]
        if not live.any():
            return
