"""Small tables that keep every promise, for tests that break one at a time."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from magister.contracts.gate import run_gate
from magister.contracts.items_suite import ItemRules, items_suite
from magister.contracts.schemas import BANDS, ITEMS, POOL, REJECTED, TRAJECTORIES
from magister.contracts.teaching_suite import LeaguePlan, teaching_suite
from magister.items import key_balance
from magister.items._text import fold_option
from magister.teaching.metrics import teaching_metrics

Rows = list[dict[str, Any]]
RULES = ItemRules(fold_option, key_balance)
DATASETS = ["demo", "sums"]
PLAN = LeaguePlan("main", ["ann", "bob"], ["tom", "una"], ["sham"], 2, ["sums"])


def item_rows() -> Rows:
    """Eight items of two data sets; keys go round the places."""
    rows = []
    for n in range(8):
        key = "ABCD"[n % 4]
        options = [str(10 * n + k) for k in range(4)]
        rows.append(
            {
                "item_id": f"{DATASETS[n // 4]}-{n}", "dataset": DATASETS[n // 4], "domain": "maths",
                "cluster_id": f"c{n}", "question": f"Question {n}?", "passage": None, "options": options,
                "origins": ["native"] * 4, "key": key, "gold": options[n % 4], "multi": False,
                "rewrite_status": "native", "needs_options": False, "options_in_question": False, "review": None,
            }
        )  # fmt: skip
    return rows


def item_tables() -> dict[str, pa.Table]:
    """All tables of the items module; `sums-9` was rejected while items were built, row 7 by the data gate."""
    items = item_rows()
    shared = ("item_id", "dataset", "domain", "cluster_id", "question", "gold", "passage", "options", "key")
    pool = [
        {name: row[name] for name in shared} | {"source_row": n, "flags": []} for n, row in enumerate(items)
    ]
    pool.append(
        pool[-1] | {"item_id": "sums-9", "cluster_id": "c9", "source_row": 9, "options": None, "key": None}
    )
    reject = {"dataset": "sums", "detail": "", "raw": "{}"}
    bands = [
        {"item_id": row["item_id"], "band": 3, "pass_pattern": "01", "n_answered": 2, "unsolved": False}
        | {"monotone": True, "ladder_mean": 0.5}
        for row in items
    ]
    return {
        "pool": pa.Table.from_pylist(pool, schema=POOL.schema),
        "pool_rejected": table(REJECTED, [reject | {"source_row": 77, "reason": "missing_answer"}]),
        "items": table(ITEMS, items),
        "rejected": table(REJECTED, [reject | {"source_row": 9, "reason": "too_few_distractors"}]),
        "bands": table(BANDS, bands),
    }


def table(contract: Any, rows: Rows) -> pa.Table:
    """Rows as a table of a contract; what a row does not name is null."""
    return pa.Table.from_pylist(rows, schema=contract.schema)


def trajectory_rows() -> Rows:
    """Every row of the plan: students start wrong on even items and follow every guide of `tom`."""
    rows = []
    items = [row for row in item_rows() if row["dataset"] in PLAN.datasets]
    for arm, teacher in PLAN.exchanges:
        for student in PLAN.students:
            for n, item in enumerate(items):
                wrong = "D" if item["key"] == "A" else "A"
                for t in range(PLAN.rounds + 1):
                    taught = arm == "taught" and t > 0
                    right = n % 2 == 1 or (t > 0 and teacher == "tom")
                    rows.append(
                        {
                            "league": PLAN.league, "arm": arm, "teacher": teacher, "student": student,
                            "item_id": item["item_id"], "round": t, "dataset": item["dataset"],
                            "domain": item["domain"], "cluster_id": item["cluster_id"], "n_options": 4, "band": 3,
                            "status": "ok", "answer": item["key"] if right else wrong, "correct": right,
                            "request_id": f"{student}-{n}-{t}" + (teacher if t else ""),
                            "verdict": ("correct" if n % 2 else "wrong") if taught else "none",
                            "guide_status": "ok" if t else "not_asked", "leak": "none",
                            "guide_request_id": f"g-{teacher}-{student}-{n}-{t}" if taught else None,
                        }
                    )  # fmt: skip
    return rows


def zero_shot() -> pa.Table:
    """Own answers of both teachers: every other one is right."""
    facts = ("league", "item_id", "dataset", "domain", "cluster_id", "band", "n_options")
    first = [
        row
        for row in trajectory_rows()
        if row["round"] == 0 and row["student"] == "ann" and row["arm"] == "taught"
    ]
    rows = [
        {name: row[name] for name in facts}
        | {"teacher": row["teacher"], "status": "ok", "correct": row["item_id"][-1] in "46"}
        for row in first
    ]
    return pa.Table.from_pylist(rows)


def teaching_tables() -> dict[str, pa.Table]:
    """Items, trajectories and the metrics that follow from them."""
    trajectories = table(TRAJECTORIES, trajectory_rows())
    metrics = teaching_metrics(trajectories, zero_shot(), policy="wrong", resamples=100, level=0.95, seed=0)
    return {"items": table(ITEMS, item_rows()), "trajectories": trajectories, "metrics": metrics}


def items_gate(tables: dict[str, pa.Table], datasets: list[str] = DATASETS) -> dict[str, Any]:
    """Run the gate of the items module."""
    return run_gate("items", *items_suite(**tables, datasets=datasets, rules=RULES))


def teaching_gate(tables: dict[str, pa.Table], plan: LeaguePlan = PLAN, only: str = "") -> dict[str, Any]:
    """Run the gate of the teaching module; of the tables named in `only` alone, to save time."""
    held, expectations = teaching_suite(**tables, plan=plan)
    held = {name: table for name, table in held.items() if not only or name in only.split()}
    return run_gate("teaching", held, [check for check in expectations if check.table in held])


def failures(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The expectations that failed."""
    return [entry for entry in report["expectations"] if not entry["success"]]


def failed_names(report: dict[str, Any]) -> set[str]:
    """What failed, as `table:check` or `table:type:columns`."""
    return {
        f"{entry['table']}:{entry['check']}"
        if entry["check"]
        else f"{entry['table']}:{entry['expectation'].removeprefix('expect_')}:{','.join(entry['columns'])}"
        for entry in failures(report)
    }


def entry_of(report: dict[str, Any], name: str) -> dict[str, Any]:
    """The failed expectation of that name (see `failed_names`)."""
    (found,) = [e for e in failures(report) if failed_names({"expectations": [e]}) == {name}]
    return found


def describe_key(key: dict[str, Any]) -> str:
    """A key as text, whatever the order of its columns."""
    return ", ".join(f"{name}={key[name]}" for name in sorted(key))
