"""The gate of the teaching module: every broken promise fails and names its row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from gate_tables import (
    PLAN,
    describe_key,
    entry_of,
    failed_names,
    failures,
    teaching_expected,
    teaching_gate,
    teaching_tables,
    trajectory_rows,
    zero_shot,
)

from magister.contracts.gate import RowCheck, describe_failures, run_gate
from magister.contracts.schemas import TRAJECTORIES
from magister.teaching.metrics import teaching_metrics
from magister.teaching.standings import standings

Rows = list[dict[str, Any]]
Where = dict[str, Any]
TABLES = teaching_tables()
ROW = {"arm": "taught", "teacher": "tom", "student": "ann", "item_id": "sums-4", "round": 1}
BLIND = ROW | {"round": 0}
CONTROL = ROW | {"arm": "sham", "teacher": "sham"}
OVERALL = {"arm": "taught", "teacher": "tom", "slice_kind": "overall"}


def edited(name: str, change: Callable[[Rows], Any]) -> dict[str, pa.Table]:
    """The good tables with rows of one of them changed in place."""
    rows = TABLES[name].to_pylist()
    change(rows)
    return TABLES | {name: pa.Table.from_pylist(rows, schema=TABLES[name].schema)}


def setting(name: str, where: Where, **values: Any) -> dict[str, pa.Table]:
    """Set cells of the one row that matches."""

    def change(rows: Rows) -> None:
        (row,) = [row for row in rows if all(row[key] == value for key, value in where.items())]
        row.update(values)

    return edited(name, change)


# What is said twice no longer agrees when one of the two is changed.
TOLD_TWICE = {
    "trajectories:replies_as_given",
    "trajectories:guides_as_given",
    "metrics:statuses_counted",
    "metrics:row_of_league",
    "metrics:value_recounted",
    "metrics:sizes_recounted",
    "standings:as_measured",
}


def broken(tables: dict[str, pa.Table]) -> dict[str, Rows]:
    """Keys of the rows that break each check of a table on its own, without the engine."""
    held, expectations = teaching_expected(tables)
    found = {}
    for check in expectations:
        if isinstance(check, RowCheck) and not check.passed.all():
            contract, table = held[check.table]
            rows = table.filter(pa.array(~check.passed)).select(list(contract.key)).to_pylist()
            found[f"{check.table}:{check.name}"] = rows
    return {name: rows for name, rows in found.items() if name not in TOLD_TWICE}


def short(key: Where) -> Where:
    return {name: key[name] for name in ROW if name in key}


def test_good_tables_pass() -> None:
    report = teaching_gate(TABLES)
    assert failures(report) == []
    assert {entry["table"] for entry in report["expectations"]} == {
        "blind_answers", "cells", "comparisons", "guides", "guides_asked", "headline", "items",
        "metric_rows", "metrics",
        "revisions", "revisions_asked", "standings", "trajectories", "zero_shot",
    }  # fmt: skip


FAILED = {"status": "error", "answer": None, "correct": None}
TRAJECTORY_CASES: list[tuple[Where, Where, set[str]]] = [
    (ROW, {"dataset": "demo"}, {"item_facts_kept"}),
    (ROW, {"n_options": 5}, {"item_facts_kept"}),
    (ROW, {"cluster_id": "c0"}, {"item_facts_kept"}),
    (ROW, {"league": "other"}, {"league_is_its_own"}),
    (ROW, {"correct": None}, {"correct_null_on_error"}),
    (ROW, FAILED | {"correct": False}, {"correct_null_on_error"}),
    (ROW, {"status": "no_answer", "correct": False}, {"answer_where_ok"}),
    (ROW, {"answer": None, "correct": False}, {"answer_where_ok"}),
    (ROW, {"answer": "E", "correct": False}, {"answer_within_options"}),
    (ROW, {"answer": "a", "correct": False}, {"answer_within_options"}),
    (ROW, {"answer": "", "correct": False}, {"answer_within_options"}),
    (ROW, {"answer": "CB", "correct": False}, {"answer_within_options"}),
    (ROW, {"correct": False}, {"correct_agrees_with_key"}),
    (ROW, {"answer": "B"}, {"correct_agrees_with_key"}),
    (ROW, {"status": "refusal", "answer": None, "correct": True}, {"correct_agrees_with_key"}),
    (BLIND, {"verdict": "wrong"}, {"blind_rows_unguided"}),
    (BLIND, {"guide_status": "ok"}, {"blind_rows_unguided"}),
    (BLIND, {"leak": "gold"}, {"blind_rows_unguided"}),
    (BLIND, {"guide_request_id": "g"}, {"blind_rows_unguided"}),
    (ROW, {"guide_status": "not_asked"}, {"guide_status_known"}),
    (ROW, FAILED | {"guide_status": "error"}, {"failed_guide_is_silent"}),
    (ROW, {"guide_status": "context_exceeded"}, {"failed_guide_is_silent"}),
    (ROW, {"guide_status": "error", "verdict": "none"}, {"failed_guide_fails_reply"}),
    (CONTROL, {"verdict": "wrong"}, {"control_arms_unjudged"}),
    (CONTROL, {"guide_request_id": "g"}, {"control_arms_unjudged"}),
    (ROW, {"guide_request_id": None}, {"guides_traced"}),
]


@pytest.mark.parametrize(("where", "values", "names"), TRAJECTORY_CASES)
def test_a_broken_trajectory_row_breaks_the_check_that_is_made_for_it(
    where: Where, values: Where, names: set[str]
) -> None:
    found = broken(setting("trajectories", where, **values))
    assert set(found) == {f"trajectories:{name}" for name in names}
    assert all([short(key) for key in keys] == [where] for keys in found.values())


@pytest.mark.parametrize(
    "values", [FAILED | {"guide_status": "error", "verdict": "none"}, {"verdict": "none"}]
)
def test_failures_and_missing_verdicts_are_no_breach(values: Where) -> None:
    assert broken(setting("trajectories", ROW, **values)) == {}


@pytest.mark.parametrize(
    "values",
    [
        {"answer": "B"},
        {"request_id": "another"},
        {"status": "no_answer", "answer": None},
        {"status": "error", "answer": None, "correct": None},
        {"request_id": None},
    ],
)
def test_blind_answers_that_differ_between_teachers_are_named(values: Where) -> None:
    found = broken(setting("trajectories", BLIND, **values))
    assert set(found) == {"trajectories:blind_answers_shared"}
    keys = found["trajectories:blind_answers_shared"]
    assert {key["teacher"] for key in keys} == {"tom", "una", "sham"}
    assert {(key["student"], key["item_id"], key["round"]) for key in keys} == {("ann", "sums-4", 0)}


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"item_id": "nowhere"}, "trajectories:item_in_league"),
        ({"item_id": "demo-0"}, "trajectories:item_in_league"),
        ({"student": "eve"}, "trajectories:student_in_league"),
        ({"teacher": "eve"}, "trajectories:exchange_in_league"),
        ({"arm": "sham"}, "trajectories:exchange_in_league"),
        ({"round": 3}, "trajectories:round_in_league"),
    ],
)
def test_a_row_outside_the_plan_is_named_and_so_is_the_cell_that_lacks_it(values: Where, name: str) -> None:
    report = teaching_gate(setting("trajectories", ROW, **values), only="trajectories cells")
    assert short(entry_of(report, name)["first_failed_keys"][0]) == ROW | values
    entry = entry_of(report, "cells:column_values_to_be_between:n_rounds")
    assert entry["first_failed_keys"] == [{k: v for k, v in ROW.items() if k != "round"}]
    assert entry["first_failed_values"] == [{"n_rounds": 2}]


def test_a_missing_row_fails_the_row_count_and_its_cell() -> None:
    report = teaching_gate(edited("trajectories", lambda rows: rows.pop(4)))
    assert failed_names(report) - TOLD_TWICE == {
        "trajectories:table_row_count_to_equal:",
        "cells:column_values_to_be_between:n_rounds",
    }
    message = describe_failures(report)
    assert "expected 120 rows: 5 exchanges x 2 students x 4 items x 3 rounds; found 119" in message
    assert "arm=taught, teacher=tom, student=ann, item_id=sums-5" in message


def test_a_repeated_row_fails_the_key_the_count_and_its_cell() -> None:
    report = teaching_gate(edited("trajectories", lambda rows: rows.append(rows[4])))
    assert failed_names(report) - TOLD_TWICE == {
        "trajectories:compound_columns_to_be_unique:" + ",".join(TRAJECTORIES.key),
        "trajectories:table_row_count_to_equal:",
        "cells:column_values_to_be_between:n_rounds",
    }


def test_a_student_that_never_answered_is_seen_though_no_row_names_it() -> None:
    report = teaching_gate(TABLES, replace(PLAN, students=[*PLAN.students, "eve"]), "cells")
    keys = entry_of(report, "cells:column_values_to_be_between:n_rounds")["first_failed_keys"]
    assert {key["student"] for key in keys} == {"eve"}


def test_a_league_without_items_fails() -> None:
    report = teaching_gate(TABLES, replace(PLAN, datasets=["nothing"]), "items cells")
    assert "items:table_row_count_to_be_between:" in failed_names(report)


@pytest.mark.parametrize("name", ["items", "trajectories", "metrics"])
def test_an_empty_table_fails(name: str) -> None:
    report = teaching_gate(TABLES | {name: TABLES[name].schema.empty_table()}, only=name)
    assert f"{name}:table_row_count_to_be_between:" in failed_names(report)


CA = OVERALL | {"metric": "CA", "round": 2}
P = OVERALL | {"metric": "p", "round": 2}
P0 = OVERALL | {"metric": "p", "round": 0}
AA = OVERALL | {"metric": "AA"}
RA = OVERALL | {"metric": "RA"}
BAND = OVERALL | {"slice_kind": "band", "metric": "p", "round": 2}
NO_INTERVAL = {"status": "no_interval", "reason": "why", "ci_low": None, "ci_high": None}
METRIC_CASES: list[tuple[Where, Where, set[str]]] = [
    (BAND, {"league": "other"}, {"league_is_its_own"}),
    (BAND, {"metric": "vibes"}, {"metric_known", "statuses_add_up"}),
    (P, {"value": 1.25, "ci_high": 1.5, "se": 0.1}, {"value_in_range"}),
    (P, {"ci_low": -0.5}, {"value_in_range"}),
    (CA, {"value": -1.5, "ci_low": -2.0}, {"value_in_range"}),
    (RA, {"value": -1.5}, {"value_in_range"}),
    (P0, {"ci_low": 0.9, "ci_high": 0.1}, {"interval_ordered"}),
    (P0, {"ci_low": 0.6, "ci_high": 0.9}, {"interval_ordered"}),
    (P0, {"ci_low": None}, {"interval_where_ok"}),
    (P0, {"status": "no_interval", "reason": "why"}, {"interval_where_ok", "se_where_ok"}),
    (P0, NO_INTERVAL | {"status": "not_computable", "se": None}, {"value_unless_not_computable"}),
    (P0, {"value": None, "ci_low": 0.1, "ci_high": 0.2}, {"value_unless_not_computable", "interval_ordered"}),
    (P0, {"se": None}, {"se_positive", "se_where_ok"}),
    (P0, {"se": 0.0}, {"se_positive"}),
    (P0, NO_INTERVAL | {"reason": "", "se": None}, {"reason_unless_ok"}),
    (P0, NO_INTERVAL, {"se_where_ok"}),
    (P0, {"ci_low": 0.5, "ci_high": 0.5}, {"interval_has_width"}),
    (P, {"n_ok": 7}, {"statuses_add_up"}),
    (CA, {"n_error": 1}, {"statuses_add_up"}),
    (RA, {"n_ok": 8}, {"statuses_add_up"}),
    (P, {"n_items": 99}, {"counts_fit"}),
    (P, {"n_students": 3}, {"counts_fit"}),
    (P, {"n_clusters": 5}, {"counts_fit"}),
    (P, {"n_cells": 7, "n_ok": 7}, {"overall_is_complete"}),
    (AA, {"n_cells": 3, "n_ok": 3}, {"overall_is_complete"}),
    (BAND, {"round": 3}, {"round_in_league"}),
    (BAND, {"teacher": "eve"}, {"exchange_in_league"}),
]  # fmt: skip


@pytest.mark.parametrize(("where", "values", "names"), METRIC_CASES)
def test_a_broken_metric_breaks_the_check_that_is_made_for_it(
    where: Where, values: Where, names: set[str]
) -> None:
    found = broken(setting("metrics", where, **values))
    assert set(found) == {f"metrics:{name}" for name in names}
    for keys in found.values():
        assert len(keys) == 1
        assert keys[0]["metric"] == values.get("metric", where["metric"])


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"value": float("nan")}, "metrics:value_finite"),
        ({"se": float("inf")}, "metrics:se_finite"),
        ({"policy": "lenient"}, "metrics:column_values_to_be_in_set:policy"),
        ({"status": "fine"}, "metrics:column_values_to_be_in_set:status"),
        ({"n_dropped": -1}, "metrics:column_values_to_be_between:n_dropped"),
        ({"level": 1.5}, "metrics:column_values_to_be_between:level"),
    ],
)
def test_a_metric_outside_its_contract_is_named(values: Where, name: str) -> None:
    entry = entry_of(teaching_gate(setting("metrics", BAND, **values), only="metrics"), name)
    assert describe_key(entry["first_failed_keys"][0]) == describe_key(
        {"league": "main"} | BAND | {"slice": "3"}
    )


@pytest.mark.parametrize("gone", [CA, P0, AA])
def test_a_headline_that_is_missing_is_named(gone: Where) -> None:
    def drop(rows: Rows) -> None:
        rows[:] = [row for row in rows if any(row[key] != value for key, value in gone.items())]

    entry = entry_of(
        teaching_gate(edited("metrics", drop), only="headline"), "headline:column_values_to_be_between:n_rows"
    )
    key = {name: gone.get(name, 0) for name in ("arm", "teacher", "metric", "round")}
    assert entry["first_failed_keys"] == [key]


def test_without_zero_shot_answers_nothing_but_these_and_their_standing_is_missed() -> None:
    metrics = teaching_metrics(TABLES["trajectories"], None, policy="drop", resamples=100, level=0.9, seed=1)
    report = teaching_gate(TABLES | {"metrics": metrics, "zero_shot": TABLES["zero_shot"].slice(0, 0)})
    assert {name.split(":")[0] for name in failed_names(report)} == {"zero_shot", "standings"}


@pytest.mark.parametrize("policy", ["wrong", "drop"])
def test_metrics_of_ragged_leagues_pass(policy: Any) -> None:
    """Errors, silence and several verdicts, as metrics really come out, are no breach of a promise."""
    rng = np.random.default_rng(5)
    rows = trajectory_rows()
    blind: dict[tuple[str, str], Where] = {}
    for row in rows:
        change: Where = {}
        draw = rng.random()
        if draw < 0.1:
            change = dict(FAILED)
        elif draw < 0.3:
            change = {"status": "no_answer", "answer": None, "correct": False}
        if row["round"] == 0:
            change = blind.setdefault((row["student"], row["item_id"]), change)
        elif row["arm"] == "taught" and rng.random() < 0.3:
            change = change | {"verdict": "none"}
        row.update(change)
    trajectories = pa.Table.from_pylist(rows, schema=TRAJECTORIES.schema)
    choices: dict[str, Any] = {"policy": policy, "resamples": 200, "level": 0.6, "seed": 2}
    metrics = teaching_metrics(trajectories, zero_shot(), **choices)
    ranked, compared = standings(trajectories, zero_shot(), **choices)
    found = {"trajectories": trajectories, "metrics": metrics, "standings": ranked, "comparisons": compared}
    report = teaching_gate(TABLES | found)
    assert failed_names(report) == {"trajectories:replies_as_given", "trajectories:guides_as_given"}


def test_every_check_reaches_the_report() -> None:
    """One run over rows that are broken in every way: the engine reports what the checks found, with the key."""
    rows = TABLES["trajectories"].to_pylist()
    taught = iter([row for row in rows if row["arm"] == "taught" and row["round"] > 0])
    blind = iter([row for row in rows if row["teacher"] == "una" and row["round"] == 0])
    control = iter([row for row in rows if row["teacher"] == "sham" and row["round"] == 2])
    for where, values, _ in TRAJECTORY_CASES:
        source = {"taught": taught if where["round"] else blind, "sham": control}[where["arm"]]
        next(source).update(values)
    next(taught).update(round=9)
    tables = TABLES | {"trajectories": pa.Table.from_pylist(rows, schema=TRAJECTORIES.schema)}
    found = {name: keys for name, keys in broken(tables).items() if name.startswith("trajectories")}
    assert {f"trajectories:{name}" for _, _, names in TRAJECTORY_CASES for name in names} <= set(found)
    held, expectations = teaching_expected(tables)
    report = run_gate("teaching", held, expectations)
    for name, keys in found.items():
        entry = entry_of(report, name)
        assert entry["n_failed"] == len(keys)
        ordered = sorted(keys, key=lambda key: tuple(key.values()))
        assert entry["first_failed_keys"] == ordered[:5]


@pytest.mark.parametrize("seed", range(2))
def test_the_report_does_not_depend_on_the_order_of_rows(seed: int) -> None:
    tables = setting("trajectories", ROW, answer="E", correct=False)
    rng = np.random.default_rng(seed)
    mixed = {name: table.take(pa.array(rng.permutation(table.num_rows))) for name, table in tables.items()}
    assert teaching_gate(mixed) == teaching_gate(tables)
