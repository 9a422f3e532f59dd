"""What a set of scenarios was to hold, and its tables with the iteration that each row is of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from magister.contracts._small import small_contract
from magister.contracts.contract import Contract
from magister.contracts.rubrics_score_tables import (
    JUDGE_AGREEMENT,
    REFINEMENTS,
    RUBRIC_ASKED,
    RUBRIC_CHECKS,
    RUBRIC_DIAGNOSIS,
    RUBRIC_FLAGS,
    RUBRIC_REPAIRS,
    RUBRIC_SCORES,
    TASK_CHANGES,
)
from magister.contracts.rubrics_tables import DIALOGUE_ASKED, DIALOGUES, TRANSCRIPTS

_s, _i, _f, _b = pa.string(), pa.int32(), pa.float64(), pa.bool_()


def of_iterations(contract: Contract) -> Contract:
    """A contract of the tables of all iterations, put together."""
    schema = pa.schema([pa.field("iteration", pa.int32(), nullable=False), *contract.schema])
    return replace(contract, schema=schema, key=("iteration", *contract.key))


ITERATED = {
    name: of_iterations(contract)
    for name, contract in {
        "dialogue_asked": DIALOGUE_ASKED,
        "transcripts": TRANSCRIPTS,
        "dialogues": DIALOGUES,
        "checks": RUBRIC_CHECKS,
        "asked": RUBRIC_ASKED,
        "repairs": RUBRIC_REPAIRS,
        "scores": RUBRIC_SCORES,
        "anchor_scores": RUBRIC_SCORES,
        "diagnosis": RUBRIC_DIAGNOSIS,
        "flags": RUBRIC_FLAGS,
        "records": REFINEMENTS,
        "task_changes": TASK_CHANGES,
        "agreement": JUDGE_AGREEMENT,
    }.items()
}
"""Contracts of the tables of iterations, by what a set calls them."""

METRICS = small_contract(
    "rubric_metrics",
    {"iteration": _i, "scenario": _s, "metric_id": _s, "dim": _s, "weight": _f, "dim_weight": _f}
    | {"rubric_sha": _s, "parent_sha": _s, "low": _i, "high": _i, "whole": _b},
    ("iteration", "scenario", "metric_id"),
)
"""Metrics of the rubrics of all iterations; `weight` is that in the score."""
TASKS = small_contract(
    "rubric_tasks",
    {"iteration": _i, "scenario": _s, "task_id": _s, "held_out": _b},
    ("iteration", "scenario", "task_id"),
)
DECISIONS = Contract(
    "rubric_decisions",
    pa.schema(
        [
            pa.field(name, kind, nullable=name == "value")
            for name, kind in (
                *(("iteration", _i), ("scenario", _s), ("frozen", _b), ("best", _i), ("stop", _b)),
                *(("value", _f), ("rubric_sha", _s), ("parent_sha", _s)),
            )
        ]
    ),
    ("iteration", "scenario"),
)
"""Decisions; of a stub `best` is the iteration that it names."""
EXPERTS = small_contract(
    "rubric_experts",
    {"scenario": _s, "dialogue_id": _s, "metric_id": _s, "value": _f},
    ("scenario", "dialogue_id", "metric_id"),
    may_be_empty=True,
)
"""Mean of what experts gave the anchors that judges score."""


@dataclass(frozen=True)
class RubricPlan:
    """What a set was to hold.

    Attributes:
        models: who is evaluated.
        partners: who speaks for other agents, by name; `*`: for all others.
        judges: who scores.
        repeats: how often.
        samples: dialogues per task and model.
        semantics: whether empty turns are turns like others (`compat`).
        candidates: the agent that is evaluated, by scenario.
        limits: turns after which a dialogue is cut, by scenario.
        checks: names of the checks of each scenario.
        iterations: the last iteration that there can be.
        min_delta: gain from which a version takes the place of the best.
        missing: what becomes of a dialogue with a metric without a score.
    """

    models: Sequence[str]
    partners: Mapping[str, str]
    judges: Sequence[str]
    repeats: int
    samples: int
    semantics: str
    candidates: Mapping[str, str]
    limits: Mapping[str, int]
    checks: Mapping[str, Sequence[str]]
    iterations: int
    min_delta: float
    missing: str


def iterated(name: str, tables: Sequence[pa.Table]) -> pa.Table:
    """The tables of all iterations as one.

    Args:
        name: what they are called, see `ITERATED`.
        tables: by iteration, from 0.
    """
    parts = [
        table.add_column(0, "iteration", pa.array([number] * table.num_rows, pa.int32()))
        for number, table in enumerate(tables)
    ]
    return pa.concat_tables([ITERATED[name].schema.empty_table(), *parts], promote_options="default")


def metric_table(documents: Sequence[Mapping[str, Any]]) -> pa.Table:
    """METRICS of documents of rubrics by scenario, one an iteration; stubs have none."""
    rows = []
    for number, document in enumerate(documents):
        for scenario, rubric in document.items():
            if "metrics" not in rubric:
                continue
            share = {dim["id"]: dim["weight"] for dim in rubric["dimensions"]}
            for metric in rubric["metrics"]:
                rows.append(
                    {"iteration": number, "scenario": scenario, "metric_id": metric["id"]}
                    | {"dim": metric["dim"], "dim_weight": share[metric["dim"]]}
                    | {"weight": share[metric["dim"]] * metric["weight"]}
                    | {"rubric_sha": rubric["sha"], "parent_sha": rubric["parent_sha"] or ""}
                    | {"low": rubric["scale"][0], "high": rubric["scale"][1]}
                    | {"whole": rubric["score_type"] == "int"}
                )
    return pa.Table.from_pylist(rows, schema=METRICS.schema)


def task_table(documents: Sequence[Mapping[str, Any]]) -> pa.Table:
    """TASKS of documents of tasks by scenario, one an iteration; stubs have none."""
    rows = [
        {
            "iteration": number,
            "scenario": scenario,
            "task_id": task["task_id"],
            "held_out": task["held_out"],
        }
        for number, document in enumerate(documents)
        for scenario, tasks in document.items()
        if isinstance(tasks, list)
        for task in tasks
    ]
    return pa.Table.from_pylist(rows, schema=TASKS.schema)


def decision_table(documents: Sequence[Mapping[str, Any]]) -> pa.Table:
    """DECISIONS of documents by scenario, one an iteration."""
    rows = []
    for number, document in enumerate(documents):
        for scenario, one in document.items():
            frozen = one["status"] == "frozen"
            rows.append(
                {"iteration": number, "scenario": scenario, "frozen": frozen}
                | {"best": one["same_as"] if frozen else one["best"], "stop": frozen or one["stop"]}
                | {"value": None if frozen else one["objective"]["value"]}
                | {name: "" if frozen else one[name] or "" for name in ("rubric_sha", "parent_sha")}
            )
    return pa.Table.from_pylist(rows, schema=DECISIONS.schema)


def expert_table(rows: Sequence[tuple[str, str, str, float]]) -> pa.Table:
    """EXPERTS of single scores: scenario, dialogue, metric and score."""
    given: dict[tuple[str, str, str], list[float]] = {}
    for scenario, dialogue, metric, score in rows:
        given.setdefault((scenario, dialogue, metric), []).append(score)
    made = [
        dict(zip(EXPERTS.key, place, strict=True)) | {"value": sum(sorted(scores)) / len(scores)}
        for place, scores in sorted(given.items())
    ]
    return pa.Table.from_pylist(made, schema=EXPERTS.schema)
