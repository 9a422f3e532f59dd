"""Metrics held to a count of their own: no row is missing, and every value and size is that of the replies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts._columns import Codes, Mask, numbers, places
from magister.contracts._estimates import EQUAL, SIZES
from magister.contracts._league import Grid, LeaguePlan, exchange_places
from magister.contracts._recount import Recount, Replies, Slices, policies, recount
from magister.contracts._small import small_contract
from magister.contracts.gate import RowCheck
from magister.contracts.schemas import Contract

Floats = NDArray[np.float64]


def _rows_at(metrics: pa.Table, found: Recount, plan: LeaguePlan) -> tuple[Codes, Codes, Codes]:
    """Metric, exchange and slice of each row as positions in a recount; -1 where it has none."""
    turns = plan.rounds + 2
    names = sorted({metric for metric, _ in found.metrics})
    lookup = np.full((len(names) + 1, turns), -1, dtype=np.int64)
    for place, (metric, number) in enumerate(found.metrics):
        lookup[names.index(metric), number] = place
    number = pc.fill_null(metrics["round"], -1).to_numpy().astype(np.int64)
    turn = np.where((number >= 0) & (number <= plan.rounds), number, turns - 1)
    kinds = sorted({kind for kind, _ in found.slices})
    labels = sorted({label for _, label in found.slices})
    grid = np.full((len(kinds) + 1, len(labels) + 1), -1, dtype=np.int64)
    for place, (kind, label) in enumerate(found.slices):
        grid[kinds.index(kind), labels.index(label)] = place
    return (
        lookup[places(metrics["metric"], names), turn],
        exchange_places(metrics, plan),
        grid[places(metrics["slice_kind"], kinds), places(metrics["slice"], labels)],
    )


def _near(one: Floats, other: Floats) -> Mask:
    """Equal but for rounding, or unknown in both; large values are rounded at their own scale."""
    both = np.isnan(one) & np.isnan(other)
    return np.asarray(both | (np.abs(one - other) <= EQUAL * np.maximum(1.0, np.abs(other))))


def _wanted(found: Recount, seen: NDArray[np.int64], plan: LeaguePlan) -> tuple[Contract, pa.Table]:
    """Every row that the metrics must have, with how often it is there."""
    at = np.nonzero(found.there)
    metric, exchange, part = (pa.array(place) for place in at)

    def text(words: list[str], place: pa.Array) -> pa.Array:
        return pa.array(words, pa.string()).take(place)

    columns = {
        "arm": text([arm for arm, _ in plan.exchanges], exchange),
        "teacher": text([teacher for _, teacher in plan.exchanges], exchange),
        "slice_kind": text([kind for kind, _ in found.slices], part),
        "slice": text([label for _, label in found.slices], part),
        "metric": text([name for name, _ in found.metrics], metric),
        "round": pa.array([number for _, number in found.metrics], pa.int32()).take(metric),
        "n_rows": pa.array(seen[at]),
    }
    contract = small_contract(
        "metric_rows",
        {name: column.type for name, column in columns.items()},
        [name for name in columns if name != "n_rows"],
        ranges={"n_rows": (1, 1)},
    )
    return contract, pa.table(columns, schema=contract.schema)


def recount_checks(
    metrics: pa.Table, replies: Replies, zero_shot: pa.Table, grid: Grid, slices: Slices
) -> tuple[tuple[Contract, pa.Table], list[RowCheck]]:
    """The rows that must be there, and checks on those that are.

    Args:
        metrics: METRICS_TABLE.
        replies: of all places of the league.
        zero_shot: ANSWERS of the teachers.
        grid: those places.
        slices: of the items of the grid.
    """
    plan = grid.plan
    planned, valued, sized = (np.ones(metrics.num_rows, dtype=bool) for _ in range(3))
    for policy, rows in policies(metrics):
        found = recount(replies, zero_shot, grid, slices, policy)
        at = _rows_at(metrics, found, plan)
        known = np.logical_and.reduce([place >= 0 for place in at])
        known[known] = found.there[tuple(place[known] for place in at)]
        of_policy = np.flatnonzero(rows & known)
        here = tuple(place[of_policy] for place in at)
        valued[of_policy] = _near(numbers(metrics["value"])[of_policy], found.value[here])
        sized[of_policy] = np.logical_and.reduce(
            [numbers(metrics[name])[of_policy] == found.sizes[name][here] for name in SIZES]
        )
        # Which rows there must be is the same under every policy.
        planned = known
        seen = np.zeros(found.there.shape, dtype=np.int64)
        np.add.at(seen, tuple(place[known] for place in at), 1)
        wanted = _wanted(found, seen, plan)

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("metrics", name, columns, expected, passed)

    checks = [
        check(
            "row_of_league",
            ("arm", "slice_kind", "slice", "metric", "round"),
            "a slice of the league's items or students, and a metric that the arm has there in that round",
            planned,
        ),
        check(
            "value_recounted",
            ("arm", "slice_kind", "slice", "metric", "round", "value"),
            "the value that the replies give under the row's policy",
            valued,
        ),
        check(
            "sizes_recounted",
            ("slice_kind", "slice", "metric", *SIZES),
            "the items, students, clusters and cells that the replies give under the row's policy",
            sized,
        ),
    ]
    return wanted, checks
