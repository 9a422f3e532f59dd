"""Gate between a study of the diagnosis and the boards."""

from typing import Any

from magister.contracts.diagnosis_suite import (
    ClusterPlan,
    ClusterTables,
    ControlPlan,
    DiagnosisPlan,
    DiagnosisTables,
    FitPlan,
    ScreeningPlan,
    correction_table,
    diagnosis_suite,
    fit_tables,
    support_tables,
)
from magister.contracts.diagnosis_tables import LABELS_ASKED
from magister.contracts.gate import run_gate
from scripts.gates.verdict import conclude, table_or_none
from scripts.step import Step, run_step

SAEM = ("mastery", "abilities", "q", "items", "attributes", "trace", "draws")


def _plan(given: dict[str, Any]) -> DiagnosisPlan:
    """What the study was to hold."""
    return DiagnosisPlan(
        **{name: given[name] for name in ("kind", "truth", "unparsed", "fixed", "level")},
        screening=ScreeningPlan(**given["screening"]),
        clusters=ClusterPlan(**given["clusters"]) if given["clusters"] else None,
        fit=FitPlan(**given["fit"]),
        controls=ControlPlan(**given["controls"]),
    )


def _clusters(step: Step, plan: DiagnosisPlan) -> ClusterTables | None:
    """Tables of a study that finds its attributes in texts; a file for each number of attributes."""
    if plan.clusters is None:
        return None
    tried = plan.clusters.tried
    return ClusterTables(
        runs=step.table("runs"),
        tried=dict(zip(tried, step.tables("tried"), strict=True)),
        predictions=dict(zip(tried, step.tables("tried_predictions"), strict=True)),
        curve=step.table("curve"),
        unreviewed=step.table("clusters_unreviewed"),
        prior=step.table("prior_unreviewed"),
        asked=table_or_none(step, "asked", LABELS_ASKED),
        labels=step.table("labels"),
        reviewed=step.table("clusters"),
    )


def run(step: Step) -> None:
    """Hold all tables of a study to what they promise."""
    plan = _plan(step.params)
    fit, chains = fit_tables(step.json("fit"))
    verdict, rungs = support_tables(step.json("support"))

    def optional(name: str) -> Any:
        return step.table(name) if step.inputs.get(name) else None

    tables = DiagnosisTables(
        responses=step.table("responses"),
        screening=step.table("screening"),
        prior=step.table("prior"),
        attributes=step.table("attributes"),
        saem={name: step.table(f"saem_{name}") for name in SAEM},
        fit=fit,
        chains=chains,
        predictions=step.table("predictions"),
        placebo=step.table("placebo"),
        checks=step.table("checks"),
        verdict=verdict,
        rungs=rungs,
        mastery=step.table("mastery"),
        profiles=step.table("profiles"),
        correlations=step.table("correlations"),
        items=step.table("item_profiles"),
        entries=step.table("entries"),
        corrections=correction_table(step.json("corrections")),
        texts=optional("texts"),
        rejected=optional("rejected"),
        truth=optional("truth"),
        clusters=_clusters(step, plan),
    )
    conclude(step, run_gate("diagnosis", *diagnosis_suite(tables, plan)))


if __name__ == "__main__":
    run_step(__spec__.name, run)
