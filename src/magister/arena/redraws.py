"""A selection of votes against random draws of as many votes of each pair from the same pool."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from magister.arena._grid import FloatArray
from magister.arena._outcomes import Codes, Outcomes, Rater, code_votes, mean_share, tables_of
from magister.arena.lift import Resampling
from magister.errors import UserError
from magister.stats import bootstrap_weights, percentile_intervals

REDRAW_MEASURES = ("spearman", "pair_agreement", "vote_agreement", "decisive", "spread")


@dataclass(frozen=True)
class Redraw:
    """A measure of the selection beside the same of random draws.

    Attributes:
        measure: one of `REDRAW_MEASURES`: Spearman's correlation of the ratings with those of the whole pool; share of
            pairs whose winner is the pool's, a level pair 1/2; share of decisive votes won by the model that the
            pool's ratings put first; share of decisive votes; standard deviation of the ratings.
        value: of the selection.
        ci_low: interval of the selection's value over resampled instructions.
        ci_high: its upper end.
        drawn: mean over random draws.
        drawn_low: lower end of the range that holds `level` of the draws.
        drawn_high: its upper end.
        above: share of draws below the selection's value, equal ones by half.
        n: votes.
    """

    measure: str
    value: float
    ci_low: float
    ci_high: float
    drawn: float
    drawn_low: float
    drawn_high: float
    above: float
    n: int


def against_draws(
    selected: pa.Table,
    pool: pa.Table,
    *,
    rater: Rater = mean_share,
    draws: int = 10_000,
    resampling: Resampling | None = None,
) -> list[Redraw]:
    """Compare a selection of votes with random draws of the same size for each pair.

    Args:
        selected: votes on selected instructions: model_a, model_b, winner; instruction_id where votes share one.
        pool: votes on all instructions, on all pairs of `selected`.
        rater: points and votes to ratings; those of the whole pool are the ranking to be found.
        draws: random draws, without replacement within a pair.
        resampling: resamples, level and the seed of both.

    Returns:
        A record per measure.

    Raises:
        UserError: for votes that cannot be read, other models, or a pair with fewer votes in the pool.
    """
    plan = resampling or Resampling()
    mine, whole = code_votes(selected), code_votes(pool)
    if mine.models != whole.models:
        raise UserError(
            f"the selection is of {', '.join(mine.models)}; the pool of {', '.join(whole.models)}; expected the same "
            "models"
        )
    models = len(whole.models)
    pairs = whole.pairs
    known = {tuple(pair): k for k, pair in enumerate(pairs.tolist())}
    lost = [pair for pair in map(tuple, mine.pairs.tolist()) if pair not in known]
    if lost:
        a, b = (whole.models[k] for k in lost[0])
        raise UserError(f"the pool has no votes on {a} and {b}; expected those of every selected pair")
    place = np.array([known[tuple(pair)] for pair in mine.pairs.tolist()], dtype=np.int64)
    total = _outcomes_by_pair(whole, np.arange(len(pairs)), len(pairs))
    taken = _outcomes_by_pair(mine, place, len(pairs))
    short = np.flatnonzero(taken.sum(axis=1) > total.sum(axis=1))
    if short.size:
        a, b = (whole.models[k] for k in pairs[short[0]])
        has, wants = (int(counts[short[0]].sum()) for counts in (total, taken))
        raise UserError(
            f"the pool has {has} votes on {a} and {b}, fewer than the {wants} selected; expected as many or more"
        )
    truth = rater(*_matrices(pairs, total[None], models))[0]
    winner = _net(total)
    stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence([plan.seed, 0x5244])))
    drawn = np.stack(
        [
            stream.multivariate_hypergeometric(line, int(size), draws, method="marginals")
            for line, size in zip(total, taken.sum(axis=1), strict=True)
        ],
        axis=1,
    )
    weights = bootstrap_weights(["all"] * mine.n_clusters, resamples=plan.resamples, seed=plan.seed)
    cell = (mine.cluster * len(pairs) + place[mine.pair]) * 3 + _outcome(mine)
    sums = np.bincount(cell, minlength=mine.n_clusters * len(pairs) * 3).reshape(mine.n_clusters, -1)
    resampled = weights.totals(sums).reshape(plan.resamples, len(pairs), 3)
    tail = (1 - plan.level) / 2
    value, random, again = (
        _measures(table, pairs, models, rater, truth, winner) for table in (taken[None], drawn, resampled)
    )
    interval = percentile_intervals(value[0], again, plan.level)
    rows = []
    for k, measure in enumerate(REDRAW_MEASURES):
        below = (random[:, k] < value[0, k]) + 0.5 * (random[:, k] == value[0, k])
        low, high = np.quantile(random[:, k], [tail, 1 - tail])
        rows.append(
            Redraw(
                measure,
                float(value[0, k]),
                float(interval.ci_low[k]),
                float(interval.ci_high[k]),
                float(random[:, k].mean()),
                float(low),
                float(high),
                float(below.mean()),
                int(taken.sum()),
            )
        )
    return rows


def _outcome(votes: Outcomes) -> Codes:
    """0 for a win of the first model, 1 for a tie, 2 for a loss."""
    return (2 - 2 * votes.points).astype(np.int64)


def _outcomes_by_pair(votes: Outcomes, place: Codes, pairs: int) -> Codes:
    """Wins, ties and losses of the first model, shape (P, 3)."""
    return np.bincount(place[votes.pair] * 3 + _outcome(votes), minlength=pairs * 3).reshape(pairs, 3)


def _matrices(pairs: Codes, outcomes: FloatArray | Codes, models: int) -> tuple[FloatArray, FloatArray]:
    points = outcomes[..., 0] + outcomes[..., 1] / 2
    return tables_of(pairs, points, outcomes.sum(axis=-1).astype(np.float64), models)


def _net(outcomes: FloatArray | Codes) -> FloatArray:
    return np.sign(outcomes[..., 0] - outcomes[..., 2]).astype(np.float64)


def _measures(
    outcomes: FloatArray | Codes,
    pairs: Codes,
    models: int,
    rater: Rater,
    truth: FloatArray,
    winner: FloatArray,
) -> FloatArray:
    """All measures of tables of outcomes, shape (B, P, 3), shape (B, 5)."""
    ratings = rater(*_matrices(pairs, outcomes, models))
    counted = (outcomes.sum(axis=-1) > 0) & (winner != 0)
    agree = 0.5 + 0.5 * _net(outcomes) * winner
    decisive = outcomes[..., 0] + outcomes[..., 2]
    better = np.sign(truth[pairs[:, 0]] - truth[pairs[:, 1]])
    right = np.where(better > 0, outcomes[..., 0], outcomes[..., 2])
    votes = outcomes.sum(axis=(-1, -2))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack(
            [
                _spearman(ratings, truth),
                (agree * counted).sum(axis=-1) / counted.sum(axis=-1),
                (right * (better != 0)).sum(axis=-1) / (decisive * (better != 0)).sum(axis=-1),
                decisive.sum(axis=-1) / votes,
                ratings.std(axis=-1, ddof=1),
            ],
            axis=-1,
        )


def _spearman(ratings: FloatArray, truth: FloatArray) -> FloatArray:
    """Correlation of mid-ranks, shape (B,); NaN where all ratings are equal or one is missing."""
    ranks, of_truth = _midranks(ratings), _midranks(truth)
    ranks = ranks - ranks.mean(axis=-1, keepdims=True)
    of_truth = of_truth - of_truth.mean()
    scale = np.sqrt((ranks**2).sum(axis=-1) * (of_truth**2).sum())
    found = np.where(scale > 0, (ranks * of_truth).sum(axis=-1) / np.where(scale > 0, scale, 1), np.nan)
    return np.where(np.isnan(ratings).any(axis=-1), np.nan, found)


def _midranks(x: FloatArray) -> FloatArray:
    rounded = np.round(x, 12)
    one, other = rounded[..., :, None], rounded[..., None, :]
    return (one > other).sum(axis=-1) + (one == other).sum(axis=-1) / 2
