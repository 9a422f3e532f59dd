"""Selection lift: do votes on selected instructions tell more than votes on random ones?

Five measures, for each arm and as a difference (discrepant - random):

- `decisive`: share of votes that name a winner.
- `vote_agreement`: share of decisive votes won by the model that the pooled ranking puts first.
- `pair_agreement`: share of pairs whose winner is the pooled ranking's, a level pair 1/2, expected for as many votes
  as the arm with fewer of them has on the pair: an arm does not win by having more votes.
- `width`: width of the interval of a model's rating that one vote would give, mean over models: an interval from V
  votes is width / sqrt(V) wide.
- `relative_width`: `width` over the spread of the ratings that is not noise, in the arm itself: an arm that sets
  models further apart may have wider intervals and still order them better.

The pooled ranking that judges a pair comes from the votes of both arms on all other pairs, so that no vote speaks for
itself. It is taken as known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import special

from magister.arena._grid import FloatArray
from magister.arena._outcomes import Codes, Outcomes, Rater, code_votes, mean_share, tables_of
from magister.contracts.arena_tables import (
    LIFT_ARMS,
    LIFT_MEASURES,
    LIFT_SHARES,
    SELECTION_ARMS,
    SELECTION_LIFT,
)
from magister.errors import UserError
from magister.stats import BootstrapWeights, Estimate, Estimates, bootstrap_weights, expanded_intervals

# Tables of leave-one-out ratings at a time.
_CELLS = 2**22


@dataclass(frozen=True)
class Resampling:
    """How intervals are drawn.

    Attributes:
        resamples: B.
        seed: whole number, 0 or more.
        level: coverage, 0..1.
    """

    resamples: int = 2000
    seed: int = 0
    level: float = 0.95


def selection_lift(
    votes: pa.Table,
    *,
    rater: Rater = mean_share,
    resampling: Resampling | None = None,
    scope: str = "overall",
) -> pa.Table:
    """Compare the arms of a selection.

    Intervals come from one bootstrap of instructions (of pairs for `pair_agreement`) that both arms share. Widths rest
    on the delete-one jackknife of instructions.

    Args:
        votes: model_a, model_b, winner, arm; root_id or instruction_id where votes share instructions.
        rater: points and votes to ratings; see `_outcomes.Rater`.
        resampling: how intervals are drawn.
        scope: what the rows are called.

    Returns:
        A row per measure and arm, by the contract `SELECTION_LIFT`.

    Raises:
        UserError: for votes that cannot be read, or an arm that is none.

    References:
        Efron and Stein (1981), Annals of Statistics 9, 586-596 (jackknife variance).
    """
    plan = resampling or Resampling()
    outcomes = code_votes(votes)
    arm = _arms(votes)
    shape = (len(SELECTION_ARMS), len(outcomes.pairs))
    count, points = (
        np.bincount(arm * shape[1] + outcomes.pair, weights, shape[0] * shape[1]).reshape(shape)
        for weights in (np.ones(arm.size), outcomes.points)
    )
    order = pooled_order(outcomes.pairs, points.sum(axis=0), count.sum(axis=0), len(outcomes.models), rater)
    by_votes, sizes = _of_votes(outcomes, arm, order, rater, plan)
    by_pairs = _of_pairs(outcomes, arm, order, plan)
    rows = []
    for k, measure in enumerate(LIFT_MEASURES):
        part, at = (by_pairs, 0) if measure == "pair_agreement" else (by_votes, 3 * (k - (k > 2)))
        for j, name in enumerate(LIFT_ARMS):
            found = part[at + j]
            n = found.n if measure == "pair_agreement" else int(sizes[j])
            rows.append(
                {"scope": scope, "measure": measure, "arm": name, "status": found.status}
                | {"reason": found.reason, "n": n, "n_clusters": found.n_clusters}
                | {"resamples": plan.resamples, "seed": plan.seed, "level": plan.level}
                | {"value": found.value, **_ends(found, measure, name)}
            )
    table = pa.Table.from_pylist(rows, schema=SELECTION_LIFT.schema)
    return table.sort_by([(name, "ascending") for name in SELECTION_LIFT.key])


def _ends(found: Estimate, measure: str, arm: str) -> dict[str, float | None]:
    """The ends of an interval, none beyond what the measure can be."""
    high = 1.0 if measure in LIFT_SHARES else np.inf
    low = -high if arm == "difference" else 0.0
    return {
        "ci_low": None if found.ci_low is None else max(found.ci_low, low),
        "ci_high": None if found.ci_high is None else min(found.ci_high, high),
    }


def _arms(votes: pa.Table) -> Codes:
    if "arm" not in votes.column_names:
        raise UserError(f"votes lack the column arm; found {', '.join(votes.column_names)}")
    found = pc.index_in(votes["arm"].combine_chunks(), pa.array(SELECTION_ARMS))
    if found.null_count:
        row = pc.index(pc.is_null(found), True).as_py()
        raise UserError(
            f"votes: row {row + 1} has the arm {votes['arm'][row].as_py()!r}; expected {' or '.join(SELECTION_ARMS)}"
        )
    return np.asarray(found.to_numpy(), dtype=np.int64)


def pooled_order(
    pairs: Codes, points: FloatArray, votes: FloatArray, models: int, rater: Rater
) -> FloatArray:
    """Which model of each pair the votes on all other pairs put first.

    Args:
        pairs: positions of models, shape (P, 2).
        points: of the first model, shape (P,).
        votes: shape (P,).
        models: M.
        rater: points and votes to ratings.

    Returns:
        1 for the first model, -1 for the second, 0 where they are level, NaN where one has no rating, shape (P,).
    """
    count = len(pairs)
    out = np.full(count, np.nan)
    step = max(1, _CELLS // max(models * models, 1))
    for start in range(0, count, step):
        span = np.arange(start, min(start + step, count))
        kept = np.ones((span.size, count))
        kept[np.arange(span.size), span] = 0.0
        ratings = np.round(rater(*tables_of(pairs, kept * points, kept * votes, models)), 12)
        lines = np.arange(span.size)
        out[span] = np.sign(ratings[lines, pairs[span, 0]] - ratings[lines, pairs[span, 1]])
    return out


def _of_votes(
    outcomes: Outcomes, arm: Codes, order: FloatArray, rater: Rater, plan: Resampling
) -> tuple[Estimates, Codes]:
    """`decisive`, `vote_agreement`, `width`, `relative_width`, three values each; and votes of the arms and both."""
    favoured = order[outcomes.pair] * (2 * outcomes.points - 1)
    marks = [np.ones(arm.size), outcomes.points != 0.5, favoured > 0, favoured < 0]
    clusters, features, levels = outcomes.n_clusters, [], []
    for k in range(len(SELECTION_ARMS)):
        mine = arm == k
        features += [np.bincount(outcomes.cluster[mine], mark[mine], clusters) for mark in marks]
        level, influence = jackknife_ratings(outcomes, mine, rater)
        levels.append(level)
        features += [*influence.T, *(influence**2).T]
    models, size = len(outcomes.models), 4 + 2 * len(outcomes.models)
    z = 2 * special.ndtri(0.5 + plan.level / 2)

    def statistic(totals: FloatArray) -> FloatArray:
        by_arm = []
        for k in range(len(SELECTION_ARMS)):
            part = totals[..., k * size : (k + 1) * size]
            n, decisive, agree, against = (part[..., j] for j in range(4))
            variance = part[..., 4 + models :] * n[..., None]
            width = z * np.sqrt(variance).mean(axis=-1)
            spread = (levels[k] + part[..., 4 : 4 + models]).var(axis=-1, ddof=1 if models > 1 else 0)
            signal = spread - (variance / n[..., None]).mean(axis=-1)
            signal = np.where(signal > 0, signal, np.nan)
            by_arm.append(
                np.stack([decisive / n, agree / (agree + against), width, width / np.sqrt(signal)], axis=-1)
            )
        both = np.stack([*by_arm, by_arm[0] - by_arm[1]], axis=-1)
        return both.reshape(*both.shape[:-2], -1)

    weights = bootstrap_weights(["all"] * clusters, resamples=plan.resamples, seed=plan.seed)
    total, drawn = _totals(np.stack(features, axis=1), weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = expanded_intervals(statistic(total[None, :])[0], statistic(drawn), weights, plan.level)
    found.n_clusters[:] = clusters
    found.reason[found.status == "undefined"] = "an arm has no votes for it, or no spread beyond noise"
    counts = np.bincount(arm, minlength=len(SELECTION_ARMS))
    return found, np.append(counts, counts.sum())


def _totals(sums: FloatArray, weights: BootstrapWeights) -> tuple[FloatArray, FloatArray]:
    """Totals of sums per cluster, shape (C, F), as they are and resampled.

    Each column is rounded to multiples of a power of two, about 2^-50 of what it can add up to: totals of whole
    numbers are the same bytes whatever adds them up.
    """
    largest = np.abs(sums).max(axis=0, initial=0.0) * max(len(sums), 1)
    unit = np.ldexp(1.0, np.frexp(np.where(np.isfinite(largest), largest, 1.0))[1] - 50)
    whole = np.rint(sums / unit)
    return whole.sum(axis=0) * unit, weights.totals(whole) * unit


def jackknife_ratings(outcomes: Outcomes, mine: Any, rater: Rater) -> tuple[FloatArray, FloatArray]:
    """Ratings from some votes, and what each cluster of instructions does to them.

    Args:
        outcomes: all votes.
        mine: votes that count, bool, shape (V,).
        rater: points and votes to ratings.

    Returns:
        Ratings, shape (M,), and influences, shape (C, M): sqrt((c - 1) / c) (mean of the c leave-one-out ratings - the
        one without this cluster), so that squares add up to the jackknife variance; 0 for a cluster without a vote.
    """
    models, pairs, clusters = len(outcomes.models), len(outcomes.pairs), outcomes.n_clusters
    points, cluster, pair = outcomes.points[mine], outcomes.cluster[mine], outcomes.pair[mine]
    total, won = (
        np.bincount(pair, weights, pairs).astype(np.float64) for weights in (np.ones(pair.size), points)
    )
    level = rater(*tables_of(outcomes.pairs, won, total, models))
    used = np.unique(cluster)
    left_out = np.empty((used.size, models))
    order = np.argsort(cluster, kind="stable")
    ends = np.searchsorted(cluster[order], used, side="right")
    step = max(1, _CELLS // max(models * models + pairs, 1))
    for start in range(0, used.size, step):
        stop = min(start + step, used.size)
        some = order[ends[start - 1] if start else 0 : ends[stop - 1]]
        line = np.searchsorted(used[start:stop], cluster[some])
        cell, shape = line * pairs + pair[some], (stop - start, pairs)
        gone, lost = (
            np.bincount(cell, weights, shape[0] * pairs).reshape(shape).astype(np.float64)
            for weights in (np.ones(some.size), points[some])
        )
        left_out[start:stop] = rater(*tables_of(outcomes.pairs, won - lost, total - gone, models))
    influence = np.zeros((clusters, models))
    if used.size > 1:
        centred = left_out.mean(axis=0) - left_out
        influence[used] = np.sqrt((used.size - 1) / used.size) * centred
    else:
        influence[:] = np.nan
    return level, influence


def _of_pairs(outcomes: Outcomes, arm: Codes, order: FloatArray, plan: Resampling) -> Estimates:
    """`pair_agreement` of both arms and their difference; `n` counts pairs."""
    pairs = len(outcomes.pairs)
    # Wins, ties and losses of the first model, by arm and pair.
    outcome = (2 - 2 * outcomes.points).astype(np.int64)
    counts = np.bincount((arm * pairs + outcomes.pair) * 3 + outcome, minlength=2 * pairs * 3)
    by_arm = counts.reshape(2, pairs, 3)
    common = by_arm.sum(axis=2).min(axis=0)
    usable = (common > 0) & np.isin(order, (-1.0, 1.0))
    values = np.stack([expected_agreement(part, common, order) for part in by_arm], axis=1)[usable]
    weights = bootstrap_weights(["all"] * int(usable.sum()), resamples=plan.resamples, seed=plan.seed)
    total, drawn = _totals(np.column_stack([values, np.ones(len(values))]), weights)

    def statistic(totals: FloatArray) -> FloatArray:
        first, second = totals[..., 0] / totals[..., 2], totals[..., 1] / totals[..., 2]
        return np.stack([first, second, first - second], axis=-1)

    with np.errstate(invalid="ignore", divide="ignore"):
        found = expanded_intervals(statistic(total[None, :])[0], statistic(drawn), weights, plan.level)
    found.n_clusters[:] = found.n[:] = len(values)
    found.reason[found.status == "undefined"] = (
        "no pair with votes of both arms and an order from other pairs"
    )
    return found


def expected_agreement(counts: Codes, drawn: Codes, order: FloatArray) -> FloatArray:
    """Chance that a pair's winner in some of its votes, drawn without replacement, is the right one.

    Args:
        counts: wins, ties and losses of the first model, shape (P, 3).
        drawn: votes drawn of each pair, shape (P,).
        order: 1 where the first model should win, -1 where the second should, shape (P,).

    Returns:
        P(the right one has more wins) + P(level) / 2, shape (P,), by the multivariate hypergeometric distribution.
    """
    won, tied, lost = (np.asarray(column, dtype=np.float64) for column in counts.T)
    whole = _log_choose(won + tied + lost, drawn)
    out = np.zeros(len(counts))
    most = int(drawn.max(initial=0))
    for i in range(most + 1):
        for j in range(most + 1 - i):
            rest = drawn - i - j
            possible = (won >= i) & (lost >= j) & (rest >= 0) & (tied >= rest)
            ways = _log_choose(won, i) + _log_choose(lost, j) + _log_choose(tied, np.maximum(rest, 0)) - whole
            chance = np.where(possible, np.exp(np.where(possible, ways, 0.0)), 0.0)
            out += chance * (0.5 + 0.5 * np.sign(i - j) * order)
    return out


def _log_choose(n: Any, k: Any) -> FloatArray:
    with np.errstate(invalid="ignore"):
        found: FloatArray = special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)
    return found
