"""What a set of scenarios promises beyond its contracts: dialogues, scores, evolution and standings."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from magister.contracts._dialogue_checks import asked_checks, dialogue_checks, looked_up, transcript_checks
from magister.contracts._rubric_evolution_checks import (
    agreement_checks,
    decision_checks,
    diagnosis_checks,
    drift_checks,
    expert_checks,
    flag_checks,
    metric_checks,
    record_checks,
    task_change_checks,
    task_checks,
)
from magister.contracts._rubric_plan import (
    DECISIONS,
    EXPERTS,
    ITERATED,
    METRICS,
    TASKS,
    RubricPlan,
    decision_table,
    expert_table,
    iterated,
    metric_table,
    task_table,
)
from magister.contracts._rubric_score_checks import (
    anchor_score_checks,
    check_checks,
    judge_asked_checks,
    repair_checks,
    score_checks,
)
from magister.contracts._rubric_standing_checks import (
    dialogue_score_checks,
    metric_score_checks,
    of_the_best,
    standing_checks,
)
from magister.contracts._small import comparable
from magister.contracts.gate import Suite, Tables
from magister.contracts.rubrics_score_tables import (
    ANCHOR_DRIFT,
    DIALOGUE_SCORES,
    METRIC_SCORES,
    RUBRIC_STANDINGS,
)

__all__ = [
    "ITERATED",
    "RubricPlan",
    "RubricTables",
    "decision_table",
    "expert_table",
    "iterated",
    "metric_table",
    "rubrics_suite",
    "task_table",
]


@dataclass(frozen=True)
class RubricTables:
    """Tables of a set; those of iterations are put together by `iterated`.

    Attributes:
        metrics: METRICS.
        tasks: TASKS.
        decisions: DECISIONS.
        experts: EXPERTS.
        dialogue_asked, transcripts, dialogues, checks, asked, repairs, scores, anchor_scores, diagnosis, flags,
            records, task_changes, agreement: of all iterations, by the contracts of `ITERATED`.
        metric_scores: METRIC_SCORES of the best iterations.
        dialogue_scores: DIALOGUE_SCORES of them.
        standings: RUBRIC_STANDINGS.
        drift: ANCHOR_DRIFT.
    """

    metrics: pa.Table
    tasks: pa.Table
    decisions: pa.Table
    experts: pa.Table
    dialogue_asked: pa.Table
    transcripts: pa.Table
    dialogues: pa.Table
    checks: pa.Table
    asked: pa.Table
    repairs: pa.Table
    scores: pa.Table
    anchor_scores: pa.Table
    diagnosis: pa.Table
    flags: pa.Table
    records: pa.Table
    task_changes: pa.Table
    agreement: pa.Table
    metric_scores: pa.Table
    dialogue_scores: pa.Table
    standings: pa.Table
    drift: pa.Table


def rubrics_suite(given: RubricTables, plan: RubricPlan) -> Suite:
    """What a set promises.

    Args:
        given: its tables.
        plan: what it was to hold.

    Returns:
        Tables and expectations for `run_gate`.
    """
    tables: Tables = {
        "metrics": (METRICS, given.metrics),
        "tasks": (TASKS, given.tasks),
        "decisions": (DECISIONS, given.decisions),
        "experts": (EXPERTS, given.experts),
        **{name: (contract, getattr(given, name)) for name, contract in ITERATED.items()},
        "metric_scores": (METRIC_SCORES, given.metric_scores),
        "dialogue_scores": (DIALOGUE_SCORES, given.dialogue_scores),
        "standings": (RUBRIC_STANDINGS, given.standings),
        "drift": (ANCHOR_DRIFT, given.drift),
    }
    if not comparable(tables):
        return tables, []
    candidates = looked_up(given.transcripts["scenario"], dict(plan.candidates), pa.string())
    scored = pa.concat_tables([given.scores, given.anchor_scores])
    chosen = of_the_best(given.metrics, given.decisions)
    counted = of_the_best(given.scores, given.decisions)
    return tables, [
        *metric_checks(given.metrics, given.decisions),
        *task_checks(given.tasks, given.decisions),
        *decision_checks(given.decisions, given.metrics, plan),
        *expert_checks(given.experts, given.anchor_scores),
        *asked_checks(given.dialogue_asked, given.transcripts),
        *transcript_checks(given.transcripts, given.dialogues, candidates, plan),
        *dialogue_checks(given.dialogues, given.transcripts, given.tasks, candidates, plan),
        *check_checks(given.checks, given.dialogues, plan),
        *judge_asked_checks(given.asked, scored, plan),
        *repair_checks(given.repairs, given.asked, scored),
        *score_checks(given.scores, given.dialogues, given.checks, given.metrics, plan),
        *anchor_score_checks(given.anchor_scores, given.metrics, plan),
        *diagnosis_checks(given.diagnosis, given.scores, given.metrics),
        *flag_checks(given.flags, given.diagnosis),
        *record_checks(given.records, given.metrics, given.flags, given.decisions),
        *task_change_checks(given.task_changes, given.tasks, given.decisions),
        *agreement_checks(given.agreement, given.scores, plan),
        *metric_score_checks(given.metric_scores, counted),
        *dialogue_score_checks(given.dialogue_scores, given.metric_scores, chosen, plan),
        *standing_checks(given.standings, given.metric_scores, chosen, plan),
        *drift_checks(given.drift, given.anchor_scores, given.experts, given.metrics),
    ]
