"""Selection lift: what votes on selected and on random instructions tell, each measure from its definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import stats

from magister.audit.recompute._draws import REDRAWS, Draws, Published, hold_ends, student
from magister.audit.recompute._ledger import Floats, Ints, Ledger, Sheet
from magister.audit.recompute._strength import POINTS, Season, strengths

MEASURES = ("decisive", "vote_agreement", "pair_agreement", "width", "relative_width")
ARMS = ("discrepant", "random")
_COLUMNS = (*ARMS, "difference")
# Ratings, in points, that are no further apart are level but for rounding; so many pairs may be.
_LEVEL, _MOST_LEVEL = 1e-6, 3


@dataclass(frozen=True)
class Votes:
    """Votes of a scope: pair, points of its first model, cluster and arm of each, shape (v,)."""

    models: list[str]
    pairs: Ints
    pair: Ints
    points: Floats
    cluster: Ints
    arm: Ints

    @property
    def clusters(self) -> int:
        """Root instructions."""
        return int(self.cluster.max(initial=-1)) + 1


def hold_lift(
    ledger: Ledger, sheet: Sheet, votes: pa.Table, scenarios: list[str], redraws: int = REDRAWS
) -> None:
    """Every row of an arena's selection lift.

    Args:
        ledger: for findings.
        sheet: SELECTION_LIFT.
        votes: VOTES.
        scenarios: of the arena.
        redraws: resamples of our own.
    """
    scopes = {"overall": votes} | {
        name: votes.filter(pc.equal(votes["scenario"], name)) for name in scenarios
    }
    scopes = {name: some for name, some in scopes.items() if len(set(some["arm"].to_pylist())) > 1}
    keys = [(scope, measure, arm) for scope in scopes for measure in MEASURES for arm in _COLUMNS]
    sheet.align(ledger, keys, "lift of an arena")
    ledger.uniform(sheet, ("resamples", "level", "seed"))
    for scope, some in scopes.items():
        coded = _coded(some)
        tried = [_held(sheet, scope, coded, order, redraws) for order in _orders(coded)]
        ledger.take(min(tried, key=lambda one: len(one.findings)))


def _held(sheet: Sheet, scope: str, votes: Votes, order: Floats, redraws: int) -> Ledger:
    """What is found in a scope, given which model of each pair the others put first."""
    ledger = Ledger("arena")
    _hold_votes(ledger, sheet, scope, votes, order, redraws)
    _hold_pairs(ledger, sheet, scope, votes, order, redraws)
    return ledger


def _orders(votes: Votes) -> Iterator[Floats]:
    """Orders of pairs; where two models are level but for rounding, rounding says which is first, and any will do."""
    order, level = pooled_order(votes)
    open_pairs = np.flatnonzero(level)[:_MOST_LEVEL]
    for signs in product((0.0, 1.0, -1.0), repeat=open_pairs.size):
        found = order.copy()
        found[open_pairs] = signs
        yield found


def _coded(votes: pa.Table) -> Votes:
    rows = votes.select(["model_a", "model_b", "winner", "root_id", "arm"]).to_pylist()
    models = sorted({row[f"model_{side}"] for row in rows for side in "ab"})
    roots = sorted({row["root_id"] for row in rows})
    at_model = {name: k for k, name in enumerate(models)}
    at_root = {name: k for k, name in enumerate(roots)}
    found = []
    for row in rows:
        a, b = at_model[row["model_a"]], at_model[row["model_b"]]
        score = {"a": 1.0, "b": 0.0}.get(row["winner"], 0.5)
        low, high, points = (a, b, score) if a < b else (b, a, 1 - score)
        found.append((low, high, points, at_root[row["root_id"]], ARMS.index(row["arm"])))
    array = np.array(found, dtype=np.float64)
    pairs, pair = np.unique(array[:, :2].astype(np.int64), axis=0, return_inverse=True)
    return Votes(models, pairs, pair.ravel().astype(np.int64), array[:, 2], array[:, 3].astype(np.int64),
                 array[:, 4].astype(np.int64))  # fmt: skip


def _rated(votes: Votes, games: Floats, points: Floats) -> Floats:
    """Ratings from votes and points of each pair, shape (..., P): shape (..., M); NaN for a model without votes."""
    k = len(votes.models)
    first, second = votes.pairs.T
    matrix, scored = np.zeros((*games.shape[:-1], k, k)), np.zeros((*games.shape[:-1], k))
    matrix[..., first, second] = matrix[..., second, first] = games
    for at, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        scored[..., i] += points[..., at]
        scored[..., j] += games[..., at] - points[..., at]
    found = 1000.0 + POINTS * strengths(Season(matrix, scored))
    return np.where(matrix.sum(axis=-1) > 0, found, np.nan)


def _counts(votes: Votes, mine: Any) -> tuple[Floats, Floats]:
    count = len(votes.pairs)
    return (
        np.bincount(votes.pair[mine], minlength=count).astype(np.float64),
        np.bincount(votes.pair[mine], weights=votes.points[mine], minlength=count).astype(np.float64),
    )


def pooled_order(votes: Votes) -> tuple[Floats, NDArray[np.bool_]]:
    """Which model of each pair the votes on all other pairs put first: 1, -1, 0 where level; and which are."""
    games, points = _counts(votes, np.ones(votes.pair.size, dtype=bool))
    keep = 1 - np.eye(len(votes.pairs))
    rating = _rated(votes, keep * games, keep * points)
    at = np.arange(len(votes.pairs))
    gap = rating[at, votes.pairs[:, 0]] - rating[at, votes.pairs[:, 1]]
    level = np.abs(gap) <= _LEVEL
    return np.where(level, 0.0, np.sign(gap)), np.asarray(level)


def _hold_votes(ledger: Ledger, sheet: Sheet, scope: str, votes: Votes, order: Floats, redraws: int) -> None:
    """Decisive votes, votes for the better, and both widths."""
    clusters, models = votes.clusters, len(votes.models)
    favoured = order[votes.pair] * (2 * votes.points - 1)
    parts, levels, counts = [], [], []
    for arm in range(len(ARMS)):
        mine = votes.arm == arm
        marks = (np.ones(mine.size), votes.points != 0.5, favoured > 0, favoured < 0)
        columns = [
            np.bincount(votes.cluster[mine], np.asarray(mark, dtype=np.float64)[mine], clusters)
            for mark in marks
        ]
        level, influence = _influence(votes, mine)
        levels.append(level)
        counts.append(int(mine.sum()))
        parts.append(np.column_stack([*columns, influence, influence**2]))
    level_of = sheet.find([(scope, "decisive", ARMS[0])])[0]
    coverage = float(sheet.numbers("level")[max(level_of, 0)])
    z = 2 * float(stats.norm.ppf(0.5 + coverage / 2))
    draws = Draws(np.zeros(clusters), redraws, salt=6)
    value, drawn = {}, {}
    for arm, name in enumerate(ARMS):
        value[name] = _measures(parts[arm].sum(axis=0), levels[arm], models, z)
        drawn[name] = _measures(draws.totals(parts[arm]), levels[arm], models, z)
    for found in (value, drawn):
        found["difference"] = {m: found[ARMS[0]][m] - found[ARMS[1]][m] for m in found[ARMS[0]]}
    sizes = [*counts, sum(counts)]
    for measure in ("decisive", "vote_agreement", "width", "relative_width"):
        for arm, name in enumerate(_COLUMNS):
            rows = sheet.find([(scope, measure, name)])
            if rows[0] < 0:
                continue
            check = f"lift: {measure}"
            ledger.compare(sheet, "value", value[name][measure].reshape(1), check, rows=rows, tolerance=1e-6)
            ledger.compare(sheet, "n", np.array([sizes[arm]]), "lift: counts", rows=rows)
            ledger.compare(sheet, "n_clusters", np.array([clusters]), "lift: counts", rows=rows)
            _hold_ends(ledger, sheet, rows, drawn[name][measure][:, None], draws, coverage)


def _measures(total: Floats, level: Floats, models: int, z: float) -> dict[str, Floats]:
    with np.errstate(divide="ignore", invalid="ignore"):
        n, decisive, agree, against = (total[..., k] for k in range(4))
        moved, squares = total[..., 4 : 4 + models], total[..., 4 + models :]
        width = z * np.sqrt(squares * n[..., None]).mean(axis=-1)
        spread = (level + moved).var(axis=-1, ddof=1 if models > 1 else 0) - squares.mean(axis=-1)
        relative = width / np.sqrt(np.where(spread > 0, spread, np.nan))
        found = {
            "decisive": decisive / n,
            "vote_agreement": agree / (agree + against),
            "width": width,
            "relative_width": relative,
        }
    return {name: np.where(np.isfinite(values), values, np.nan) for name, values in found.items()}


def _influence(votes: Votes, mine: Any) -> tuple[Floats, Floats]:
    """Ratings of an arm, and what each cluster does to them by the jackknife."""
    games, points = _counts(votes, mine)
    level = _rated(votes, games, points)
    used = np.unique(votes.cluster[mine])
    left_games, left_points = np.tile(games, (used.size, 1)), np.tile(points, (used.size, 1))
    line = np.searchsorted(used, votes.cluster[mine])
    np.subtract.at(left_games, (line, votes.pair[mine]), 1)
    np.subtract.at(left_points, (line, votes.pair[mine]), votes.points[mine])
    left = _rated(votes, left_games, left_points)
    out = np.zeros((votes.clusters, len(votes.models)))
    out[used] = np.sqrt((used.size - 1) / used.size) * (left.mean(axis=0) - left)
    return level, out


def _hold_pairs(ledger: Ledger, sheet: Sheet, scope: str, votes: Votes, order: Floats, redraws: int) -> None:
    """Pairs whose winner is that of all other pairs, expected for as many votes as the arm with fewer has."""
    counts = np.zeros((len(ARMS), len(votes.pairs), 3), dtype=np.int64)
    np.add.at(counts, (votes.arm, votes.pair, (2 - 2 * votes.points).astype(np.int64)), 1)
    drawn = counts.sum(axis=2).min(axis=0)
    usable = np.flatnonzero((drawn > 0) & np.isin(order, (-1.0, 1.0)))
    chance = np.array(
        [
            [_chance(counts[arm, p], int(drawn[p]), float(order[p])) for arm in range(len(ARMS))]
            for p in usable.tolist()
        ]
    ).reshape(-1, len(ARMS))
    n = usable.size
    draws = Draws(np.zeros(n), redraws, salt=7) if n else None
    for arm, name in enumerate(_COLUMNS):
        rows = sheet.find([(scope, "pair_agreement", name)])
        if rows[0] < 0:
            continue
        one = chance[:, arm] if arm < len(ARMS) else chance[:, 0] - chance[:, 1]
        value = np.array([one.mean() if n else np.nan])
        ledger.compare(sheet, "value", value, "lift: pair_agreement", rows=rows, tolerance=1e-7)
        for column in ("n", "n_clusters"):
            ledger.compare(sheet, column, np.array([n]), "lift: counts", rows=rows)
        if draws is not None:
            level = float(sheet.numbers("level")[rows[0]])
            _hold_ends(ledger, sheet, rows, draws.totals(one[:, None]) / n, draws, level)


def _chance(counts: Ints, drawn: int, order: float) -> float:
    """P(the right model has more wins) + P(level) / 2 of some of a pair's votes, drawn without replacement."""
    won, tied, lost = (int(count) for count in counts)
    if order < 0:
        won, lost = lost, won
    total = 0.0
    for i in range(min(won, drawn) + 1):
        for j in range(min(lost, drawn - i) + 1):
            if drawn - i - j <= tied:
                total += (
                    comb(won, i)
                    * comb(lost, j)
                    * comb(tied, drawn - i - j)
                    * (1.0 if i > j else 0.5 if i == j else 0.0)
                )
    return total / comb(won + tied + lost, drawn)


def _hold_ends(ledger: Ledger, sheet: Sheet, rows: Ints, drawn: Floats, draws: Draws, level: float) -> None:
    resamples = int(sheet.numbers("resamples")[rows[0]])
    ok = sheet.texts("status")[rows[0]] == "ok"
    ends = sheet.numbers("ci_low")[rows], sheet.numbers("ci_high")[rows]
    there = ~np.isnan(ends[0]) & ~np.isnan(ends[1])
    ledger.refuse(sheet, "ci_low", there != ok, "lift: an interval where the status says so", ends[0],
                  "a number with status ok, null without", rows=rows)  # fmt: skip
    if not ok:
        return
    tail = draws.tail(level)
    bounded = sheet.texts("measure")[rows[0]] != "relative_width"
    if tail * resamples >= 1:
        check = "lift: intervals, redrawn"
        hold_ends(
            ledger,
            Published(sheet, rows, "ci_low", "ci_high", resamples, check),
            drawn,
            tail,
            bounded=bounded,
        )
        return
    count, freedom = draws.freedom()
    half = student(level, freedom) * np.sqrt(count / max(freedom, 1)) * np.nanstd(drawn, axis=0, ddof=1)
    allowed = half * 8 * np.sqrt(0.75 * (1 / max(resamples, 1) + 1 / len(drawn))) + 1e-9
    value = sheet.numbers("value")[rows]
    for name, end, sign in (("ci_low", ends[0], -1), ("ci_high", ends[1], 1)):
        off = bounded & (np.abs(end - (value + sign * half)) > allowed)
        # A share is cut at its bounds.
        off &= ~np.isin(end, (-1.0, 0.0, 1.0))
        ledger.count("lift: intervals of few clusters, redrawn", 1)
        ledger.refuse(
            sheet, name, off, "lift: intervals of few clusters, redrawn", end, value + sign * half, rows=rows
        )
