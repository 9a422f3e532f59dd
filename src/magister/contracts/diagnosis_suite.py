"""What a study of a diagnosis promises beyond its contracts."""

from __future__ import annotations

from magister.contracts._diagnosis_grid import Study, known_names, responses_of
from magister.contracts._diagnosis_plan import (
    CHAINS,
    CORRECTED,
    FIT,
    RUNGS,
    VERDICT,
    ClusterPlan,
    ClusterTables,
    ControlPlan,
    DiagnosisPlan,
    DiagnosisTables,
    FitPlan,
    ScreeningPlan,
    correction_table,
    fit_tables,
    support_tables,
)
from magister.contracts._entry_checks import corrected_checks, entry_checks, item_profile_checks
from magister.contracts._k_curve_checks import chosen_number, curve_checks
from magister.contracts._matrix_checks import rejection_checks, response_checks, text_checks, truth_checks
from magister.contracts._prediction_checks import placebo_checks, prediction_checks
from magister.contracts._profile_checks import (
    attribute_profile_checks,
    correlation_checks,
    mastery_checks,
)
from magister.contracts._qmatrix_checks import (
    attribute_checks,
    chosen_check,
    cluster_checks,
    label_checks,
    prior_checks,
    run_checks,
)
from magister.contracts._saem_checks import fit_checks, saem_checks
from magister.contracts._screening_checks import screening_checks
from magister.contracts._small import comparable
from magister.contracts._support_checks import check_checks, support_checks
from magister.contracts.diagnosis_tables import (
    ATTRIBUTE_CORRELATIONS,
    ATTRIBUTE_LABELS,
    ATTRIBUTE_PROFILES,
    CLUSTER_RUNS,
    DIAGNOSED_ITEMS,
    DIAGNOSIS_CHECKS,
    ITEM_PROFILES,
    K_CURVE,
    LABELS_ASKED,
    MASTERY,
    PLACEBO,
    PREDICTIONS,
    Q_ATTRIBUTES,
    Q_CLUSTERS,
    Q_ENTRIES,
    Q_PRIOR,
    RESPONSE_MATRIX,
    RESPONSES_REJECTED,
    SAEM_ABILITIES,
    SAEM_ATTRIBUTES,
    SAEM_DRAWS,
    SAEM_ITEMS,
    SAEM_MASTERY,
    SAEM_Q,
    SAEM_TRACE,
    SCREENING,
    SIMULATED_MASTERY,
)
from magister.contracts.gate import Expectation, Suite, Tables

__all__ = [
    "ClusterPlan",
    "ClusterTables",
    "ControlPlan",
    "DiagnosisPlan",
    "DiagnosisTables",
    "FitPlan",
    "ScreeningPlan",
    "correction_table",
    "diagnosis_suite",
    "fit_tables",
    "support_tables",
]

_SAEM = (
    *(SAEM_MASTERY, SAEM_ABILITIES, SAEM_Q, SAEM_ITEMS),
    *(SAEM_ATTRIBUTES, SAEM_TRACE, SAEM_DRAWS),
)


def diagnosis_suite(given: DiagnosisTables, plan: DiagnosisPlan) -> Suite:
    """What a study promises.

    Args:
        given: its tables.
        plan: what it was to hold.

    Returns:
        Tables and expectations for `run_gate`.
    """
    tables: Tables = {
        "responses": (RESPONSE_MATRIX, given.responses),
        "screening": (SCREENING, given.screening),
        "prior": (Q_PRIOR, given.prior),
        "attributes": (Q_ATTRIBUTES, given.attributes),
        **{contract.name: (contract, given.saem[contract.name.removeprefix("saem_")]) for contract in _SAEM},
        "fit": (FIT, given.fit),
        "chains": (CHAINS, given.chains),
        "predictions": (PREDICTIONS, given.predictions),
        "placebo": (PLACEBO, given.placebo),
        "checks": (DIAGNOSIS_CHECKS, given.checks),
        "support": (VERDICT, given.verdict),
        "rungs": (RUNGS, given.rungs),
        "mastery": (MASTERY, given.mastery),
        "attribute_profiles": (ATTRIBUTE_PROFILES, given.profiles),
        "attribute_correlations": (ATTRIBUTE_CORRELATIONS, given.correlations),
        "item_profiles": (ITEM_PROFILES, given.items),
        "q_entries": (Q_ENTRIES, given.entries),
        "corrections": (CORRECTED, given.corrections),
    }
    for name, contract, table in (
        ("texts", DIAGNOSED_ITEMS, given.texts),
        ("rejected", RESPONSES_REJECTED, given.rejected),
        ("truth", SIMULATED_MASTERY, given.truth),
    ):
        if table is not None:
            tables[name] = (contract, table)
    if given.clusters is not None:
        tables |= _cluster_tables(given.clusters)
    if not comparable(tables):
        return tables, []
    study = Study(given, responses_of(given.responses))
    return tables, [
        *response_checks(given.responses, study.responses, plan),
        *_matrix_checks(study, plan),
        *screening_checks(given.screening, study.responses, plan),
        *_q_checks(study, plan),
        *saem_checks(study, plan),
        *fit_checks(study, plan),
        *prediction_checks("predictions", given.predictions, given.placebo, study, plan),
        *placebo_checks(given.placebo, given.predictions, plan),
        *check_checks(study, plan),
        *support_checks(study, plan),
        *mastery_checks(study),
        *attribute_profile_checks(study, plan),
        *correlation_checks(study),
        *item_profile_checks(study),
        *entry_checks(study),
        *corrected_checks(study),
    ]


def _cluster_tables(given: ClusterTables) -> Tables:
    """Tables of a study that finds its attributes in texts."""
    return {
        "cluster_runs": (CLUSTER_RUNS, given.runs),
        **{f"clusters/{k}": (Q_CLUSTERS, table) for k, table in given.tried.items()},
        **{f"predictions/{k}": (PREDICTIONS, table) for k, table in given.predictions.items()},
        "k_curve": (K_CURVE, given.curve),
        "clusters_unreviewed": (Q_CLUSTERS, given.unreviewed),
        "prior_unreviewed": (Q_PRIOR, given.prior),
        "labels_asked": (LABELS_ASKED, given.asked),
        "labels": (ATTRIBUTE_LABELS, given.labels),
        "clusters": (Q_CLUSTERS, given.reviewed),
    }


def _matrix_checks(study: Study, plan: DiagnosisPlan) -> list[Expectation]:
    """Checks on tables that only some kinds of studies have."""
    given = study.given
    found: list[Expectation] = []
    if given.texts is not None:
        found += text_checks(given.texts, study.responses)
        if given.truth is not None:
            found += truth_checks(given.truth, given.texts, study.responses, plan)
    if given.rejected is not None:
        found += rejection_checks(given.rejected, given.responses)
    return found


def _q_checks(study: Study, plan: DiagnosisPlan) -> list[Expectation]:
    """Checks on what is believed of the Q-matrix."""
    given, clusters = study.given, study.given.clusters
    names, items = study.attributes.names, study.responses.items
    if clusters is None or given.texts is None or plan.clusters is None:
        return [
            *prior_checks("prior", given.prior, items, names, None, plan.fixed),
            *attribute_checks(given.attributes, given.prior, None, None, plan),
        ]
    texts, unreviewed = given.texts, known_names(clusters.unreviewed["attribute"])
    chosen = clusters.tried.get(chosen_number(clusters.curve) or 0, clusters.unreviewed.slice(0, 0))
    no_placebo = PLACEBO.schema.empty_table()
    found = [
        *run_checks(clusters.runs, texts, plan.clusters),
        *curve_checks(clusters.curve, clusters.tried, clusters.predictions, plan.clusters),
        *cluster_checks("clusters_unreviewed", clusters.unreviewed, texts),
        chosen_check(clusters.unreviewed, chosen),
        *cluster_checks("clusters", clusters.reviewed, texts, names),
        *prior_checks("prior_unreviewed", clusters.prior, items, unreviewed, clusters.unreviewed, False),
        *prior_checks("prior", given.prior, items, names, clusters.reviewed, False),
        *label_checks(clusters.labels, clusters.asked, clusters.unreviewed, plan.clusters),
        *attribute_checks(given.attributes, given.prior, clusters.reviewed, clusters.labels, plan),
    ]
    for k, table in clusters.tried.items():
        found += cluster_checks(f"clusters/{k}", table, texts, k)
    for k, table in clusters.predictions.items():
        found += prediction_checks(f"predictions/{k}", table, no_placebo, study, plan)
    return found
