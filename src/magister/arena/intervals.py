"""Intervals, ranks and groups of the models of one connected league.

- **Bradley-Terry**: percentile interval of the resamples at a level expanded for few units; beside it the sandwich
  interval, Student's t. A model without a finite maximum-likelihood rating has one end or none: the end that exists is
  where the profile likelihood has fallen to the tail probability (of a model that won all its votes it is the
  probability of doing so), with units in place of votes.
- **Elo**: percentile interval of the resamples. Of a model with an open end these show one side of the truth only; the
  end that exists is Elo's rating for the strengths at the end by the profile.
- **Pairs** are told apart by their difference over its standard error (Student's t); pairs with a model that has an
  open end by the score test with continuity correction, units in place of votes. Groups take Holm's correction over
  all pairs.
- **Ranks** from the resamples; where these cannot show an order to be uncertain, the tests of pairs widen them.

References:
    Hesterberg (2015), The American Statistician 69, 371-386 (expanded percentiles); Rao (1948), Mathematical
    Proceedings of the Cambridge Philosophical Society 44, 50-57 (score tests); Yates (1934), Supplement to the JRSS 1,
    217-235 (continuity); Holm (1979), Scandinavian Journal of Statistics 6, 65-70.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from magister.arena.bradley_terry import POINTS, Likelihood, profile_ends, under_constraint
from magister.arena.elo import EloScale, mean_field
from magister.arena.league import Bools, open_ends
from magister.arena.resamples import Component, Design, Replicates, expanded_tail, freedom_of, quantile_of
from magister.arena.votes import Ints
from magister.stats import FEW_CLUSTERS, holm, rank_intervals, shared_ranks, significance_groups

Floats = NDArray[np.float64]
DECIMALS = 6
"""Ratings are rounded to so many decimals: beyond them stand traces of the order of additions."""
# Models whose resamples vary less than this, in points, do not vary.
_STILL = 1e-5
_MODEL_INTERVAL = "the {} do not vary: the interval is that of the model with independent votes"
# Score tests of more pairs, or of larger leagues, are not worth their time.
_LARGEST_WORK = 2e10


@dataclass
class Standing:
    """One system's results for k models; NaN and 0 stand for "absent", and `reason` says why.

    Attributes:
        rating: points.
        ci_low: lower end.
        ci_high: upper end.
        se: standard error.
        sandwich_low: Bradley-Terry only.
        sandwich_high: Bradley-Terry only.
        rank: 1 is best; equal ratings share one.
        rank_low: best rank of the interval.
        rank_high: worst.
        p_first: share of resamples in which the rank is 1.
        group: letters; models that share one are not told apart.
        status: of the contract.
        reason: sentences.
    """

    rating: Floats
    ci_low: Floats
    ci_high: Floats
    se: Floats
    sandwich_low: Floats
    sandwich_high: Floats
    rank: Ints
    rank_low: Ints
    rank_high: Ints
    p_first: Floats
    group: list[str]
    status: list[str]
    reason: list[list[str]]


@dataclass(frozen=True)
class Evidence:
    """What both systems' results share.

    Attributes:
        open_low: models whose Bradley-Terry rating has no finite lower end, shape (k,).
        open_high: no finite upper end.
        units: units that each model has votes in.
        end: the other end of models with one open, by the profile: in units of b, NaN elsewhere, shape (k,).
        elo_end: Elo's rating there.
        p: two-sided p values that the two of each pair are equal, by Bradley-Terry, symmetric, shape (k, k).
    """

    open_low: Bools
    open_high: Bools
    units: Ints
    end: Floats
    elo_end: Floats
    p: Floats


def gather(design: Design, part: Component, likelihood: Likelihood, elo: EloScale, level: float) -> Evidence:
    """Bounds and pair tests of a component."""
    wins, ties = design.tally.matrices(part.at)
    low, high = open_ends(wins, ties)
    units = design.n_units[part.at]
    difference = part.theta[: part.k, None] - part.theta[None, : part.k]
    variance, freedom = _pair_variance(design, part, units)
    p = _p_value(difference * POINTS, variance, freedom)
    unbounded = low | high
    if unbounded.any():
        first, second = np.triu_indices(part.k, 1)
        asked = unbounded[first] | unbounded[second]
        first, second = first[asked], second[asked]
        p[first, second] = p[second, first] = np.nan
        if first.size * part.k**3 <= _LARGEST_WORK:
            contrast = np.zeros((first.size, part.k))
            at = np.arange(first.size)
            contrast[at, first], contrast[at, second] = 1, -1
            found = under_constraint(part.data, likelihood, part.theta, contrast, np.zeros(first.size))
            each = part.data.games[0].sum(axis=1) / np.maximum(units, 1)
            each = np.maximum(each[first], each[second])
            excess = np.maximum(np.abs(found.score) - each / 2, 0.0) * np.sqrt(found.variance / each)
            p[first, second] = p[second, first] = 2 * special.ndtr(-excess)
    end, elo_end = np.full(part.k, np.nan), np.full(part.k, np.nan)
    at = np.flatnonzero((low ^ high) & (units > 1))
    if at.size:
        games = part.data.games[0]
        critical = -2 * np.log((1 - level) / 2) * games.sum(axis=1)[at] / units[at]
        side = np.where(high[at], -1, 1)
        end[at], theta = profile_ends(part.data, likelihood, part.theta, at, side, critical)
        many = np.broadcast_to(games, (at.size, part.k, part.k))
        ratings = mean_field(many, likelihood.expected(theta, many)[:, : part.k], elo)
        elo_end[at] = ratings[np.arange(at.size), at]
    return Evidence(low, high, units, end, elo_end, p)


def bradley_terry_standing(
    design: Design,
    part: Component,
    evidence: Evidence,
    replicates: Replicates,
    likelihood: Likelihood,
    level: float,
    mean: float,
) -> Standing:
    """Bradley-Terry results of a component.

    Args:
        design: the league.
        part: the component.
        evidence: its bounds and tests.
        replicates: ratings on the resamples of the league.
        likelihood: of the fit.
        level: confidence level.
        mean: of all ratings.
    """
    rating = mean + POINTS * part.theta[: part.k]
    out = _blank(rating)
    drawn = replicates.bradley_terry[:, part.at]
    added = np.zeros(part.k) if part.by_annotator is None else np.maximum(part.by_annotator.diagonal(), 0)
    unit_variance = part.by_unit.diagonal()
    t = quantile_of(design, unit_variance, added, evidence.units, level)
    variance = unit_variance + added
    own = part.by_model.diagonal()
    still = variance <= 1e-9 * own
    few = evidence.units < 2
    unbounded = evidence.open_low | evidence.open_high
    half = t * np.sqrt(np.where(still, own, variance))
    out.se = np.where(few, np.nan, np.sqrt(np.where(still, own, variance)))
    sandwiched = ~(unbounded | still | few)
    out.sandwich_low = np.where(sandwiched, rating - half, np.nan)
    out.sandwich_high = np.where(sandwiched, rating + half, np.nan)
    _percentiles(out, drawn, design, part, evidence.units, t)
    if drawn.shape[0] == 0:
        out.ci_low, out.ci_high = out.sandwich_low.copy(), out.sandwich_high.copy()
        _say(out, sandwiched, "sandwich interval: no resamples were asked for")
    elif (flat := (np.ptp(drawn, axis=0) <= _STILL) & sandwiched).any():
        for name in ("low", "high"):
            mine, other = getattr(out, f"ci_{name}"), getattr(out, f"sandwich_{name}")
            setattr(out, f"ci_{name}", np.where(flat, other, mine))
        _say(out, flat, f"sandwich interval: no resample of the {design.names} moves the rating")
    out.ci_low = np.where(still, rating - half, out.ci_low)
    out.ci_high = np.where(still, rating + half, out.ci_high)
    _say(
        out,
        still & ~few & ~unbounded,
        _MODEL_INTERVAL.format(design.names),
    )
    tail = expanded_tail(t, evidence.units)
    for share, side, word in (
        (replicates.unbeaten[part.at], "upper", "never beaten"),
        (replicates.winless[part.at], "lower", "winless"),
    ):
        for k in np.flatnonzero((share > tail) & ~(unbounded | few | still)).tolist():
            out.reason[k].append(
                f"{word} in {share[k]:.0%} of the resamples: the {side} end rests on the ridge"
            )
    prior = (
        f"the rating is that of a normal prior with a standard deviation of {likelihood.prior_sd:g} points"
    )
    _open(out, part, evidence, mean + POINTS * evidence.end, prior)
    _without_units(out, few, design)
    _order(out, drawn, evidence, still, evidence.p, design, part, level)
    return _rounded(out)


def elo_standing(
    design: Design,
    part: Component,
    evidence: Evidence,
    replicates: Replicates,
    rating: Floats,
    level: float,
    simulated: Callable[[], Floats],
) -> Standing:
    """Elo results of a component.

    Args:
        design: the league.
        part: the component.
        evidence: its bounds and tests.
        replicates: ratings on the resamples of the league.
        rating: of each model, shape (k,).
        level: confidence level.
        simulated: ratings on leagues drawn from the model, shape (B, k): asked for where votes do not vary.
    """
    out = _blank(rating)
    drawn = replicates.elo[:, part.at]
    added = np.zeros(part.k) if part.by_annotator is None else np.maximum(part.by_annotator.diagonal(), 0)
    own = part.by_unit.diagonal()
    t = quantile_of(design, own, added, evidence.units, level)
    freedom = freedom_of(design, own, added, evidence.units)
    _percentiles(out, drawn, design, part, evidence.units, t)
    few = evidence.units < 2
    p = evidence.p.copy()
    still = np.ones(part.k, dtype=bool)
    if drawn.shape[0]:
        still = np.ptp(drawn, axis=0) <= _STILL
        covariance = _alike_covariance(np.atleast_2d(np.cov(drawn.T)), design.tally.league.alike[part.at])
        # Pairs with a model that resamples cannot move rest on the likelihood.
        trusted = ~(evidence.open_low | evidence.open_high | still | few)
        both = trusted[:, None] & trusted[None, :]
        own = covariance.diagonal()
        variance = own[:, None] + own[None, :] - 2 * covariance
        least = np.minimum(freedom[:, None], freedom[None, :])
        told = _p_value(rating[:, None] - rating[None, :], variance, least)
        p = np.where(both & (variance > _STILL**2), told, p)
        bounded = still & ~(few | evidence.open_low | evidence.open_high)
        for column in (out.ci_low, out.ci_high, out.se):
            column[still] = np.nan
        if bounded.any():
            # The resamples of these models have no spread, of which a blank standing takes the other's.
            other = _blank(rating)
            _percentiles(other, simulated(), design, part, evidence.units, t)
            for name in ("ci_low", "ci_high", "se"):
                getattr(out, name)[bounded] = getattr(other, name)[bounded]
            _say(out, bounded, _MODEL_INTERVAL.format(design.names))
    else:
        out.status = ["no_interval"] * part.k
        _say(out, ~few, "no resamples were asked for")
    _open(out, part, evidence, evidence.elo_end)
    _without_units(out, few, design)
    _order(out, drawn, evidence, still, p, design, part, level)
    return _rounded(out)


def _blank(rating: Floats) -> Standing:
    k = rating.size

    def absent() -> Floats:
        return np.full(k, np.nan)

    def unranked() -> Ints:
        return np.zeros(k, dtype=np.int64)

    return Standing(
        rating=rating.round(DECIMALS),
        ci_low=absent(),
        ci_high=absent(),
        se=absent(),
        sandwich_low=absent(),
        sandwich_high=absent(),
        rank=unranked(),
        rank_low=unranked(),
        rank_high=unranked(),
        p_first=absent(),
        group=[""] * k,
        status=["ok"] * k,
        reason=[[] for _ in range(k)],
    )


def _pair_variance(design: Design, part: Component, units: Ints) -> tuple[Floats, Floats]:
    """Variances of all differences of Bradley-Terry ratings, in points squared, and their degrees of freedom."""

    def of_differences(covariance: Floats) -> Floats:
        own = covariance.diagonal()
        return own[:, None] + own[None, :] - 2 * covariance

    variance = of_differences(part.by_unit)
    added = np.zeros_like(variance)
    if part.by_annotator is not None:
        added = np.maximum(of_differences(part.by_annotator), 0.0)
    least = np.minimum(units[:, None], units[None, :])
    freedom = freedom_of(design, variance, added, least)
    own = of_differences(part.by_model)
    still = variance + added <= 1e-9 * own
    return np.where(still, own, variance + added), freedom


def _p_value(difference: Floats, variance: Floats, freedom: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(variance > 0, np.abs(difference) / np.sqrt(np.where(variance > 0, variance, 1.0)), 0.0)
    found: Floats = np.minimum(2 * special.stdtr(freedom, -t), 1.0)
    return found


def _percentiles(
    out: Standing,
    drawn: Floats,
    design: Design,
    part: Component,
    units: Ints,
    quantile: Floats,
) -> None:
    """Fill in percentile intervals; Student's t where the tails would hold no resample."""
    count = drawn.shape[0]
    if count == 0:
        return
    tails = expanded_tail(quantile, units)
    alike = design.tally.league.alike[part.at]
    t = quantile * np.sqrt(units / np.maximum(units - 1, 1))
    for k in np.flatnonzero(units > 1).tolist():
        # Models that only their names tell apart have one distribution: all their resamples describe it.
        column = drawn[:, alike == alike[k]].ravel()
        spread = float(np.sort(column).std(ddof=1)) if count > 1 else np.nan
        if np.isnan(out.se[k]):
            out.se[k] = spread
        if tails[k] * count >= 1:
            out.ci_low[k], out.ci_high[k] = np.quantile(column, [tails[k], 1 - tails[k]])
        elif count > 1:
            out.ci_low[k], out.ci_high[k] = out.rating[k] - t[k] * spread, out.rating[k] + t[k] * spread
            out.reason[k].append(FEW_CLUSTERS)


def _open(out: Standing, part: Component, evidence: Evidence, end: Floats, remark: str = "") -> None:
    """Open the ends that the votes do not bound; the other one is given."""
    low, high = evidence.open_low, evidence.open_high
    either = low | high
    out.ci_low = np.where(either, np.where(low, np.nan, end), out.ci_low)
    out.ci_high = np.where(either, np.where(high, np.nan, end), out.ci_high)
    out.se[either] = np.nan
    points, games = part.data.points[0], part.data.games[0].sum(axis=1)
    for k in np.flatnonzero(either).tolist():
        out.status[k] = "unbounded"
        why = _why_open(points[k], games[k], low=bool(low[k]), high=bool(high[k]))
        out.reason[k] = [why, remark] if remark else [why]


def _why_open(points: float, games: float, *, low: bool, high: bool) -> str:
    if points == games:
        return f"never beaten in {games:.0f} vote(s): no upper end"
    if points == 0:
        return f"no win in {games:.0f} vote(s): no lower end"
    if low and high:
        return "between models that never met it both ways: no end on either side"
    side, end = ("above", "upper") if high else ("below", "lower")
    return f"in a group {side} all others, which never met it both ways: no {end} end"


def _without_units(out: Standing, few: Bools, design: Design) -> None:
    for k in np.flatnonzero(few).tolist():
        for column in (out.ci_low, out.ci_high, out.se):
            column[k] = np.nan
        out.status[k] = "unbounded" if out.status[k] == "unbounded" else "no_interval"
        out.reason[k].append(f"one {design.unit}: its sampling error cannot be estimated")


def _order(
    out: Standing,
    drawn: Floats,
    evidence: Evidence,
    still: Bools,
    p: Floats,
    design: Design,
    part: Component,
    level: float,
) -> None:
    """Ranks, their intervals and groups."""
    k = part.k
    out.rank = shared_ranks(out.rating)
    first, second = np.triu_indices(k, 1)
    adjusted = holm(p[first, second])
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    out.group = significance_groups(out.rating, pairs, adjusted, alpha=1 - level)
    few = evidence.units < 2
    if drawn.shape[0] == 0 or few.any():
        return
    count = design.units.count
    t = special.stdtrit(max(count - 1, 1), 0.5 + level / 2)
    tail = float(expanded_tail(np.asarray(t), np.array(count)))
    ranks = rank_intervals(out.rating, drawn, min(1 - 2 * tail, float(np.nextafter(1.0, 0.0))))
    alike = design.tally.league.alike[part.at]
    same = alike[:, None] == alike[None, :]
    low = np.where(same, ranks.ci_low[None, :], k).min(axis=1)
    high = np.where(same, ranks.ci_high[None, :], 1).max(axis=1)
    share = np.where(same, ranks.p_first[None, :], 0.0).sum(axis=1) / same.sum(axis=1)
    blind = evidence.open_low | evidence.open_high | still
    # Resamples repeat what such a model has shown, always; its pairs are as certain as their tests.
    unsure = (blind[:, None] | blind[None, :]) & ~(p <= 1 - level) & ~np.eye(k, dtype=bool)
    above = unsure & (out.rating[None, :] >= out.rating[:, None])
    below = unsure & (out.rating[None, :] <= out.rating[:, None])
    # Nobody ranks for certain beside a model that the tests, over all pairs, do not tell it apart from.
    apart = np.zeros((k, k), dtype=bool)
    apart[first, second] = apart[second, first] = adjusted <= 1 - level
    better = (apart & (out.rating[None, :] > out.rating[:, None])).sum(axis=1)
    worse = (apart & (out.rating[None, :] < out.rating[:, None])).sum(axis=1)
    out.rank_low = np.minimum(np.maximum(low - above.sum(axis=1), 1), 1 + better)
    out.rank_high = np.maximum(np.minimum(high + below.sum(axis=1), k), k - worse)
    out.p_first = np.where(blind, np.nan, share)


def _alike_covariance(covariance: Floats, alike: Ints) -> Floats:
    """Averaged over models that only their names tell apart."""
    codes = np.unique(alike, return_inverse=True)[1]
    if codes.max(initial=-1) + 1 == codes.size:
        return covariance
    member = (codes[:, None] == np.arange(codes.max() + 1)).astype(np.float64)
    sizes = member.sum(axis=0)
    own = (member.T @ covariance.diagonal()) / sizes
    inner = member.T @ (covariance - np.diag(covariance.diagonal())) @ member
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    inner = np.where(pairs > 0, inner / np.where(pairs > 0, pairs, 1.0), 0.0)
    out: Floats = inner[np.ix_(codes, codes)]
    np.fill_diagonal(out, own[codes])
    return out


def _say(out: Standing, at: Bools, text: str) -> None:
    for k in np.flatnonzero(at).tolist():
        out.reason[k].append(text)


def _rounded(out: Standing) -> Standing:
    for name in ("ci_low", "ci_high", "se", "sandwich_low", "sandwich_high", "p_first"):
        setattr(out, name, getattr(out, name).round(DECIMALS))
    return out
