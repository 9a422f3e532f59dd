"""What a league of votes can say before anything is fitted: who is connected, who is bounded, in which order.

Nothing here reads names: the order of models and components follows from the votes, so that other names give the
same numbers, bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from magister.arena.votes import Ints, Votes

Bools = NDArray[np.bool_]
_Words = NDArray[np.uint64]


@dataclass(frozen=True)
class League:
    """Votes of one scope with the models in an order that does not depend on names.

    Attributes:
        votes: positions of the scope's votes among all votes, shape (v,).
        models: codes of the models that have votes, component by component, shape (m,).
        component: number from 1 of each model, the largest first, shape (m,).
        alike: models of one number cannot be told apart by the votes but for their names, shape (m,).
        low: position of one model of each vote in `models`, shape (v,).
        high: position of the other, greater than `low`.
        outcome: 0 `low` won, 1 `high` won, 2 tie, shape (v,).
    """

    votes: Ints
    models: Ints
    component: Ints
    alike: Ints
    low: Ints
    high: Ints
    outcome: Ints

    @property
    def slices(self) -> list[slice]:
        """Positions of the models of each component."""
        ends = np.flatnonzero(np.diff(self.component, append=self.component.max(initial=0) + 1)) + 1
        return [slice(a, b) for a, b in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]


def order_league(votes: Votes, scenario: int | None = None) -> League:
    """Order the models of a scope.

    Args:
        votes: all votes.
        scenario: code of one scenario; None for all votes.

    Returns:
        The league. Within a component the order is by colour refinement of the votes (who beat whom, on which
        cluster and before which annotator); models that it leaves alike are exchangeable, so that any order of
        theirs gives the same votes.

    References:
        Weisfeiler and Leman (1968), Nauchno-Technicheskaya Informatsiya 2(9), 12-16 (colour refinement).
    """
    rows = np.arange(len(votes)) if scenario is None else np.flatnonzero(votes.scenario == scenario)
    low, high = votes.low[rows], votes.high[rows]
    played = sum(np.bincount(side, minlength=len(votes.models)) for side in (low, high))
    present = np.flatnonzero(played)
    place = np.full(len(votes.models), -1, dtype=np.int64)
    place[present] = np.arange(present.size)
    low, high = place[low], place[high]
    outcome, m = votes.outcome[rows], present.size
    wins = np.bincount(
        np.where(outcome == 0, low, high)[outcome < 2] * m + np.where(outcome == 0, high, low)[outcome < 2],
        minlength=m * m,
    ).reshape(m, m)
    ties = np.bincount((low * m + high)[outcome == 2], minlength=m * m).reshape(m, m)
    ties = ties + ties.T
    _, part = csgraph.connected_components(sparse.csr_array(wins + ties), directed=False)
    first = np.stack([wins.sum(axis=1), wins.sum(axis=0), ties.sum(axis=1)], axis=1).astype(np.uint64)
    colour = _fold(_mix(first + np.arange(3, dtype=np.uint64) * np.uint64(2**40)))
    alike = colour
    if np.unique(colour).size < m:
        labels = _edge_labels(votes, rows, low, high, outcome, m)
        alike = _refine(colour, labels)
        colour = _tell_apart(alike, labels)
    size = np.bincount(part)
    count = np.bincount(part[low], minlength=size.size)
    # A component's own colour: the sum of its models', which no order can change; of two that are alike, the one with
    # the model that was singled out has another.
    whole = np.zeros((2, size.size), dtype=np.uint64)
    for sums, words in zip(whole, (alike, colour), strict=True):
        np.add.at(sums, part, words)
    by_size = np.lexsort((whole[1], whole[0], -count, -size))
    component = np.empty(size.size, dtype=np.int64)
    component[by_size] = np.arange(1, size.size + 1)
    order = np.lexsort((colour, component[part]))
    position = np.empty(m, dtype=np.int64)
    position[order] = np.arange(m)
    low, high = position[low], position[high]
    swapped = low > high
    return League(
        rows,
        present[order],
        component[part][order],
        np.unique(alike, return_inverse=True)[1][order],
        np.minimum(low, high),
        np.maximum(low, high),
        np.where(swapped & (outcome < 2), 1 - outcome, outcome),
    )


def open_ends(wins: Ints, ties: Ints) -> tuple[Bools, Bools]:
    """Whose maximum-likelihood rating has no finite lower or upper end.

    A rating of one model against another is finite where each has beaten or tied the other, directly or over
    others: where both are in one strongly connected part of that graph. Ends are told against the part with most
    models: those above it (beaten by none of it, directly or over others) are open above, those below it open below,
    those neither above nor below on both sides. Without a largest part, one that nobody beat or tied from outside is
    open above, one that beat or tied nobody outside open below, and one in between on both sides.

    Args:
        wins: of row over column, shape (m, m), one connected component.
        ties: symmetric, shape (m, m).

    Returns:
        Open below and open above, shape (m,) each; both false throughout where everything is finite.

    References:
        Ford (1957), American Mathematical Monthly 64(8), 28-33 (when Bradley-Terry ratings exist).
    """
    m = wins.shape[0]
    held = sparse.csr_array((wins + ties) > 0)
    count, part = csgraph.connected_components(held, directed=True, connection="strong")
    none = np.zeros(m, dtype=bool)
    if count == 1:
        return none, none.copy()
    sizes = np.bincount(part)
    if (sizes == sizes.max()).sum() == 1:
        core = part == int(sizes.argmax())
        start = int(np.flatnonzero(core)[0])
        below, above = (
            np.isin(np.arange(m), csgraph.breadth_first_order(graph, start, return_predecessors=False))
            for graph in (held, held.T.tocsr())
        )
        return ~above & ~core, ~below & ~core
    rows, columns = held.nonzero()
    across = part[rows] != part[columns]
    beaten, beating = (np.isin(part, part[side[across]]) for side in (columns, rows))
    return beaten, beating


def _edge_labels(votes: Votes, rows: Ints, low: Ints, high: Ints, outcome: Ints, m: int) -> _Words:
    """A word per ordered pair that sums up all votes on it, seen from the first model; 0 without votes."""
    units = [votes.scenario[rows], votes.cluster[rows], votes.annotator[rows]]
    base = np.zeros(rows.size, dtype=np.uint64)
    for unit in units:
        base = _mix(base * np.uint64(3) + (unit + 2).astype(np.uint64))
    labels = np.zeros(m * m, dtype=np.uint64)
    for first, second, said in (
        (low, high, outcome),
        (high, low, np.where(outcome < 2, 1 - outcome, outcome)),
    ):
        np.add.at(labels, first * m + second, _mix(base + (said + 1).astype(np.uint64)))
    return labels.reshape(m, m)


def _refine(colour: _Words, labels: _Words) -> _Words:
    """Colours that also say what colours a model met, repeated until they tell no more models apart."""
    found = np.unique(colour).size
    while found < colour.size:
        met = _mix(labels + _mix(colour)[None, :])
        finer = _mix(_mix(colour) + np.where(labels != 0, met, np.uint64(0)).sum(axis=1, dtype=np.uint64))
        told = np.unique(finer).size
        if told == found:
            return colour
        colour, found = finer, told
    return colour


def _tell_apart(colour: _Words, labels: _Words) -> _Words:
    """Distinct colours: one of the models that are alike is singled out, and what follows from it, again and again."""
    while True:
        values, counts = np.unique(colour, return_counts=True)
        if values.size == colour.size:
            return colour
        chosen = int(np.flatnonzero(colour == values[counts > 1][0])[0])
        colour = colour.copy()
        colour[chosen] = _mix(colour[chosen : chosen + 1] + np.uint64(1))[0]
        colour = _refine(colour, labels)


def _fold(words: _Words) -> _Words:
    out: _Words = words.sum(axis=1, dtype=np.uint64)
    return out


def _mix(words: _Words) -> _Words:
    """The finaliser of SplitMix64: every bit of the input changes every bit of the output."""
    x = words + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
