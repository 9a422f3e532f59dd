"""What the ablations of a league promise beyond their contracts."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._ablation_checks import AblationPlan, ablation_checks
from magister.contracts._agreement_checks import agreement_checks, contamination_checks
from magister.contracts._small import comparable
from magister.contracts.gate import RowCount, Suite, Tables
from magister.contracts.schemas import (
    ABLATION_AGREEMENT,
    ABLATIONS,
    CONTAMINATION,
    FORM_ABLATIONS,
    METRICS_TABLE,
)

__all__ = ["AblationPlan", "LeagueAblations", "ablations_suite"]


@dataclass(frozen=True)
class LeagueAblations:
    """Tables of the ablations of a league, and the metrics that they are held to.

    Attributes:
        ablations: ABLATIONS.
        agreement: ABLATION_AGREEMENT.
        contamination: CONTAMINATION.
        metrics: METRICS_TABLE of the league.
    """

    ablations: pa.Table
    agreement: pa.Table
    contamination: pa.Table
    metrics: pa.Table


def ablations_suite(given: LeagueAblations, plan: AblationPlan) -> Suite:
    """What the ablations of a league promise.

    Args:
        given: its tables.
        plan: what they were to hold.

    Returns:
        Tables and expectations for `run_gate`.
    """
    tables: Tables = {
        "ablations": (ABLATIONS, given.ablations),
        "agreement": (ABLATION_AGREEMENT, given.agreement),
        "contamination": (CONTAMINATION, given.contamination),
    }
    if not comparable(tables | {"metrics": (METRICS_TABLE, given.metrics)}):
        return tables | {"metrics": (METRICS_TABLE, given.metrics)}, []
    slices = given.metrics.filter(pc.equal(given.metrics["slice_kind"], "dataset"))
    datasets = sorted(set(slices["slice"].to_pylist()))
    groups = plan.groups(datasets)
    others = sum(ablation != "full" for ablation, _, _ in groups)
    forms = sum(ablation in FORM_ABLATIONS for ablation, _ in plan.variants)
    teachers = len(plan.teachers)
    return tables, [
        RowCount(
            "ablations", len(groups) * teachers, f"{len(groups)} settings and metrics x {teachers} teachers"
        ),
        RowCount("agreement", others, "settings and metrics beside the whole league"),
        RowCount("contamination", forms * teachers, f"{forms} forms of the items x {teachers} teachers"),
        *ablation_checks(given.ablations, given.metrics, plan, datasets),
        *agreement_checks(given.agreement, given.ablations, given.metrics, plan, datasets),
        *contamination_checks(given.contamination, given.ablations, given.metrics, plan),
    ]
