"""What standings and comparisons promise beyond their contracts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts._columns import Mask, absent, agree, facts, member, numbers, row_codes, true
from magister.contracts._league import LeaguePlan
from magister.contracts.gate import RowCheck
from magister.contracts.schemas import METRICS

_COUNTS = ("n_items", "n_students", "n_clusters", "n_cells", "n_dropped")
_SETTINGS = ("policy", "resamples", "seed", "level")
# The same number from two ways of adding up.
_EQUAL = 1e-9
# Scores as close as that share a rank.
_TIED = 1e-12


def _near(one: NDArray[np.float64], other: NDArray[np.float64]) -> Mask:
    """Equal up to rounding, or absent in both."""
    lost = np.isnan(one), np.isnan(other)
    return np.where(lost[0] | lost[1], lost[0] == lost[1], np.abs(one - other) <= _EQUAL)


def _bounded(table: pa.Table, prefix: str) -> Mask:
    """An interval where its status is ok, in order, and none elsewhere; a reason unless ok."""
    low, high = numbers(table[f"{prefix}ci_low"]), numbers(table[f"{prefix}ci_high"])
    ok = true(pc.equal(table[f"{prefix}status"], "ok"))
    explained = ok | true(pc.not_equal(table[f"{prefix}reason"], ""))
    return np.where(ok, low <= high, np.isnan(low) & np.isnan(high)) & explained


def standing_checks(standings: pa.Table, metrics: pa.Table, plan: LeaguePlan) -> list[RowCheck]:
    """Checks on single rows.

    Args:
        standings: STANDINGS.
        metrics: METRICS_TABLE of the league.
        plan: what the league was to run.
    """
    taught = pc.and_(pc.equal(metrics["slice_kind"], "overall"), pc.equal(metrics["arm"], "taught"))
    key = ("league", "metric", "teacher", "round")
    known, measured = facts(standings, metrics.filter(taught), key, ("value", *_COUNTS, *_SETTINGS))
    value = numbers(standings["value"])
    kept = np.logical_and.reduce([agree(standings[name], measured[name]) for name in (*_COUNTS, *_SETTINGS)])
    as_measured = known & kept & _near(value, numbers(measured["value"]))
    rank, low, high = (numbers(standings[name]) for name in ("rank", "rank_low", "rank_high"))
    ranked = ~np.isnan(rank)
    ok = true(pc.equal(standings["rank_status"], "ok"))
    bounds = np.where(ok, (low <= high) & ranked, np.isnan(low) & np.isnan(high))
    p_known = ~absent(standings["p_first"])

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("standings", name, columns, expected, passed)

    return [
        check(
            "teacher_in_league",
            ("league", "teacher"),
            f"a teacher of the league {plan.league}",
            member(standings["league"], [plan.league]) & member(standings["teacher"], plan.teachers),
        ),
        check("as_measured", ("value", *_COUNTS), "value, counts and settings of the metrics", as_measured),
        check(
            "rank_by_value",
            ("rank", "value"),
            "one more than the teachers of a higher value; none without a value",
            _near(rank, _ranks(standings, value)) | ~member(standings["metric"], METRICS),
        ),
        check(
            "rank_interval_where_ok",
            ("rank_status", "rank_low", "rank_high", "p_first"),
            "a rank interval and a share of first places where the status is ok, none elsewhere",
            bounds & (p_known == ok),
        ),
        check(
            "random_interval_where_ok",
            ("random_status", "random_reason", "random_ci_low", "random_ci_high"),
            "an interval in order where the status is ok, a reason elsewhere",
            _bounded(standings, "random_"),
        ),
        check(
            "group_where_ranked",
            ("group", "rank"),
            "a letter for every teacher with a rank",
            true(pc.not_equal(standings["group"], "")) == ranked,
        ),
    ]


def _ranks(standings: pa.Table, value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank by value within a league and metric, counted by sorting; NaN without a value."""
    ranks = np.full(value.size, np.nan)
    group = row_codes(standings, ["league", "metric"])
    for code in np.unique(group):
        rows = np.flatnonzero((group == code) & ~np.isnan(value))
        ordered = np.sort(value[rows])
        ranks[rows] = 1 + rows.size - np.searchsorted(ordered, value[rows] + _TIED, side="right")
    return ranks


def comparison_checks(compared: pa.Table, standings: pa.Table, plan: LeaguePlan) -> list[RowCheck]:
    """Checks on single rows.

    Args:
        compared: COMPARISONS.
        standings: STANDINGS.
        plan: what the league was to run.
    """
    sides = [
        facts(compared, standings, ("league", "metric", end), ("value", "group"), ("league", "metric", "teacher"))
        for end in ("first", "second")
    ]  # fmt: skip
    difference = numbers(sides[0][1]["value"]) - numbers(sides[1][1]["value"])
    p, adjusted = numbers(compared["p"]), numbers(compared["p_holm"])
    level = numbers(compared["level"])
    letters = [set(text or "") for side in sides for text in side[1]["group"].to_pylist()]
    half = compared.num_rows
    together = np.array([bool(letters[k] & letters[half + k]) for k in range(half)], dtype=bool)
    apart = adjusted <= 1 - level
    # Teachers of other items have no letters, and no verdict on them.
    lettered = np.array([bool(letters[k] and letters[half + k]) for k in range(half)], dtype=bool)

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("comparisons", name, columns, expected, passed)

    return [
        check(
            "pair_in_league",
            ("league", "first", "second"),
            f"two teachers of the league {plan.league} in the order of their names",
            member(compared["league"], [plan.league])
            & member(compared["first"], plan.teachers)
            & member(compared["second"], plan.teachers)
            & true(pc.less(compared["first"], compared["second"])),
        ),
        check(
            "difference_of_values",
            ("difference", "first", "second"),
            "first - second in the standings",
            _near(numbers(compared["difference"]), difference),
        ),
        check(
            "p_adjusted_by_holm",
            ("metric", "p", "p_holm"),
            "p adjusted over all pairs of the league and metric",
            _near(adjusted, _step_down(compared, p)),
        ),
        check(
            "letters_by_p",
            ("metric", "first", "second", "p_holm"),
            "no common letter in the standings where p_holm is below 1 - level, and one elsewhere",
            ~lettered | (together != apart),
        ),
        check(
            "interval_where_ok",
            ("status", "reason", "ci_low", "ci_high"),
            "an interval in order where the status is ok, a reason elsewhere",
            _bounded(compared, ""),
        ),
        check(
            "random_interval_where_ok",
            ("random_status", "random_reason", "random_ci_low", "random_ci_high"),
            "an interval in order where the status is ok, a reason elsewhere",
            _bounded(compared, "random_"),
        ),
    ]


def _step_down(compared: pa.Table, p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm's adjustment by its definition: the largest of (m - j + 1) p_(j) over the p values not above."""
    adjusted = np.full(p.size, np.nan)
    group = row_codes(compared, ["league", "metric"])
    for code in np.unique(group):
        rows = np.flatnonzero((group == code) & ~np.isnan(p))
        ordered = np.sort(p[rows])
        steps = np.maximum.accumulate(ordered * (rows.size - np.arange(rows.size)))
        adjusted[rows] = np.minimum(steps[np.searchsorted(ordered, p[rows], side="right") - 1], 1.0)
    return adjusted
