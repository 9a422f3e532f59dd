"""What an arena will cost and can show, before anyone judges; and which pairs to judge next.

Information follows Bradley and Terry's model: a vote on models whose ratings differ by d Elo points names the first
with chance p = 1 / (1 + 10^(-d / 400)), and tells (1 - t) p (1 - p) (ln 10 / 400)^2 of their difference, t the share
of ties: given that there is a winner, a tie tells nothing of who it would have been (Davidson's model).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from magister.arena._grid import FloatArray
from magister.arena.random_arm import hash_ids, pair_key, split_budget
from magister.arena.similarity import Pair, all_pairs
from magister.arena.vectors import string_array
from magister.errors import UserError

#: Up to so many models every pair is judged.
ALL_PAIRS_UP_TO = 12
START = 1000.0
SCALE = 400.0
_PER_POINT = math.log(10) / SCALE


@dataclass(frozen=True)
class Design:
    """An arena to plan.

    Attributes:
        models: N, 2 or more.
        k: comparisons of a pair in a scenario.
        scenarios: number of scenarios.
        random_share: part of k drawn at random, 0..1.
        annotators: votes on each comparison.
        seconds: time of a vote.
        ties: share of votes without a winner, 0..1 (1 excluded).
        alike: correlation of the votes on one comparison, 0..1: what a second annotator does not add.
        spread: standard deviation of the models' true ratings, Elo points.
        level: coverage of intervals, 0..1.
        elo_k: points that a game moves at most.
        people: annotators who are people, whose hours are counted; all by default.
    """

    models: int
    k: int = 10
    scenarios: int = 4
    random_share: float = 0.3
    annotators: int = 1
    seconds: float = 60.0
    ties: float = 0.3
    alike: float = 0.5
    spread: float = 100.0
    level: float = 0.95
    elo_k: float = 4.0
    people: int | None = None

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            UserError: naming the one that is wrong.
        """
        split_budget(self.k, self.random_share)
        whole = {
            "models": (self.models, 2),
            "scenarios": (self.scenarios, 1),
            "annotators": (self.annotators, 1),
        }
        for name, (number, least) in whole.items():
            if number < least:
                raise UserError(f"{name} is {number}; expected {least} or more")
        bounds = {
            "seconds": (self.seconds, 0, math.inf),
            "ties": (self.ties, 0, 1),
            "spread": (self.spread, 0, math.inf),
            "elo_k": (self.elo_k, 0, math.inf),
        }
        for name, (value, low, high) in bounds.items():
            if not low <= value < high:
                raise UserError(f"{name} is {value:g}; expected {low:g} or more, below {high:g}")
        if not 0 <= self.alike <= 1:
            raise UserError(f"alike is {self.alike:g}; expected 0 to 1")
        if not 0 < self.level < 1:
            raise UserError(f"level is {self.level:g}; expected a number between 0 and 1")


@dataclass(frozen=True)
class Plan:
    """What a design asks for and can show, in one scenario or in all.

    Attributes:
        schedule: "all_pairs" or "coarse_to_fine".
        scope: "scenario" or "overall".
        pairs: pairs of models that are compared.
        comparisons: pairs x k, over the scenarios of the scope.
        drawn: of the comparisons, those of the random arm.
        votes: comparisons x annotators.
        hours: people's time.
        half_width: expected half-width of the interval of a model's rating, mean over models, Elo points.
        highest_elo: what a model that wins all its games reaches (`highest_elo`), Elo points.
        new_model: comparisons that one more model brings.
    """

    schedule: str
    scope: str
    pairs: int
    comparisons: int
    drawn: int
    votes: int
    hours: float
    half_width: float
    highest_elo: float
    new_model: int


def plan_arena(design: Design) -> list[Plan]:
    """Count votes and hours, and say what they can show.

    Args:
        design: the arena. True ratings are taken as normal quantiles of its spread.

    Returns:
        A plan for one scenario and for all; for more than `ALL_PAIRS_UP_TO` models both schedules, all pairs first.
    """
    n = design.models
    ratings = START + design.spread * special.ndtri((np.arange(n) + 0.5) / n)
    people = design.annotators if design.people is None else design.people
    worth = design.annotators / (1 + (design.annotators - 1) * design.alike)
    schedules = {"all_pairs": 1.0 - np.eye(n)}
    if n > ALL_PAIRS_UP_TO:
        schedules["coarse_to_fine"] = _walk(ratings, design, worth)
    plans = []
    for name, judged in schedules.items():
        pairs = int(judged.sum()) // 2
        joins = n if name == "all_pairs" else pair_budget(n + 1) - pair_budget(n)
        most = int(judged.sum(axis=1).max())
        for scope, times in (("scenario", 1), ("overall", design.scenarios)):
            comparisons = pairs * design.k * times
            votes = comparisons * design.annotators
            covariance = rating_covariance(ratings, judged * design.k * times * worth, design.ties)
            plans.append(
                Plan(
                    name,
                    scope,
                    pairs,
                    comparisons,
                    pairs * times * split_budget(design.k, design.random_share)[1],
                    votes,
                    comparisons * people * design.seconds / 3600,
                    float(_half_widths(covariance, design.level).mean()),
                    highest_elo(most, design.k * times * design.annotators, design.elo_k),
                    joins * design.k * times,
                )
            )
    return plans


def highest_elo(opponents: int, games: int, k: float = 4.0) -> float:
    """The Elo rating of a model that wins every game, opponents' losses counted.

    All start at 1000 and what the model wins its opponent loses, so that each further win against it is worth less:
    r += k (1 - s), q -= k (1 - s), s = 1 / (1 + 10^((q - r) / 400)). The games are played one opponent after another,
    which gains most; games among the opponents are left out, as they move points among them. Seven
    opponents, ten games each, k = 4: 1,113.5. (Opponents that stay at 1000 would give 1,115.9.)

    Args:
        opponents: number of opponents.
        games: games with each.
        k: points that a game moves at most.

    Returns:
        The rating, Elo points.

    References:
        Elo (1978), The Rating of Chessplayers, section 1.6.
    """
    rating = START
    for _ in range(opponents):
        other = START
        for _ in range(games):
            won = k * _chance(other - rating)
            if won < 1e-12:
                break
            rating, other = rating + won, other - won
    return rating


def _chance(difference: float) -> float:
    return 1 / (1 + 10 ** (-difference / SCALE))


def _information(ratings: FloatArray, ties: float) -> FloatArray:
    """What a vote tells of each pair's difference, per squared Elo point, shape (N, N)."""
    p = special.expit((ratings[:, None] - ratings) * _PER_POINT)
    found: FloatArray = (1 - ties) * p * (1 - p) * _PER_POINT**2
    return found


def rating_covariance(ratings: FloatArray, votes: FloatArray, ties: float = 0.0) -> FloatArray:
    """Covariance of Bradley-Terry ratings whose mean is fixed, from Fisher's information.

    Args:
        ratings: Elo points, shape (N,).
        votes: votes on each pair, symmetric, shape (N, N).
        ties: share of votes without a winner.

    Returns:
        Squared Elo points, shape (N, N). Infinite throughout where votes do not connect all models: nothing then
        tells how the parts compare.

    References:
        Bradley and Terry (1952), Biometrika 39, 324-345; Davidson (1970), JASA 65, 317-328.
    """
    n = ratings.size
    weight = votes * _information(ratings, ties)
    np.fill_diagonal(weight, 0.0)
    if not _connected(weight > 0):
        return np.full((n, n), np.inf)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    scale = weight.max()
    # The ratings' mean is fixed: the constant direction is added before and taken out after.
    covariance: FloatArray = np.linalg.inv(laplacian / scale + 1 / n) - 1 / n
    return covariance / scale


def _connected(linked: NDArray[np.bool_]) -> bool:
    seen = np.zeros(len(linked), dtype=bool)
    seen[:1] = True
    while True:
        more = seen | linked[seen].any(axis=0)
        if (more == seen).all():
            return bool(seen.all())
        seen = more


def _half_widths(covariance: FloatArray, level: float) -> FloatArray:
    widths: FloatArray = special.ndtri(0.5 + level / 2) * np.sqrt(np.diag(covariance))
    return widths


# Coarse to fine


def anchor_count(models: int) -> int:
    """Models that all others meet first: about half of log2 N, 2 or more."""
    return max(2, math.ceil(math.log2(models) / 2))


def pair_budget(models: int) -> int:
    """Pairs judged in all: N log2 N, or all pairs where they are fewer (up to `ALL_PAIRS_UP_TO` models: always)."""
    every = models * (models - 1) // 2
    return every if models <= ALL_PAIRS_UP_TO else min(every, math.ceil(models * math.log2(models)))


def choose_anchors(
    models: Sequence[str], *, prior: Sequence[float] | None = None, seed: int = 0
) -> list[str]:
    """Models that all others meet first.

    Args:
        models: names.
        prior: ratings from elsewhere, one each: anchors then stand evenly from low to high. Without, a hash of name
            and seed draws them.
        seed: whole number.

    Returns:
        `anchor_count` names, sorted.

    Raises:
        UserError: for repeated names, or another number of ratings.
    """
    names = sorted(models)
    if len(set(names)) < len(names):
        raise UserError("models repeat; expected each once")
    count = min(anchor_count(max(len(names), 2)), len(names))
    if prior is None:
        drawn = hash_ids(string_array([f"{pair_key([name], seed)}" for name in names]))
        return sorted(names[k] for k in np.argsort(drawn, kind="stable")[:count].tolist())
    if len(prior) != len(models):
        raise UserError(f"{len(prior)} ratings for {len(models)} models; expected one each")
    ranked = [name for _, name in sorted(zip(prior, models, strict=True))]
    places = [round((k + 0.5) * len(names) / count - 0.5) for k in range(count)]
    return sorted(ranked[place] for place in places)


def coarse_pairs(models: Sequence[str], anchors: Sequence[str]) -> list[Pair]:
    """Pairs of the first round: every model with every anchor."""
    return [pair for pair in all_pairs(models) if pair[0] in set(anchors) or pair[1] in set(anchors)]


@dataclass(frozen=True)
class Next:
    """A pair worth judging.

    Attributes:
        pair: the models.
        gain: information per vote on which of them is better, in nats: log(1 + votes x information x variance of
            their difference) / 2 / votes.
        overlap: how far the two intervals reach into each other, Elo points.
    """

    pair: Pair
    gain: float
    overlap: float


def next_pairs(
    models: Sequence[str],
    ratings: FloatArray,
    votes: FloatArray,
    *,
    k: float = 10,
    ties: float = 0.0,
    level: float = 0.95,
    most: int | None = None,
) -> list[Next]:
    """The next round: pairs without votes whose intervals overlap, the most telling first, no model twice.

    Args:
        models: names, length N.
        ratings: Elo points, shape (N,); of a fit that keeps them finite.
        votes: votes so far, symmetric, shape (N, N).
        k: votes that a pair would get.
        ties: share of votes without a winner.
        level: coverage of the intervals.
        most: pairs at most.

    Returns:
        Up to N / 2 pairs, in the order of their gain (equal ones by name). None: no open pair has intervals that
        overlap, and further votes are better spent on pairs that have some.

    Raises:
        UserError: for shapes that do not fit, ratings that are not finite, or votes that do not connect all models.

    References:
        Chaloner and Verdinelli (1995), Statistical Science 10, 273-304 (expected gain in information).
    """
    n = len(models)
    if ratings.shape != (n,) or votes.shape != (n, n):
        raise UserError(
            f"{n} models, ratings {ratings.shape}, votes {votes.shape}; expected ({n},) and ({n}, {n})"
        )
    if not np.isfinite(ratings).all():
        raise UserError("ratings are not all finite; expected those of a fit with a penalty")
    covariance = rating_covariance(ratings, votes, ties)
    if np.isinf(covariance).any():
        raise UserError("votes do not connect all models; judge every model against the anchors first")
    variance = np.diag(covariance)[:, None] + np.diag(covariance) - 2 * covariance
    half = _half_widths(covariance, level)
    overlap = half[:, None] + half - np.abs(ratings[:, None] - ratings)
    # Rounding of the linear algebra must not order equal pairs.
    gain = np.round(np.log1p(k * _information(ratings, ties) * variance) / (2 * k), 9)
    order = np.argsort(np.array(models))
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    i, j = np.nonzero((overlap > 0) & (votes == 0) & (place[:, None] < place))
    found: list[Next] = []
    busy: set[int] = set()
    for at in np.lexsort((place[j], place[i], -gain[i, j])).tolist():
        a, b = int(i[at]), int(j[at])
        if most is not None and len(found) >= most:
            break
        if a not in busy and b not in busy:
            busy |= {a, b}
            found.append(Next((models[a], models[b]), float(gain[a, b]), float(overlap[a, b])))
    return found


def _walk(ratings: FloatArray, design: Design, worth: float) -> FloatArray:
    """Pairs judged, symmetric 0/1, shape (N, N), if rounds are planned by the true ratings."""
    n = ratings.size
    names = [f"{k:06}" for k in range(n)]
    place = {name: k for k, name in enumerate(names)}
    judged = np.zeros((n, n))
    todo = coarse_pairs(names, choose_anchors(names, prior=ratings.tolist()))
    left = pair_budget(n)
    while todo and left > 0:
        for a, b in todo[:left]:
            judged[place[a], place[b]] = judged[place[b], place[a]] = 1.0
        left -= len(todo[:left])
        votes = judged * design.k * worth
        found = next_pairs(names, ratings, votes, k=design.k * worth, ties=design.ties, level=design.level)
        todo = [step.pair for step in found]
    return judged
