"""Ratings with one vote left out.

Votes of one outcome of one pair are alike to a rating, so that one of each is left out. To find the largest changes a
Newton step from the maximum is taken, for all outcomes at once:

    r_i(without) - r_i = -POINTS u (H^-1)_i,a-b / (1 - w (H^-1)_a-b,a-b)

with H the information (ridge included), u the residual of the vote, w = P (1 - P) what it adds to the information, and
a, b its models; the denominator makes up for the information that goes with the vote. The outcomes that move it most
are then rated again without a vote, so that the changes are exact, for Elo as for Bradley-Terry.

References:
    Pregibon (1981), Annals of Statistics 9, 705-724 (the one-step change of a logistic regression without a case).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special
from scipy.sparse import csgraph

from magister.arena.bradley_terry import POINTS, Games, Likelihood, Maximum, fit
from magister.arena.elo import EloScale, mean_field
from magister.arena.league import order_league
from magister.arena.tally import Tally, count_votes
from magister.arena.votes import Ints, Votes

Floats = NDArray[np.float64]
REFITTED = 256
"""Outcomes that are rated again without a vote."""


@dataclass(frozen=True)
class VotesLeftOut:
    """A rating, and what it is without each vote.

    Attributes:
        value: with all votes.
        votes: positions of the votes of the model's part of the league, shape (v,).
        without: the rating without each, shape (v,); NaN where the league would fall apart.
        exact: whether it was rated again; else it is the Newton step's, shape (v,).
        outcomes: distinct outcomes of pairs.
    """

    value: float
    votes: Ints
    without: Floats
    exact: NDArray[np.bool_]
    outcomes: int


def votes_left_out(
    votes: Votes,
    scenario: int | None,
    model: int,
    system: str,
    elo: EloScale,
    likelihood: Likelihood | None = None,
    refitted: int = REFITTED,
) -> VotesLeftOut:
    """Rate a model without each vote.

    Args:
        votes: coded.
        scenario: code of one; None for all.
        model: code.
        system: "elo" or "bradley_terry".
        elo: scale; its start is the mean of Bradley-Terry too.
        likelihood: of Bradley-Terry, with ties as half a win.
        refitted: outcomes that are rated again.

    Raises:
        ValueError: nobody voted on the model, or ties are not half a win.
    """
    likelihood = likelihood or Likelihood()
    if likelihood.ties != "half":
        raise ValueError("the Newton step knows ties as half a win only")
    league = order_league(votes, scenario)
    places = np.flatnonzero(league.models == model)
    if not places.size:
        raise ValueError("no votes on this model")
    at = int(places[0])
    part = next(part for part in league.slices if part.start <= at < part.stop)
    me = at - part.start
    tally = count_votes(league)
    pairs = tally.pairs(part)
    data = Games(*pairs.games(tally.counts[None, :]))
    theta = fit(data, likelihood)[0]
    best = Maximum.at(data, likelihood, theta)
    quick = _newton_step(best, pairs.low, pairs.high, pairs.outcome, me)
    # Rounded, so that outcomes that are alike stay together; ties go by the votes themselves, never by names or rows.
    order = np.lexsort((np.arange(quick.size), -np.abs(quick).round(9)))
    chosen = np.sort(order[:refitted])
    fewer = np.repeat(tally.counts[None, :], chosen.size, axis=0)
    fewer[np.arange(chosen.size), pairs.cells[chosen]] -= 1
    rest = Games(*pairs.games(fewer))
    value = _rate(data, likelihood, elo, system, best)[0, me]
    without = value + POINTS * quick
    without[chosen] = _rate(rest, likelihood, elo, system, best)[:, me]
    without[_bridges(tally, part, pairs.cells)] = np.nan
    refitted_cells = np.zeros(quick.size, dtype=bool)
    refitted_cells[chosen] = True
    place = np.full(tally.counts.size, -1, dtype=np.int64)
    place[pairs.cells] = np.arange(pairs.cells.size)
    cell = place[tally.cell]
    mine = np.flatnonzero(cell >= 0)
    return VotesLeftOut(
        float(value), league.votes[mine], without[cell[mine]], refitted_cells[cell[mine]], int(quick.size)
    )


def _newton_step(best: Maximum, low: Ints, high: Ints, outcome: Ints, me: int) -> Floats:
    """Change of one strength without a vote of each cell, shape (p,)."""
    theta, inverse = best.theta, best.inverse
    chance = special.expit(theta[low] - theta[high])
    residual = np.array([1.0, 0.0, 0.5])[outcome] - chance
    spread = inverse[low, low] + inverse[high, high] - 2 * inverse[low, high]
    lever = chance * (1 - chance) * spread
    # A lever near 1 is a vote that holds the pair alone; the refit then says what goes with it.
    return np.asarray(-residual * (inverse[me, low] - inverse[me, high]) / np.maximum(1 - lever, 1e-6))


def _rate(data: Games, likelihood: Likelihood, elo: EloScale, system: str, near: Maximum) -> Floats:
    """Ratings of B leagues, shape (B, k)."""
    if system == "elo":
        return mean_field(data.games, data.points, elo)
    k = data.points.shape[1]
    return np.asarray(elo.start + POINTS * fit(data, likelihood, near)[:, :k])


def _bridges(tally: Tally, part: slice, cells: Ints) -> NDArray[np.bool_]:
    """Cells whose one vote holds the league together, shape (p,)."""
    wins, ties = tally.matrices(part)
    games = wins + wins.T + ties
    low, high = tally.low[cells] - part.start, tally.high[cells] - part.start
    found = np.zeros(cells.size, dtype=bool)
    for at in np.flatnonzero(games[low, high] == 1).tolist():
        one, two = low[at], high[at]
        games[one, two] = games[two, one] = 0
        found[at] = csgraph.connected_components(sparse.csr_array(games), directed=False)[0] > 1
        games[one, two] = games[two, one] = 1
    return found
