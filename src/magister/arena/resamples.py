"""Resamples of a league's votes, and both ratings on each of them.

What is resampled: the votes on an instruction (or its root) together, where instructions are known; else those of an
annotator together; else single votes. Where annotators are known beside instructions they are resampled too, if there
are at least `MIN_ANNOTATORS`: fewer say next to nothing about others like them, and the intervals then hold for these
annotators.

Votes of two kinds of units at once. The sampling variance of a rating is V_instruction + V_annotator - V_both, with
V_both from units that share instruction and annotator. A resample of instructions varies as V_instruction; to its
deviation is added that of an independent resample of annotators, shrunk to what annotators add, V_annotator - V_both
(0 where that is negative).

References:
    Cameron, Gelbach and Miller (2011), JBES 29, 238-249, eq. 2.4 (two-way clusters).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from magister.arena._dense import product
from magister.arena.bradley_terry import POINTS, Games, Likelihood, Maximum, chord, covariance, fit, sandwich
from magister.arena.elo import EloScale, mean_field
from magister.arena.league import League
from magister.arena.tally import BLOCK, PairTotals, Tally, Units, count_votes, resampling_units
from magister.arena.votes import Ints, Votes
from magister.contracts.arena_tables import RATING_SYSTEMS

Floats = NDArray[np.float64]
MIN_ANNOTATORS = 5
"""Fewer annotators are not resampled."""
# Cells of games held at once: what fits a processor's cache.
_CELLS_AT_ONCE = 2**17
# All but without a ridge: 10^6 points stand for no prior at all.
_NO_RIDGE = Likelihood(prior_sd=1e6)
# exp(-20) of the way to where ratings rest is less than a hundred-thousandth of a point.
_AT_REST = 20.0
# What a unit is called in messages.
INSTRUCTION, ANNOTATOR, VOTE = "instruction", "annotator", "vote"


@dataclass(frozen=True)
class Design:
    """A league counted, with what its intervals are drawn from.

    Attributes:
        tally: the counts.
        unit: what is resampled: "instruction", "annotator" or "vote".
        units: those.
        annotators: units by annotator, where they are resampled beside instructions; else None.
        both: units that share instruction and annotator; None as `annotators`.
        n_annotators: distinct annotators, 0 where none are known.
        n_units: units that each model has votes in, shape (m,).
    """

    tally: Tally
    unit: str
    units: Units
    annotators: Units | None
    both: Units | None
    n_annotators: int
    n_units: Ints

    @property
    def names(self) -> str:
        """What is resampled, for messages."""
        return f"{self.unit}s" + (" and annotators" if self.annotators else "")


@dataclass(frozen=True)
class Component:
    """One connected part of a league, k models, with its Bradley-Terry fit.

    Attributes:
        at: positions of its models in the league.
        pairs: from totals to games.
        data: its games.
        best: where its likelihood is greatest.
        by_model: covariance if the model holds and votes are independent, in points squared, shape (k, k).
        by_unit: covariance from the scatter of units, shape (k, k).
        by_annotator: what annotators add to it, shape (k, k), or None.
        annotator_share: shrinks deviations of a resample of annotators, shape (k,).
        rest: where Elo's ratings would come to rest with endless time, the maximum without a ridge; None where they do
            not get there.
        pace: slowest rate at which they approach it, a lower bound; time runs from 0 to 1.
    """

    at: slice
    pairs: PairTotals
    data: Games
    best: Maximum
    by_model: Floats
    by_unit: Floats
    by_annotator: Floats | None
    annotator_share: Floats
    rest: Maximum | None
    pace: float

    @property
    def k(self) -> int:
        """Models."""
        return self.pairs.k

    @property
    def theta(self) -> Floats:
        """Bradley-Terry parameters."""
        return self.best.theta


@dataclass(frozen=True)
class Replicates:
    """Ratings on B resamples, m models; never beaten and never winning say how often a model was that in one.

    Attributes:
        elo: shape (B, m).
        bradley_terry: shape (B, m).
        unbeaten: share of resamples in which the model lost nothing, not half a point, shape (m,).
        winless: share in which it won nothing, shape (m,).
    """

    elo: Floats
    bradley_terry: Floats
    unbeaten: Floats
    winless: Floats


def design_of(votes: Votes, league: League) -> Design:
    """Count a league and find what to resample.

    Args:
        votes: all votes.
        league: the scope.
    """
    tally = count_votes(league)
    cluster, annotator = votes.cluster[league.votes], votes.annotator[league.votes]
    scenario = votes.scenario[league.votes]
    judged = annotator[annotator >= 0]
    n_annotators = int(np.count_nonzero(np.bincount(judged))) if judged.size else 0
    many = n_annotators >= MIN_ANNOTATORS
    alone = np.full(cluster.size, -1, dtype=np.int64)
    known = bool((cluster >= 0).any())
    unit = INSTRUCTION if known else ANNOTATOR if many else VOTE
    label = {INSTRUCTION: cluster, ANNOTATOR: annotator, VOTE: alone}[unit]
    # Annotators of several scenarios are units across them.
    strata = alone if unit == ANNOTATOR else scenario
    units = resampling_units(tally, label, strata, votes.scenarios, unit)
    annotators = both = None
    if known and many:
        annotators = resampling_units(tally, annotator, alone, votes.scenarios, ANNOTATOR)
        shared = np.where((cluster >= 0) & (annotator >= 0), cluster * (annotator.max() + 1) + annotator, -1)
        both = resampling_units(tally, shared, scenario, votes.scenarios, "both")
    return Design(tally, unit, units, annotators, both, n_annotators, units.per_model(tally))


def components_of(design: Design, likelihood: Likelihood, elo: EloScale) -> list[Component]:
    """Fit every connected part of a league.

    Args:
        design: the league.
        likelihood: of the Bradley-Terry model.
        elo: scale of Elo's ratings.
    """
    return [_component(design, part, likelihood, elo) for part in design.tally.league.slices]


def _component(design: Design, part: slice, likelihood: Likelihood, elo: EloScale) -> Component:
    pairs = design.tally.pairs(part)
    data = Games(*pairs.games(design.tally.counts[None, :]))
    theta = fit(data, likelihood)[0]
    theta[: pairs.k] = _alike_mean(theta[: pairs.k], design.tally.league.alike[part])
    best = Maximum.at(data, likelihood, theta)
    scale = POINTS**2
    by_unit = scale * sandwich(best, likelihood, pairs, design.units)
    added, share = None, np.zeros(pairs.k)
    if design.annotators is not None and design.both is not None:
        of_annotators = scale * sandwich(best, likelihood, pairs, design.annotators)
        added = of_annotators - scale * sandwich(best, likelihood, pairs, design.both)
        count = design.annotators.count
        whole = np.maximum(of_annotators.diagonal(), np.finfo(float).tiny)
        share = np.sqrt(np.maximum(added.diagonal(), 0.0) / whole * count / (count - 1))
    by_model = scale * covariance(best, pairs.k)
    pace = _pace(data, elo)
    rest = None
    if pace >= _AT_REST:
        flat = Maximum.at(data, _NO_RIDGE, fit(data, _NO_RIDGE)[0])
        # Without the direction of all strengths together, along which nothing holds them.
        rest = Maximum(flat.theta - flat.theta.mean(), covariance(flat, pairs.k))
    return Component(part, pairs, data, best, by_model, by_unit, added, share, rest, pace)


def _pace(data: Games, elo: EloScale) -> float:
    """A bound below the slowest rate at which Elo's ratings approach where they rest."""
    likelihood = Likelihood()
    best = Maximum.at(data, likelihood, fit(data, likelihood)[0])
    spread = covariance(best, data.points.shape[1])
    # Its largest eigenvalue is 1 / the slowest rate; a power's sums of rows bound the same power of it.
    square = product(spread, spread)
    widest = np.abs(product(square, square)).sum(axis=1).max() ** 0.25
    return float(elo.k * np.log(10) / elo.scale / widest)


def replicates_of(
    design: Design,
    components: list[Component],
    *,
    likelihood: Likelihood,
    elo: EloScale,
    resamples: int,
    seed: int,
    systems: Sequence[str] = RATING_SYSTEMS,
) -> Replicates:
    """Rate the models on resamples; both systems read the same ones.

    Args:
        design: the league.
        components: its parts.
        likelihood: of the Bradley-Terry model.
        elo: scale of Elo's.
        resamples: B.
        seed: of the draws.
        systems: what to rate by; the replicates of another are NaN.
    """
    m = design.tally.league.models.size
    ratings = np.empty((2, resamples, m))
    open_high, open_low = np.zeros(m), np.zeros(m)
    for block, begin in enumerate(range(0, resamples, BLOCK)):
        count = min(BLOCK, resamples - begin)
        totals = design.units.totals(block, count, seed)
        others = None if design.annotators is None else design.annotators.totals(block, count, seed)
        for part in components:
            step = max(1, _CELLS_AT_ONCE // part.k**2)
            for first in range(0, count, step):
                some = slice(first, min(first + step, count))
                rows = slice(begin + some.start, begin + some.stop)
                drawn = Games(*part.pairs.games(totals[some]))
                ratings[:, rows, part.at] = _rated(drawn, part, likelihood, elo, systems)
                games = drawn.games.sum(axis=2)
                open_high[part.at] += (drawn.points == games).sum(axis=0)
                open_low[part.at] += (drawn.points == 0).sum(axis=0)
                if others is not None:
                    drawn = Games(*part.pairs.games(others[some]))
                    middle = _rated(part.data, part, likelihood, elo, systems)
                    away = _rated(drawn, part, likelihood, elo, systems) - middle
                    ratings[:, rows, part.at] += away * part.annotator_share
    alike = design.tally.league.alike
    shares = (_alike_mean(found / max(resamples, 1), alike) for found in (open_high, open_low))
    return Replicates(ratings[0].round(6), ratings[1].round(6), *shares)


def simulated_elo(part: Component, elo: EloScale, *, resamples: int, seed: int) -> Floats:
    """Elo ratings on leagues drawn from the Bradley-Terry fit, every vote on its own and decisive, shape (B, k)."""
    low, high = part.pairs.low[part.pairs.starts], part.pairs.high[part.pairs.starts]
    games = part.data.games[0][low, high].astype(np.int64)
    stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 0x4D4F])))
    chance = special.expit(part.theta[low] - part.theta[high])
    won = stream.binomial(games, chance, size=(resamples, games.size))
    points = np.zeros((resamples, part.k))
    for column, (i, j) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        points[:, i] += won[:, column]
        points[:, j] += games[column] - won[:, column]
    return mean_field(np.broadcast_to(part.data.games[0], (resamples, part.k, part.k)), points, elo).round(6)


def _rated(
    drawn: Games, part: Component, likelihood: Likelihood, elo: EloScale, systems: Sequence[str]
) -> Floats:
    """Elo and Bradley-Terry ratings, shape (2, B, k)."""
    out = np.full((2, *drawn.points.shape), np.nan)
    if "elo" in systems:
        out[0] = _elo_of(drawn, part, elo)
    if "bradley_terry" in systems:
        out[1] = elo.start + POINTS * fit(drawn, likelihood, part.best)[:, : part.k]
    return out


def _elo_of(drawn: Games, part: Component, elo: EloScale) -> Floats:
    """Elo ratings of resamples; those of leagues so large that they come to rest are found at rest."""
    if part.rest is None:
        return mean_field(drawn.games, drawn.points, elo)
    low, high = part.pairs.low[part.pairs.starts], part.pairs.high[part.pairs.starts]
    # A resample is slower than its league by no more than its scarcest pair.
    pace = part.pace * (drawn.games[:, low, high] / part.data.games[0][low, high]).min(axis=1)
    out = np.empty(drawn.points.shape)
    at_rest = pace >= _AT_REST
    still = np.flatnonzero(at_rest)
    theta, found = chord(drawn.some(still), _NO_RIDGE, part.rest)
    out[still] = elo.start + elo.scale / np.log(10) * theta
    at_rest[still] = found
    moving = np.flatnonzero(~at_rest)
    if moving.size:
        out[moving] = mean_field(drawn.games[moving], drawn.points[moving], elo)
    return out


def _alike_mean(values: Floats, alike: Ints) -> Floats:
    """Models that the votes cannot tell apart have one rating; this takes rounding out of theirs."""
    sums = np.bincount(alike, weights=values)
    return (sums / np.maximum(np.bincount(alike), 1))[alike]


def freedom_of(design: Design, variance: Floats, added: Floats, units: Ints) -> Floats:
    """Degrees of freedom of a variance that units and annotators make up (Satterthwaite), 1 or more.

    Args:
        design: the league.
        variance: from units, any shape.
        added: what annotators add, of the same shape.
        units: units behind each, of the same shape.
    """
    first = np.maximum(units - 1, 1).astype(np.float64)
    if design.annotators is None:
        return first
    second = max(design.annotators.count - 1, 1)
    whole = variance + added
    below = variance**2 / first + added**2 / second
    return np.where(below > 0, whole**2 / np.where(below > 0, below, 1.0), first)


def quantile_of(design: Design, variance: Floats, added: Floats, units: Ints, level: float) -> Floats:
    """Standard errors in half an interval: Student's quantiles, those of annotators for their share alone.

    The half-width is sqrt(t_G^2 V_units + t_A^2 V_added), so that few annotators widen what they add only.

    Args:
        design: the league.
        variance: from units, any shape.
        added: what annotators add, of the same shape.
        units: units behind each, of the same shape.
        level: confidence level.

    References:
        Zou and Donner (2008), Statistics in Medicine 27, 1693-1702 (the interval of a sum from those of its parts).
    """
    t = special.stdtrit(np.maximum(units - 1, 1), 0.5 + level / 2)
    if design.annotators is None:
        return np.asarray(t)
    other = special.stdtrit(max(design.annotators.count - 1, 1), 0.5 + level / 2)
    whole = variance + added
    share = np.where(whole > 0, added / np.where(whole > 0, whole, 1.0), 0.0)
    return np.asarray(np.sqrt(t**2 * (1 - share) + other**2 * share))


def expanded_tail(quantile: Floats, units: Ints) -> Floats:
    """Tail of a percentile interval that allows for few units: Phi(-sqrt(G / (G - 1)) t).

    References:
        Hesterberg (2015), The American Statistician 69, 371-386, section 4.2.
    """
    return np.asarray(special.ndtr(-np.sqrt(units / np.maximum(units - 1, 1)) * quantile))
