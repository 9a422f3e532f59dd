"""Do the leagues order models as leaderboards of others do, and better than a test of their own knowledge does?

For every league, board and metric, over the teachers that both score: Spearman's, Kendall's (tau-b) and Pearson's
correlation; its difference from that of AA, which is the same teachers' plain accuracy on the same items, with
Williams' test; and the partial correlation given AA: what teaching tells beyond knowing. Beside them, within each
league, how far AA, JA, GA and RA go with CA.

**Intervals.** Percentile bootstrap over models; a resample of models reads the metric, and AA beside it, on a resample
of clusters of items (nested). So an interval speaks of models like these, asked items like these. The scores of the
board are taken as they are. p is that of Williams' t, exact for Pearson's coefficient and normal scores only.

**Ties** are ties: scores that were added up in another order and differ in the last digits are equal.

References:
    Teach2Eval (ICLR 2026), section on agreement with other boards; Williams (1959); Kendall (1942); see
    `magister.stats.correlation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts.schemas import COEFFICIENTS, META_EVALUATION, METRICS
from magister.stats import (
    MIN_MODELS,
    DependentCorrelations,
    Estimate,
    ModelBootstrap,
    compare_correlations,
    correlation,
    partial_correlation,
)
from magister.teaching._league_scores import Floats, LeagueScores, league_scores

__all__ = ["LeagueScores", "league_scores", "meta_evaluation"]

_CA, _AA = METRICS.index("CA"), METRICS.index("AA")
# Equal scores that were added up in another order may differ in the last digits.
_DIGITS = 12


def meta_evaluation(leagues: Sequence[LeagueScores], names: pa.Table, plan: ModelBootstrap) -> pa.Table:
    """Correlate the metrics of leagues with external boards, and with CA.

    Args:
        leagues: scores of each league; those of at least `MIN_MODELS` teachers have `plan.resamples` replicates.
        names: META_NAMES: the rows "used" say which score of a board is which teacher's.
        plan: the resamples of models.

    Returns:
        Table of contract `meta_evaluation`, sorted by its key. Fewer than `MIN_MODELS` models, or scores that
        are all equal, give "not_computable" with the reason, never a correlation of 0.
    """
    rows: list[dict[str, Any]] = []
    for scores in leagues:
        targets = [_within(scores), *_external(scores, names)]
        for target in targets:
            rows += target.rows(plan)
    table = pa.Table.from_pylist(rows, schema=META_EVALUATION.schema)
    return table.sort_by([(column, "ascending") for column in META_EVALUATION.key])


class _Target:
    """What the metrics of a league are compared with: scores of its teachers, NaN where one has none."""

    def __init__(
        self, league: LeagueScores, against: str, board: str, score: Floats, draws: Floats | None
    ) -> None:
        self.league, self.against, self.board = league, against, board
        self.score, self.draws = score, draws
        self.values = np.round(league.values, _DIGITS)
        self.replicates = np.round(league.replicates, _DIGITS)

    def rows(self, plan: ModelBootstrap) -> list[dict[str, Any]]:
        """A row per metric and coefficient."""
        metrics = [k for k in range(len(METRICS)) if not (self.against == "league" and k == _CA)]
        return [self._row(k, coefficient, plan) for k in metrics for coefficient in COEFFICIENTS]

    def _row(self, k: int, coefficient: Any, plan: ModelBootstrap) -> dict[str, Any]:
        here = ~np.isnan(self.score)
        known = here & ~np.isnan(self.values[:, k])
        both = known & ~np.isnan(self.values[:, _AA])
        row: dict[str, Any] = {
            "league": self.league.league,
            "against": self.against,
            "board": self.board,
            "metric": METRICS[k],
            "coefficient": coefficient,
            "n_models": int(known.sum()),
            "n_paired": int(both.sum()),
            "n_clusters": min(self.league.clusters[known, k].tolist(), default=0),
            "policy": self.league.policy,
            "resamples": plan.resamples,
            "seed": plan.seed,
            "level": plan.level,
        }
        row |= self._correlation(k, known, coefficient, plan)
        row["reason"] = "; ".join(part for part in (row["reason"], self._left_out(k, here & ~known)) if part)
        return row | self._beside_aa(k, both, coefficient, plan)

    def _correlation(
        self, k: int, known: NDArray[np.bool_], coefficient: Any, plan: ModelBootstrap
    ) -> dict[str, Any]:
        if known.sum() < MIN_MODELS:
            reason = self._too_few(int(known.sum()), METRICS[k])
            return dict.fromkeys(("value", "ci_low", "ci_high", "se")) | _unknown(reason)
        drawn = self._drawn({"first": k}, "second", known)
        found = correlation(self.values[known, k], self.score[known], coefficient, plan, drawn)
        status, reason = _reported(found)
        row = {"value": found.value, "ci_low": found.ci_low, "ci_high": found.ci_high, "se": found.se}
        return row | {"status": status, "reason": reason}

    def _beside_aa(
        self, k: int, both: NDArray[np.bool_], coefficient: Any, plan: ModelBootstrap
    ) -> dict[str, Any]:
        """The difference from AA's correlation, and the correlation given AA."""
        why = ""
        if k == _AA:
            why = "AA is what the other metrics are compared with"
        elif both.sum() < MIN_MODELS:
            why = self._too_few(int(both.sum()), f"{METRICS[k]}, AA")
        if why:
            return (
                dict.fromkeys(("aa_value", "t", "p"))
                | _part("difference", None, "not_computable", why)
                | _part("partial", None, "not_computable", why)
            )
        metric, own, score = self.values[both, k], self.values[both, _AA], self.score[both]
        drawn = self._drawn({"first": k, "second": _AA}, "target", both)
        compared = compare_correlations(metric, own, score, coefficient, plan, drawn)
        drawn = self._drawn({"first": k, "given": _AA}, "second", both)
        given = partial_correlation(metric, score, own, coefficient, plan, drawn)
        row: dict[str, Any] = {"aa_value": compared.second, "t": compared.statistic, "p": compared.p}
        row |= _part("difference", compared.difference, *_compared(compared))
        return row | _part("partial", given, *_reported(given))

    def _drawn(self, metrics: dict[str, int], target: str, models: NDArray[np.bool_]) -> dict[str, Floats]:
        """Replicates by the argument they belong to; a board of others has none."""
        drawn = {name: self.replicates[:, models, k] for name, k in metrics.items()}
        return drawn if self.draws is None else drawn | {target: self.draws[:, models]}

    def _too_few(self, n: int, what: str) -> str:
        target = "a score of the board" if self.against == "external" else "CA"
        return (
            f"{n} of {len(self.league.teachers)} teachers have {what} and {target}: a correlation takes "
            f"{MIN_MODELS} or more"
        )

    def _left_out(self, k: int, missing: NDArray[np.bool_]) -> str:
        """Says which teachers a correlation is not over, for want of the metric."""
        names = [self.league.teachers[m] for m in np.flatnonzero(missing).tolist()]
        return f"no {METRICS[k]} of {', '.join(names)}" if names else ""


def _within(league: LeagueScores) -> _Target:
    """CA of the league itself."""
    score, draws = np.round(league.values[:, _CA], _DIGITS), np.round(league.replicates[:, :, _CA], _DIGITS)
    return _Target(league, "league", "CA", score, draws)


def _external(league: LeagueScores, names: pa.Table) -> list[_Target]:
    """The boards that the league's teachers were looked up on."""
    mine = names.filter(pc.equal(names["league"], league.league)).select(
        ["board", "model", "status", "score"]
    )
    found: dict[str, dict[str, float]] = {}
    for row in mine.to_pylist():
        scores = found.setdefault(row["board"], {})
        if row["status"] == "used":
            scores[row["model"]] = row["score"]
    return [
        _Target(
            league,
            "external",
            board,
            np.array([found[board].get(name, np.nan) for name in league.teachers], dtype=np.float64),
            None,
        )
        for board in sorted(found)
    ]


def _unknown(reason: str) -> dict[str, Any]:
    return {"status": "not_computable", "reason": reason}


def _part(name: str, found: Estimate | None, status: str, reason: str) -> dict[str, Any]:
    """The columns of an estimate beside the correlation."""
    value, low, high = (found.value, found.ci_low, found.ci_high) if found else (None, None, None)
    return {
        name: value,
        f"{name}_ci_low": low,
        f"{name}_ci_high": high,
        f"{name}_status": status,
        f"{name}_reason": reason,
    }


def _reported(found: Estimate) -> tuple[str, str]:
    """Status and reason in the words of the table."""
    reason = found.reason
    if found.status == "all_equal":
        reason = "every resample gives the same value: there is no interval"
    if found.value is None:
        return "not_computable", reason
    return ("ok" if found.ci_low is not None else "no_interval"), reason


def _compared(found: DependentCorrelations) -> tuple[str, str]:
    """Status of a difference; its reason also says why there is no p."""
    status, reason = _reported(found.difference)
    if status != "not_computable" and found.p is None:
        reason = "; ".join(part for part in (reason, found.reason) if part)
    return status, reason
