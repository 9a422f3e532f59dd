"""What standings and comparisons promise beyond their contracts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import Mask, absent, agree, facts, member, numbers, true
from magister.contracts._estimates import (
    SETTINGS,
    SIZES,
    bounded_where_ok,
    close,
    explained,
    holm_holds,
    ranks,
)
from magister.contracts._league import LeaguePlan
from magister.contracts._uncertainty_checks import pair_checks, rank_checks
from magister.contracts.gate import RowCheck
from magister.contracts.schemas import METRICS


def _interval_check(where: str, name: str, table: pa.Table, prefix: str) -> RowCheck:
    """An interval in order where its status is ok, none elsewhere, and a reason unless ok."""
    status, reason, low, high = (f"{prefix}{part}" for part in ("status", "reason", "ci_low", "ci_high"))
    return RowCheck(
        where,
        name,
        (status, reason, low, high),
        "an interval in order where the status is ok, a reason elsewhere",
        bounded_where_ok(table, status, low, high) & explained(table, status, reason),
    )


def standing_checks(standings: pa.Table, metrics: pa.Table, plan: LeaguePlan) -> list[RowCheck]:
    """Checks on single rows.

    Args:
        standings: STANDINGS.
        metrics: METRICS_TABLE of the league.
        plan: what the league was to run.
    """
    taught = pc.and_(pc.equal(metrics["slice_kind"], "overall"), pc.equal(metrics["arm"], "taught"))
    key = ("league", "metric", "teacher", "round")
    known, measured = facts(standings, metrics.filter(taught), key, ("value", *SIZES, *SETTINGS))
    value = numbers(standings["value"])
    kept = np.logical_and.reduce([agree(standings[name], measured[name]) for name in (*SIZES, *SETTINGS)])
    as_measured = known & kept & close(value, numbers(measured["value"]))
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
        check("as_measured", ("value", *SIZES), "value, counts and settings of the metrics", as_measured),
        check(
            "rank_by_value",
            ("rank", "value"),
            "one more than the teachers of a higher value; none without a value",
            close(rank, ranks(standings, ("league", "metric"))) | ~member(standings["metric"], METRICS),
        ),
        check(
            "rank_interval_where_ok",
            ("rank_status", "rank_low", "rank_high", "p_first"),
            "a rank interval and a share of first places where the status is ok, none elsewhere",
            bounds & (p_known == ok),
        ),
        _interval_check("standings", "random_interval_where_ok", standings, "random_"),
        *rank_checks(standings),
        check(
            "group_where_ranked",
            ("group", "rank"),
            "a letter for every teacher with a rank",
            true(pc.not_equal(standings["group"], "")) == ranked,
        ),
    ]


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
    adjusted = numbers(compared["p_holm"])
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
            close(numbers(compared["difference"]), difference),
        ),
        check(
            "p_adjusted_by_holm",
            ("metric", "p", "p_holm"),
            "p adjusted over all pairs of the league and metric",
            holm_holds(compared, ("league", "metric")),
        ),
        check(
            "letters_by_p",
            ("metric", "first", "second", "p_holm"),
            "no common letter in the standings where p_holm is below 1 - level, and one elsewhere",
            ~lettered | (together != apart),
        ),
        *pair_checks(compared),
        _interval_check("comparisons", "interval_where_ok", compared, ""),
        _interval_check("comparisons", "random_interval_where_ok", compared, "random_"),
    ]
