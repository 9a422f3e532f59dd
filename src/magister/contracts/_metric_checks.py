"""What the metrics of a league promise beyond their contract."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts._columns import Mask, member, numbers, places, true
from magister.contracts._estimates import value_check
from magister.contracts._league import LeaguePlan
from magister.contracts._small import small_contract
from magister.contracts.gate import RowCheck
from magister.contracts.schemas import METRIC_RANGES, SHARES, STATUSES, Contract

# A percentile interval surrounds a ratio of sums. Of a product or a ratio of means it may miss the value.
_CONTAINED = ("p", "CA", "AA", "JA", "JA_none", "JA_always_wrong", "GA", "regression")
_ROUNDING = 1e-12


def _replies_read(metrics: pa.Table) -> NDArray[np.int64]:
    """Student replies that a metric reads per cell: rounds 0 and t, or as said."""
    number = pc.fill_null(metrics["round"], 0).to_numpy().astype(np.int64)
    one = member(metrics["metric"], ("p", "AA")) | true(pc.starts_with(metrics["metric"], "JA"))
    return np.where(one, 1, np.where(member(metrics["metric"], ("RA",)), number, 2))


def metric_checks(
    metrics: pa.Table, n_items: int, plan: LeaguePlan, exchange: NDArray[np.int64]
) -> list[RowCheck]:
    """Checks on single rows.

    Args:
        metrics: METRICS_TABLE.
        n_items: items of the league.
        plan: what the league was to run.
        exchange: position of each row's (arm, teacher) in the plan, -1 for others.
    """
    value, low, high, se = (numbers(metrics[name]) for name in ("value", "ci_low", "ci_high", "se"))
    bounded = ~np.isnan(low) & ~np.isnan(high)
    names = list(METRIC_RANGES)
    place = places(metrics["metric"], names)
    known = place >= 0
    floor, ceiling = (np.array([METRIC_RANGES[name][end] for name in names])[place] for end in (0, 1))

    def within(found: NDArray[np.float64]) -> Mask:
        return np.isnan(found) | ((floor - _ROUNDING <= found) & (found <= ceiling + _ROUNDING))

    share = member(metrics["metric"], SHARES)
    contained = (low - _ROUNDING <= value) & (value <= high + _ROUNDING)
    surrounded = contained | ~member(metrics["metric"], _CONTAINED)
    status = {word: true(pc.equal(metrics["status"], word)) for word in ("ok", "not_computable")}
    counts = {name: numbers(metrics[name]) for name in metrics.column_names if name.startswith("n_")}
    asked = counts["n_cells"] + counts["n_dropped"]
    replies = np.sum([counts[f"n_{word}"] for word in STATUSES], axis=0)
    students = np.maximum(counts["n_students"], 1)
    sizes_fit = (
        (counts["n_items"] <= n_items)
        & (counts["n_students"] <= len(plan.students))
        & (counts["n_clusters"] <= counts["n_items"])
        & (counts["n_cells"] <= counts["n_items"] * students)
    )
    own = member(metrics["metric"], ("AA",))
    whole = true(pc.equal(metrics["slice_kind"], "overall"))
    # A teacher without zero-shot answers has an AA row that says so.
    complete = np.where(
        own,
        (asked == n_items) | ((asked == 0) & status["not_computable"]),
        asked == n_items * len(plan.students),
    )
    number = numbers(metrics["round"])
    explained = true(pc.not_equal(metrics["reason"], ""))
    interval = ("metric", "value", "ci_low", "ci_high")

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("metrics", name, columns, expected, passed)

    return [
        check(
            "league_is_its_own",
            ("league",),
            f"league {plan.league}",
            member(metrics["league"], [plan.league]),
        ),
        check("exchange_in_league", ("arm", "teacher"), "an arm and teacher of the league", exchange >= 0),
        check(
            "round_in_league",
            ("round",),
            f"a round from 0 to {plan.rounds}",
            (number >= 0) & (number <= plan.rounds),
        ),
        check("metric_known", ("metric",), f"one of {', '.join(sorted(names))}", known),
        check(
            "value_in_range",
            interval,
            "value and interval within the range of the metric",
            (within(value) & within(low) & within(high)) | ~known,
        ),
        check(
            "interval_ordered",
            interval,
            "ci_low <= ci_high, around the value of a share or a mean",
            ~bounded | ((low <= high) & surrounded),
        ),
        check(
            "interval_where_ok",
            ("status", "ci_low", "ci_high"),
            "both ends where the status is ok, none elsewhere",
            np.where(status["ok"], bounded, np.isnan(low) & np.isnan(high)),
        ),
        value_check("metrics", metrics),
        check(
            "se_positive",
            ("metric", "value", "se"),
            "se > 0 for a share between 0 and 1 with an interval",
            ~(share & bounded & (value > 0) & (value < 1)) | (se > 0),
        ),
        check(
            "se_where_ok",
            ("metric", "status", "reason", "value", "se"),
            "an se where the status is ok, or a share of 0 or 1 with a reason; none elsewhere",
            np.where(
                status["ok"],
                ~np.isnan(se) | ~known | (share & np.isin(value, (0.0, 1.0)) & explained),
                np.isnan(se),
            ),
        ),
        check(
            "interval_has_width",
            ("metric", "ci_low", "ci_high"),
            "ci_low below ci_high: what does not vary over clusters has no interval",
            ~bounded | (low != high),
        ),
        check(
            "reason_unless_ok",
            ("status", "reason"),
            "a reason where the status is not ok",
            status["ok"] | explained,
        ),
        check(
            "statuses_add_up",
            ("metric", "n_cells", "n_dropped"),
            "a status for every reply that the metric reads",
            replies == asked * _replies_read(metrics),
        ),
        check(
            "counts_fit",
            ("n_items", "n_students", "n_clusters", "n_cells"),
            "no more items, students, clusters or cells than there are",
            sizes_fit,
        ),
        check(
            "overall_is_complete",
            ("metric", "n_cells", "n_dropped"),
            "every student and item of the league, used or dropped",
            ~whole | complete,
        ),
    ]


def headline(metrics: pa.Table, plan: LeaguePlan) -> tuple[Contract, pa.Table]:
    """The rows that a board is read from, with how often each is there."""
    wanted = [
        (arm, teacher, metric, number)
        for arm, teacher in plan.exchanges
        for metric, first in (("p", 0), ("CA", 1))
        for number in range(first, plan.rounds + 1)
    ]
    wanted += [("taught", teacher, "AA", 0) for teacher in plan.teachers]
    overall = metrics.filter(pc.equal(metrics["slice_kind"], "overall"))
    overall = overall.select(["arm", "teacher", "metric", "round"]).to_pylist()
    seen = Counter(tuple(row.values()) for row in overall)
    columns = {"arm": pa.string(), "teacher": pa.string(), "metric": pa.string(), "round": pa.int32()}
    contract = small_contract(
        "headline", columns | {"n_rows": pa.int64()}, list(columns), ranges={"n_rows": (1, 1)}
    )
    rows = [dict(zip(columns, key, strict=True)) | {"n_rows": seen[key]} for key in wanted]
    return contract, pa.Table.from_pylist(rows, schema=contract.schema)
