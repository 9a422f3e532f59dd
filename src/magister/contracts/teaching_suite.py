"""What the teaching module promises beyond its contracts."""

from __future__ import annotations

import pyarrow as pa

from magister.contracts._columns import member
from magister.contracts._league import LeaguePlan, exchange_places
from magister.contracts._metric_checks import headline, metric_checks
from magister.contracts._small import comparable
from magister.contracts._trajectory_checks import plan_cells, trajectory_checks
from magister.contracts.gate import RowCount, Suite, Tables
from magister.contracts.schemas import ITEMS, METRICS_TABLE, TRAJECTORIES

__all__ = ["LeaguePlan", "teaching_suite"]


def teaching_suite(items: pa.Table, trajectories: pa.Table, metrics: pa.Table, plan: LeaguePlan) -> Suite:
    """What the teaching module promises of a league.

    Args:
        items: ITEMS of all data sets.
        trajectories: TRAJECTORIES of the league.
        metrics: METRICS_TABLE of the league.
        plan: what the league was to run.

    Returns:
        Tables and expectations for `run_gate`.
    """
    tables: Tables = {
        "items": (ITEMS, items),
        "trajectories": (TRAJECTORIES, trajectories),
        "metrics": (METRICS_TABLE, metrics),
    }
    if not comparable(tables):
        return tables, []
    items = items.filter(pa.array(member(items["dataset"], plan.datasets)))
    tables["items"] = (ITEMS, items)
    exchange = exchange_places(trajectories, plan)
    rows = len(plan.exchanges) * len(plan.students) * items.num_rows * (plan.rounds + 1)
    expected = (
        f"{len(plan.exchanges)} exchanges x {len(plan.students)} students x {items.num_rows} items x "
        f"{plan.rounds + 1} rounds"
    )
    tables["cells"] = plan_cells(trajectories, items["item_id"].to_pylist(), plan, exchange)
    tables["headline"] = headline(metrics, plan)
    return tables, [
        RowCount("trajectories", rows, expected),
        *trajectory_checks(trajectories, items, plan, exchange),
        *metric_checks(metrics, items.num_rows, plan, exchange_places(metrics, plan)),
    ]
