"""Votes counted: after this no rating touches a vote again.

A *cell* is an outcome of a pair. Totals of the cells are whole numbers, and all that a rating reads. A *unit* is what
a bootstrap draws as one: the votes on one instruction (or its root), those of one annotator, or a single vote without
either. Units of one vote on the same cell are one *type* with a multiplicity, so that two million votes are drawn as
some thousand types.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from magister.arena.league import League
from magister.arena.votes import Ints

#: Scenarios are strata where each has so many units; smaller ones would not vary enough.
MIN_STRATUM = 10
#: Resamples drawn from one stream. Part of the definition of the draws: changing it changes every interval.
BLOCK = 128
# Draws made at once.
_AT_ONCE = 2**22
# From so many units of a stratum counts of types are drawn in place of units, where types are far fewer.
_MANY_UNITS = 1000
_DENSE_CELLS = 2**26
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tally:
    """Counts of a league, c cells of m models; cells are sorted by pair, pairs by component.

    Attributes:
        league: the models in their order.
        low: position of one model of each cell, shape (c,).
        high: position of the other.
        outcome: 0 `low` won, 1 `high` won, 2 tie, shape (c,).
        counts: votes in each cell, shape (c,).
        cell: cell of each vote, shape (v,).
    """

    league: League
    low: Ints
    high: Ints
    outcome: Ints
    counts: Ints
    cell: Ints

    def matrices(self, part: slice) -> tuple[Ints, Ints]:
        """Wins of row over column, and ties, of one component, shape (k, k) each."""
        k = part.stop - part.start
        wins, ties = np.zeros((k, k), dtype=np.int64), np.zeros((k, k), dtype=np.int64)
        at = (self.low >= part.start) & (self.low < part.stop)
        low, high, outcome, counts = (x[at] for x in (self.low, self.high, self.outcome, self.counts))
        low, high = low - part.start, high - part.start
        first, tied = outcome == 0, outcome == 2
        wins[low[first], high[first]] = counts[first]
        wins[high[outcome == 1], low[outcome == 1]] = counts[outcome == 1]
        ties[low[tied], high[tied]] = counts[tied]
        return wins, ties + ties.T

    def pairs(self, part: slice) -> PairTotals:
        """What turns totals of cells into games and scores of one component."""
        at = np.flatnonzero((self.low >= part.start) & (self.low < part.stop))
        low, high, outcome = self.low[at] - part.start, self.high[at] - part.start, self.outcome[at]
        starts = np.flatnonzero(np.diff(low * (part.stop + 1) + high, prepend=-1))
        return PairTotals(part.stop - part.start, at, low, high, outcome, starts)


@dataclass(frozen=True)
class PairTotals:
    """From totals of cells to games and scores of k models.

    Attributes:
        k: models.
        cells: the component's cells among all, shape (p,).
        low: one model of each of them, from 0, shape (p,).
        high: the other.
        outcome: as in `Tally`.
        starts: first cell of each pair.
    """

    k: int
    cells: Ints
    low: Ints
    high: Ints
    outcome: Ints
    starts: Ints

    def games(self, totals: Ints) -> tuple[_Floats, _Floats, _Floats]:
        """Games of each pair (B, k, k), points of each model (B, k) with half a point per tie, and ties (B,).

        Args:
            totals: of all cells, shape (B, c).
        """
        mine = totals[:, self.cells]
        by_pair = np.add.reduceat(mine, self.starts, axis=1)
        # Points of `low`, doubled: whole numbers, whose sums no order can change.
        of_low = np.add.reduceat(mine * np.array([2, 0, 1])[self.outcome], self.starts, axis=1)
        low, high = self.low[self.starts], self.high[self.starts]
        games = np.zeros((mine.shape[0], self.k, self.k))
        games[:, low, high] = of_low / 2
        games[:, high, low] = by_pair - of_low / 2
        points = games.sum(axis=2)
        games[:, low, high] = by_pair
        games[:, high, low] = by_pair
        return games, points, mine[:, self.outcome == 2].sum(axis=1).astype(np.float64)


@dataclass(frozen=True)
class Stratum:
    """Types drawn together: as many units as there are.

    Attributes:
        words: what its stream is seeded with, beside the seed and the block.
        types: positions of its types.
        size: units of each type.
    """

    words: tuple[int, ...]
    types: slice
    size: Ints


@dataclass(frozen=True)
class Units:
    """What a bootstrap resamples.

    Attributes:
        contents: votes of a unit of each type in each cell, shape (t, c), whole numbers.
        size: units of each type, shape (t,).
        strata: groups of types.
    """

    contents: sparse.csr_array
    size: Ints
    strata: tuple[Stratum, ...]

    @property
    def count(self) -> int:
        """Number of units."""
        return int(self.size.sum())

    def per_model(self, tally: Tally) -> Ints:
        """Units that each model has votes in, shape (m,)."""
        m, c = tally.league.models.size, tally.counts.size
        cells = np.tile(np.arange(c), 2)
        sides = sparse.csr_array(
            (np.ones(2 * c, dtype=np.int64), (cells, np.concatenate([tally.low, tally.high]))), shape=(c, m)
        )
        there = (self.contents @ sides).tocoo()
        found = np.bincount(there.coords[1], weights=self.size[there.coords[0]], minlength=m)
        return found.astype(np.int64)

    def totals(self, block: int, count: int, seed: int) -> Ints:
        """Totals of the cells on the resamples of one block, shape (count, c); the draws depend on no other block.

        Args:
            block: number of the block.
            count: resamples, `BLOCK` at most.
            seed: seed of all draws.
        """
        drawn = np.empty((count, self.size.size), dtype=np.int64)
        for stratum in self.strata:
            seeds = np.random.SeedSequence([seed, block, *stratum.words])
            stream = np.random.Generator(np.random.PCG64(seeds))
            drawn[:, stratum.types] = _draw(stream, stratum.size, count)
        if self.single.size:
            # Every type is one vote on a cell of its own.
            return drawn[:, self.single]
        return np.ascontiguousarray((self.contents.T.tocsr() @ drawn.T).T)

    @cached_property
    def single(self) -> Ints:
        """The type of each cell, where types are single votes on different cells; else empty."""
        plain = (
            self.contents.nnz == self.size.size == self.contents.shape[1]
            and self.contents.sum() == self.size.size
        )
        if not plain or np.unique(self.contents.indices).size < self.size.size:
            return np.empty(0, dtype=np.int64)
        return np.argsort(self.contents.indices)


def count_votes(league: League) -> Tally:
    """Count the votes of a league into cells."""
    m = league.models.size
    code = (league.low * m + league.high) * 3 + league.outcome
    if 3 * m * m <= _DENSE_CELLS:
        found = np.bincount(code, minlength=3 * m * m)
        cells = np.flatnonzero(found)
        place = np.zeros(found.size, dtype=np.int64)
        place[cells] = np.arange(cells.size)
        counts, cell = found[cells], place[code]
    else:
        cells, cell, counts = np.unique(code, return_inverse=True, return_counts=True)
    pair = cells // 3
    return Tally(league, pair // m, pair % m, cells % 3, counts, cell)


def resampling_units(tally: Tally, label: Ints, scenario: Ints, names: tuple[str, ...], factor: str) -> Units:
    """Find what is resampled as one.

    Args:
        tally: the counts, v votes.
        label: what a vote is resampled with, or -1 for a vote on its own, shape (v,). Labels are in an order that
            does not depend on models or rows.
        scenario: code of the scenario of each vote, or -1, shape (v,). Strata: as many units are drawn from a
            scenario as it has, if all have at least `MIN_STRATUM`.
        names: scenarios by code.
        factor: what the labels are, a name for the stream.
    """
    c = tally.counts.size
    component = tally.league.component[tally.low[tally.cell]] - 1
    strata = scenario
    if np.unique(scenario).size > 1 and _fewest_units(label, scenario) < MIN_STRATUM:
        strata = np.full(scenario.size, -1, dtype=np.int64)
    parts: list[tuple[tuple[int, ...], _Types]] = []
    for code in np.unique(strata).tolist():
        words = _words(f"{factor}\n{names[code] if code >= 0 else ''}")
        here = np.flatnonzero(strata == code)
        alone = here[label[here] < 0]
        labelled = here[label[here] >= 0]
        if labelled.size:
            types = _labelled(label[labelled], tally.cell[labelled], c)
            parts.append((words, types + _alone(tally.cell[alone], c) if alone.size else types))
            continue
        # Single votes of one component are drawn without a thought of the others.
        parts += [
            (words, _alone(tally.cell[alone[component[alone] == number]], c))
            for number in np.unique(component[alone]).tolist()
        ]
    found: list[Stratum] = []
    whole = _Types.none()
    for words, types in parts:
        begin = whole.size.size
        found.append(Stratum(words, slice(begin, begin + types.size.size), types.size))
        whole = whole + types
    contents = sparse.csr_array((whole.votes, (whole.kind, whole.cell)), shape=(whole.size.size, c))
    return Units(contents, whole.size, tuple(found))


@dataclass(frozen=True)
class _Types:
    """Types of units: units of each, and entries (type, cell, votes of a unit in it)."""

    size: Ints
    kind: Ints
    cell: Ints
    votes: Ints

    @classmethod
    def none(cls) -> _Types:
        return cls(*(np.zeros(0, dtype=np.int64) for _ in range(4)))

    def __add__(self, other: _Types) -> _Types:
        pairs = (
            (self.size, other.size),
            (self.kind, other.kind + self.size.size),
            (self.cell, other.cell),
            (self.votes, other.votes),
        )
        return _Types(*(np.concatenate(pair) for pair in pairs))


def _fewest_units(label: Ints, scenario: Ints) -> int:
    """Units of the scenario that has fewest."""
    codes = np.unique(scenario, return_inverse=True)[1]
    alone = np.bincount(codes[label < 0], minlength=codes.max() + 1)
    units = np.unique(np.stack([codes, label])[:, label >= 0], axis=1)[0]
    return int((alone + np.bincount(units, minlength=alone.size)).min())


def _alone(cell: Ints, c: int) -> _Types:
    """Single votes: a type per cell."""
    found = np.bincount(cell, minlength=c)
    cells = np.flatnonzero(found)
    return _Types(found[cells], np.arange(cells.size), cells, np.ones(cells.size, dtype=np.int64))


def _labelled(label: Ints, cell: Ints, c: int) -> _Types:
    """Labelled units, in the order of their first label."""
    entry, votes = np.unique(label * c + cell, return_counts=True)
    unit, at = entry // c, entry % c
    units, first, which = np.unique(unit, return_index=True, return_inverse=True)
    total = np.bincount(which, weights=votes).astype(np.int64)
    # Units of one vote on the same cell are alike; any other is a type of its own.
    kind = np.where(total == 1, at[first], c + np.arange(units.size))
    _, seen, code, size = np.unique(kind, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(seen)
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    keep = np.isin(which, seen)
    return _Types(size[order], place[code[which[keep]]], at[keep], votes[keep])


def _draw(stream: np.random.Generator, size: Ints, count: int) -> Ints:
    """Draw as many units as there are with replacement, and count the types: shape (count, types)."""
    units, types = int(size.sum()), size.size
    if units <= max(_MANY_UNITS, 4 * types):
        of_unit = np.repeat(np.arange(types), size)
        step = max(1, min(count, _AT_ONCE // units))
        out = np.empty((count, types), dtype=np.int64)
        for begin in range(0, count, step):
            rows = min(step, count - begin)
            drawn = of_unit[stream.integers(0, units, size=(rows, units))]
            drawn += np.arange(rows)[:, None] * types
            out[begin : begin + rows] = np.bincount(drawn.ravel(), minlength=rows * types).reshape(
                rows, types
            )
        return out
    # Poisson counts are multinomial given their total; what the total lacks is drawn unit by unit. A total beyond
    # the number of units (once in millions) is drawn again, which leaves that conditional law as it is.
    mean = size * (1 - 5 / np.sqrt(units))
    ends = np.cumsum(size)
    out = np.empty((count, types), dtype=np.int64)
    for b in range(count):
        while True:
            counts = stream.poisson(mean)
            missing = units - int(counts.sum())
            if missing >= 0:
                break
        rest = np.searchsorted(ends, stream.integers(0, units, size=missing), side="right")
        out[b] = counts + np.bincount(rest, minlength=types)
    return out


def _words(label: str) -> tuple[int, ...]:
    digest = hashlib.sha256(label.encode()).digest()
    return tuple(int.from_bytes(digest[i : i + 4], "big") for i in range(0, 16, 4))
