"""One scope of an arena's votes: its connected parts, their strengths, and what their errors rest on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from magister.audit.recompute._ballots import Ballots, connected
from magister.audit.recompute._draws import Draws
from magister.audit.recompute._ledger import Bools, Floats, Ints
from magister.audit.recompute._strength import Season, model_covariance, sandwich, strengths

#: Fewer annotators are not resampled beside instructions, and scenarios with fewer units are no strata.
MIN_ANNOTATORS, MIN_STRATUM = 5, 10


@dataclass
class Part:
    """A connected part of a scope, k models.

    Attributes:
        models: codes, shape (k,).
        season: its counts.
        b: strengths.
        votes: low, high (positions in `models`) and score of its votes.
        at: its votes among the scope's.
        units: units that each model has votes in, shape (k,).
        open_low, open_high: models whose rating has no finite end, shape (k,).
        by_unit, added, by_model: covariances in points squared, shape (k, k).
    """

    models: Ints
    season: Season
    b: Floats
    votes: tuple[Ints, Ints, Floats]
    at: Ints
    units: Ints
    open_low: Bools
    open_high: Bools
    by_unit: Floats
    added: Floats
    annotator_share: Floats
    by_model: Floats


@dataclass
class Scope:
    """Votes of one scope and what is drawn from them.

    Attributes:
        ballots: its votes.
        draws: of its units.
        people: of its annotators, where they are resampled too.
        parts: connected ones, the largest first.
    """

    ballots: Ballots
    draws: Draws
    people: Draws | None
    parts: list[Part] = field(default_factory=list)

    @property
    def units(self) -> int:
        """Units of the scope."""
        return int(self.draws.stratum.size)


def scope_of(ballots: Ballots, redraws: int) -> Scope:
    """Count a scope and fit its parts.

    Args:
        ballots: its votes, one at least.
        redraws: resamples of our own.
    """
    unit, of_unit = np.unique(ballots.unit, return_inverse=True)
    scenario = np.zeros(unit.size, dtype=np.int64)
    scenario[of_unit] = ballots.scenario
    if np.bincount(np.unique(scenario, return_inverse=True)[1]).min() < MIN_STRATUM:
        scenario[:] = 0
    annotators, who = np.unique(ballots.annotator, return_inverse=True)
    many = annotators.size >= MIN_ANNOTATORS
    scope = Scope(
        ballots,
        Draws(scenario, redraws, salt=3),
        Draws(np.zeros(annotators.size), redraws, salt=4) if many else None,
    )
    part_of = connected(len(ballots.models), ballots.low, ballots.high)
    for first in np.unique(part_of[ballots.low]).tolist():
        at = np.flatnonzero(part_of[ballots.low] == first)
        models = np.flatnonzero(part_of == first)
        place = np.full(len(ballots.models), -1)
        place[models] = np.arange(models.size)
        votes = (place[ballots.low[at]], place[ballots.high[at]], ballots.score[at])
        season = _season(models.size, votes, np.ones(at.size))
        b = strengths(season)
        by_unit = sandwich(season, b, votes, of_unit[at], unit.size)
        added, share = np.zeros_like(by_unit), np.zeros(models.size)
        if many:
            of_people = sandwich(season, b, votes, who[at], annotators.size)
            both = np.unique(of_unit * annotators.size + who, return_inverse=True)[1]
            added = of_people - sandwich(season, b, votes, both[at], int(both.max()) + 1)
            own = np.maximum(of_people.diagonal(), np.finfo(float).tiny)
            share = np.sqrt(np.maximum(added.diagonal(), 0) / own * annotators.size / (annotators.size - 1))
        pairs = np.unique(np.concatenate([np.stack([votes[s], of_unit[at]], axis=1) for s in (0, 1)]), axis=0)
        low, high = _open_ends(models.size, votes)
        scope.parts.append(
            Part(models, season, b, votes, at, np.bincount(pairs[:, 0], minlength=models.size), low, high,
                 by_unit, added, share, model_covariance(season, b))
        )  # fmt: skip
    scope.parts.sort(key=lambda part: (-part.models.size, -part.at.size))
    return scope


def _season(k: int, votes: tuple[Ints, Ints, Floats], weight: Floats) -> Season:
    low, high, score = votes
    games, points = np.zeros((k, k)), np.zeros(k)
    np.add.at(games, (low, high), weight)
    np.add.at(points, low, weight * score)
    np.add.at(points, high, weight * (1 - score))
    return Season(games + games.T, points)


def _open_ends(k: int, votes: tuple[Ints, Ints, Floats]) -> tuple[Bools, Bools]:
    """Whose rating has no lower, and no upper end: by who reaches whom over wins and ties.

    References:
        Ford (1957), American Mathematical Monthly 64(8), 28-33.
    """
    low, high, score = votes
    held = np.eye(k, dtype=bool)
    held[low[score > 0], high[score > 0]] = True
    held[high[score < 1], low[score < 1]] = True
    reach = held.copy()
    for _ in range(int(np.ceil(np.log2(max(k, 2)))) + 1):
        reach = (reach.astype(np.float64) @ reach) > 0
    both = reach & reach.T
    if both.all():
        return np.zeros(k, dtype=bool), np.zeros(k, dtype=bool)
    sizes = both.sum(axis=1)
    largest = sizes.max()
    core = np.flatnonzero(sizes == largest)
    if both[core[0]].sum() == core.size:
        mine = both[core[0]]
        above, below = reach[:, core[0]], reach[core[0]]
        return ~above & ~mine, ~below & ~mine
    outside = held & ~both
    beaten, beating = outside.any(axis=0), outside.any(axis=1)
    member = both.astype(np.float64)
    return (member @ beaten) > 0, (member @ beating) > 0


def resampled(draws: Draws, part: Part, label: Ints) -> Season:
    """Games and points of a part on every resample of some units."""
    k = part.models.size
    low, high, score = part.votes
    cell = low * k + high
    cells, code = np.unique(cell, return_inverse=True)
    code = code.astype(np.int64)
    sums = np.zeros((draws.stratum.size, cells.size, 2), dtype=np.int64)
    np.add.at(sums[:, :, 0], (label[part.at], code), 1)
    np.add.at(sums[:, :, 1], (label[part.at], code), (2 * score).astype(np.int64))
    total = draws.totals(sums)
    games, points = np.zeros((draws.redraws, k, k)), np.zeros((draws.redraws, k))
    for at, pair in enumerate(cells.tolist()):
        i, j = divmod(pair, k)
        games[:, i, j] = games[:, j, i] = total[:, at, 0]
        points[:, i] += total[:, at, 1] / 2
        points[:, j] += total[:, at, 0] - total[:, at, 1] / 2
    return Season(games, points)
