"""Small tables that keep every promise, for tests that break one at a time."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from magister.answers import CHOICE_RULES, VALUE_RULES, VERDICT_RULES, canonical_value
from magister.contracts.ablations_suite import AblationPlan, LeagueAblations, ablations_suite
from magister.contracts.boards_suite import BoardRow, boards_suite
from magister.contracts.external_suite import external_suite
from magister.contracts.gate import Suite, run_gate
from magister.contracts.items_suite import ItemRules, ItemsPlan, ItemTables, VariantPlan, items_suite
from magister.contracts.schemas import (
    ANSWERS,
    ASKED,
    BANDS,
    DISTRACTORS,
    FREE_ANSWERS,
    GUIDES,
    ITEMS,
    METRICS,
    POOL,
    REJECTED,
    REVISIONS,
    TEACHER_ARMS,
    TRAJECTORIES,
    VARIANT_REPORT,
)
from magister.contracts.teaching_suite import LeaguePlan, LeagueTables, ReadingRules, teaching_suite
from magister.items import MAX_CHARS, key_balance
from magister.items._text import fold_option
from magister.stats import ModelBootstrap
from magister.teaching._cube import FACTS, FLAGS
from magister.teaching.ablations import AblationTables, Variant, ablate
from magister.teaching.board import teaching_board
from magister.teaching.external import match_names, read_boards
from magister.teaching.meta_evaluation import LeagueScores, meta_evaluation
from magister.teaching.metrics import teaching_metrics
from magister.teaching.standings import standings

Rows = list[dict[str, Any]]
READING = ReadingRules(*([rule.id for rule in rules] for rules in (CHOICE_RULES, VALUE_RULES, VERDICT_RULES)))
RULES = ItemRules(fold_option, canonical_value, key_balance, READING, MAX_CHARS)
DATASETS = ["demo", "sums"]
VARIANTS = {"moved": VariantPlan(order=1), "other": VariantPlan(1, 1, "pen", "critic")}
ITEMS_PLAN = ItemsPlan(DATASETS, ["weak"], 3, ["small", "big"], (0.2, 0.4, 0.6, 0.8), VARIANTS)
PLAN = LeaguePlan("main", ["ann", "bob"], ["tom", "una"], ["sham", "verdict_only"], 2, ["sums"])
EXTERNAL_PLAN = replace(PLAN, teachers=[f"t{n}" for n in range(1, 8)])
SPAN = {"span_start": 8, "span_end": 9}


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
        "free_answers": table(FREE_ANSWERS, free_answer_rows()),
        "distractors": table(DISTRACTORS, distractor_rows()),
        "ladder_answers": table(ANSWERS, ladder_rows(items)),
        **variant_tables(items),
    }


def variant_tables(items: Rows) -> dict[str, pa.Table]:
    """Two variants: `moved` reverses every second list of options, `other` also rewords its question."""
    moved, other, report = [], [], []
    for n, row in enumerate(items):
        turned = row | {"options": row["options"][::-1], "key": "DCBA"["ABCD".index(row["key"])]}
        moved.append(turned if n % 2 else row)
        other.append(moved[-1] | ({"question": f"Say it: {row['question']}"} if n % 2 else {}))
        note = {"item_id": row["item_id"], "order_changed": n % 2 == 1}
        report.append(note | {"variant": "moved", "stem_status": "as_built", "options_status": "as_built"})
        stem = {"stem_status": "paraphrased", "review": "{}"} if n % 2 else {"stem_status": "fallback:empty"}
        report.append(note | {"variant": "other", "options_status": "native"} | stem)
    return {
        "variants/moved": table(ITEMS, moved),
        "variants/other": table(ITEMS, other),
        "variant_report": table(VARIANT_REPORT, report),
    }


def free_answer_rows() -> Rows:
    """Three draws of one model for the one open question: two values and none."""
    rows = [
        {
            "model": "weak", "item_id": "sums-9", "sample": n, "request_id": f"f{n}", "status": "ok",
            "rule": "answer_colon", "text": f"Answer: {7 + n}", "answer": str(7 + n), **SPAN,
        }
        for n in range(2)
    ]  # fmt: skip
    silent = {"status": "no_answer", "rule": "empty", "text": "", "request_id": "f2", "sample": 2}
    return [*rows, {"model": "weak", "item_id": "sums-9"} | silent]


def distractor_rows() -> Rows:
    """What was harvested from them."""
    return [
        {
            "item_id": "sums-9", "rank": n + 1, "text": str(7 + n), "canonical": f"n:{7 + n}", "n_models": 1,
            "n_answers": 1, "request_ids": [f"f{n}"],
        }
        for n in range(2)
    ]  # fmt: skip


def said(answer: str) -> dict[str, Any]:
    """A reply that commits to an option."""
    return {"status": "ok", "rule": "answer_colon", "text": f"Answer: {answer}", "answer": answer, **SPAN}


def ladder_rows(items: Rows) -> Rows:
    """The weak model of the ladder misses every item, the strong one none."""
    return [
        {"model": model, "item_id": item["item_id"], "request_id": f"{model}-{item['item_id']}"}
        | said(item["key"] if model == "big" else wrong_key(item))
        | {"correct": model == "big"}
        for model in ITEMS_PLAN.ladder
        for item in items
    ]


def wrong_key(item: dict[str, Any]) -> str:
    return "D" if item["key"] == "A" else "A"


def table(contract: Any, rows: Rows) -> pa.Table:
    """Rows as a table of a contract; what a row does not name is null."""
    return pa.Table.from_pylist(rows, schema=contract.schema)


def trajectory_rows() -> Rows:
    """Every row of the plan: students start wrong on even items and follow every guide of `tom`.

    `una` has nothing to say about the last item, so that nobody is asked to revise.
    """
    rows = []
    items = [row for row in item_rows() if row["dataset"] in PLAN.datasets]
    for arm, teacher in PLAN.exchanges:
        for student in PLAN.students:
            for n, item in enumerate(items):
                for t in range(PLAN.rounds + 1):
                    guided = arm in TEACHER_ARMS and t > 0
                    mute = guided and teacher == "una" and n == 3
                    right = n % 2 == 1 or (t > 0 and teacher == "tom")
                    rows.append(
                        {
                            "league": PLAN.league, "arm": arm, "teacher": teacher, "student": student,
                            "item_id": item["item_id"], "round": t, "dataset": item["dataset"],
                            "domain": item["domain"], "cluster_id": item["cluster_id"], "n_options": 4, "band": 3,
                            **{name: item[name] for name in FLAGS},
                            "status": "ok", "answer": item["key"] if right else wrong_key(item), "correct": right,
                            "request_id": None if mute else f"{student}-{n}-{t}" + (f"{arm}-{teacher}" if t else ""),
                            "verdict": ("correct" if n % 2 else "wrong") if guided and not mute else "none",
                            "guide_status": ("no_answer" if mute else "ok") if t else "not_asked",
                            "leak": "gold" if guided and arm == "taught" and n == 2 else "none",
                            "guide_request_id": f"g-{arm}-{teacher}-{student}-{n}-{t}" if guided else None,
                        }
                    )  # fmt: skip
    return rows


PLACE = ("arm", "teacher", "student", "item_id", "round")


def guide_row(row: dict[str, Any]) -> dict[str, Any]:
    """The guide that a row of the trajectories goes back to."""
    guide = {name: row[name] for name in (*PLACE, "verdict", "leak")} | {"status": row["guide_status"]}
    guide |= {"request_id": row["guide_request_id"], "guidance": "Add once more."}
    if row["arm"] not in TEACHER_ARMS:
        return guide | {"verdict_rule": "control", "text": ""}
    if row["guide_status"] == "no_answer":
        return guide | {"verdict_rule": "empty", "text": "", "guidance": ""}
    if row["leak"] == "gold":
        guide |= {"guidance": "It is 62.", "leak_spans": '[[6, 8, "gold"]]'}
    if row["item_id"] == "sums-4":
        guide |= {"scrubbed": '[{"round": 0, "start": 8, "end": 9, "kind": "letter"}]'}
    text = f"Verdict: {guide['verdict']}\nGuidance: {guide['guidance']}"
    if row["arm"] == "verdict_only":
        guide |= {"guidance": ""}
    return guide | {"verdict_rule": "label", "text": text}


def league_tables() -> dict[str, pa.Table]:
    """All that a league's trajectories were joined from."""
    rows = trajectory_rows()
    later = [row for row in rows if row["round"] > 0]
    guides = [guide_row(row) for row in later]
    marks = {"correct", "request_id"}
    blind = {
        (row["student"], row["item_id"]): {"model": row["student"], "item_id": row["item_id"]}
        | {name: row[name] for name in marks}
        | said(row["answer"])
        for row in rows
        if row["round"] == 0
    }
    revisions = [
        {name: row[name] for name in (*PLACE, *marks)}
        | said(row["answer"])
        | ({"asked": True} if row["request_id"] else {"asked": False, "rule": "kept:no_answer"})
        for row in later
    ]
    asked = [{name: row[name] for name in (*PLACE, "request_id")} for row in later]
    return {
        "blind_answers": table(ANSWERS, list(blind.values())),
        "zero_shot": table(ANSWERS, zero_shot_rows()),
        "guides_asked": table(
            ASKED,
            [{name: row.get(name) for name in ASKED.schema.names} for row in guides if row["request_id"]],
        ),
        "guides": table(GUIDES, guides),
        "revisions_asked": table(ASKED, asked),
        "revisions": table(REVISIONS, revisions),
    }


def in_reverse(row: dict[str, Any]) -> dict[str, Any]:
    """An item with its options the other way round, origins and key with them."""
    turned = {name: row[name][::-1] for name in ("options", "origins")}
    return row | turned | {"key": "ABCD"[3 - "ABCD".index(row["key"])]}


def zero_shot_rows() -> Rows:
    """Own answers of both teachers: every other one is right."""
    items = [row for row in item_rows() if row["dataset"] in PLAN.datasets]
    return [
        {"model": name, "item_id": item["item_id"], "request_id": f"z-{name}-{n}", "correct": n % 2 == 0}
        | said(item["key"] if n % 2 == 0 else wrong_key(item))
        for name in PLAN.teachers
        for n, item in enumerate(items)
    ]


def zero_shot() -> pa.Table:
    """Own answers of both teachers: every other one is right."""
    facts = ("league", "item_id", *FACTS)
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
    """All tables of a league, and the metrics that follow from its trajectories."""
    trajectories = table(TRAJECTORIES, trajectory_rows())
    metrics = teaching_metrics(trajectories, zero_shot(), policy="wrong", resamples=100, level=0.95, seed=0)
    ranked, compared = standings(trajectories, zero_shot(), policy="wrong", resamples=100, level=0.95, seed=0)
    bands = [row for row in item_tables()["bands"].to_pylist() if row["item_id"].startswith("sums")]
    return {
        "items": table(ITEMS, item_rows()),
        "built": table(ITEMS, [in_reverse(row) for row in item_rows()]),
        "bands": table(BANDS, bands),
        **league_tables(),
        "trajectories": trajectories,
        "metrics": metrics,
        "standings": ranked,
        "comparisons": compared,
    }


ABLATION_PLAN = AblationPlan(
    "main",
    [f"t{n}" for n in range(5)],
    ["ann", "bob", "cid"],
    2,
    [("option_order", "seed 1"), ("more_rounds", "4 rounds")],
)


def ablated_rows(seed: int, rounds: int) -> Rows:
    """Trajectories of five teachers and three students on 24 items of two data sets, replies drawn."""
    rng = np.random.default_rng(seed)
    rows = []
    for student, n in itertools.product(ABLATION_PLAN.students, range(24)):
        blind = rng.random() < 0.4
        for k, teacher in enumerate(ABLATION_PLAN.teachers):
            for t in range(rounds + 1):
                right = bool(blind) if t == 0 else bool(rng.random() < 0.4 + 0.05 * k + 0.05 * t)
                verdict = "correct" if rng.random() < 0.5 else "wrong"
                place = {
                    "league": "main",
                    "arm": "taught",
                    "teacher": teacher,
                    "student": student,
                    "round": t,
                }
                facts = {
                    "item_id": f"i{n:02}",
                    "dataset": DATASETS[n // 12],
                    "domain": "maths",
                    "cluster_id": f"c{n}",
                }
                rows.append(
                    {
                        **place, **facts, "n_options": 4, "band": 3,
                        **dict.fromkeys(FLAGS, False), "status": "ok", "answer": "A", "correct": right,
                        "verdict": verdict if t else "none", "guide_status": "ok" if t else "not_asked", "leak": "none",
                    }
                )  # fmt: skip
    return rows


def own_rows(trajectories: Rows, seed: int) -> pa.Table:
    """Zero-shot answers of the teachers, drawn."""
    rng = np.random.default_rng(seed)
    facts = ("league", "teacher", "item_id", *FACTS, "status")
    first = [row for row in trajectories if row["round"] == 0 and row["student"] == "ann"]
    return pa.Table.from_pylist(
        [{name: row[name] for name in facts} | {"correct": bool(rng.random() < 0.6)} for row in first]
    )


@cache
def _ablated() -> tuple[AblationTables, pa.Table]:
    rows, longer = ablated_rows(1, 2), ablated_rows(2, 4)
    options: dict[str, Any] = {"policy": "wrong", "resamples": 300, "level": 0.95, "seed": 0}
    trajectories, own = table(TRAJECTORIES, rows), own_rows(rows, 3)
    variants = [
        Variant("option_order", "seed 1", table(TRAJECTORIES, ablated_rows(4, 2)), own_rows(rows, 5)),
        Variant("more_rounds", "4 rounds", table(TRAJECTORIES, longer), own),
    ]
    found = ablate(trajectories, own, variants, **options)
    return found, teaching_metrics(trajectories, own, **options)


def ablation_tables() -> dict[str, pa.Table]:
    """The ablations of a league, and the metrics that they are held to."""
    found, metrics = _ablated()
    return {**found._asdict(), "metrics": metrics}


def board_tables() -> dict[str, pa.Table]:
    """The metrics and the board that is read from them."""
    made = teaching_tables()
    metrics, ranked = made["metrics"], made["standings"]
    return {"board": teaching_board(metrics, ranked), "metrics": metrics, "standings": ranked}


def external_tables(plan: LeaguePlan = EXTERNAL_PLAN) -> dict[str, pa.Table]:
    """A board on which the last teachers are unmapped or missing, and what its other rows became."""
    lines = [f"arena,T{n},{score},2025-01-02" for n, score in enumerate((3, 1, 4, 2, 5), start=1)]
    lines += [
        "arena,T1,9,2025-01-01",
        "arena,other,7,2025-01-01",
        "arena,pupil,8,2025-01-01",
        "arena,T9,high,2025",
    ]
    boards = read_boards([("data/external/x.csv", "\n".join(["board,model,score,date", *lines]).encode())])
    mapped = {name: f"T{n}" for n, name in enumerate(plan.teachers[:6], start=1)} | {"ann": "pupil"}
    names = match_names({plan.league: plan.teachers}, boards, {"arena": mapped})
    rng = np.random.default_rng(0)
    values = rng.normal(size=(len(plan.teachers), len(METRICS)))
    replicates = values + rng.normal(0, 0.2, size=(100, *values.shape))
    scores = LeagueScores(
        plan.league, "wrong", tuple(plan.teachers), values, replicates, np.full(values.shape, 4)
    )
    return {"meta_evaluation": meta_evaluation([scores], names, ModelBootstrap(100, 0)), "meta_names": names}


def items_expected(tables: dict[str, pa.Table], plan: ItemsPlan = ITEMS_PLAN) -> Suite:
    """The suite of the items module."""
    variants = {name: tables[f"variants/{name}"] for name in plan.variants}
    own = {name: table for name, table in tables.items() if not name.startswith("variants/")}
    return items_suite(ItemTables(**own, variants=variants), plan, RULES)


def teaching_expected(tables: dict[str, pa.Table], plan: LeaguePlan = PLAN) -> Suite:
    """The suite of the teaching module."""
    return teaching_suite(LeagueTables(**tables), plan, READING)


def ablations_expected(tables: dict[str, pa.Table], plan: AblationPlan = ABLATION_PLAN) -> Suite:
    """The suite of the ablations."""
    return ablations_suite(LeagueAblations(**tables), plan)


def boards_expected(tables: dict[str, pa.Table], plan: LeaguePlan = PLAN) -> Suite:
    """The suite of the boards."""
    rows = [BoardRow(plan.league, arm, teacher, plan.rounds) for arm, teacher in plan.exchanges]
    return boards_suite(tables["board"], tables["metrics"], tables["standings"], rows)


def external_expected(tables: dict[str, pa.Table], plan: LeaguePlan = EXTERNAL_PLAN) -> Suite:
    """The suite of the comparison with external boards."""
    return external_suite(tables["meta_evaluation"], tables["meta_names"], {plan.league: plan.teachers})


def items_gate(tables: dict[str, pa.Table], plan: ItemsPlan = ITEMS_PLAN) -> dict[str, Any]:
    """Run the gate of the items module."""
    return run_gate("items", *items_expected(tables, plan))


def teaching_gate(tables: dict[str, pa.Table], plan: LeaguePlan = PLAN, only: str = "") -> dict[str, Any]:
    """Run the gate of the teaching module; of the tables named in `only` alone, to save time."""
    held, expectations = teaching_expected(tables, plan)
    held = {name: table for name, table in held.items() if not only or name in only.split()}
    return run_gate("teaching", held, [check for check in expectations if check.table in held])


def boards_gate(tables: dict[str, pa.Table], plan: LeaguePlan = PLAN) -> dict[str, Any]:
    """Run the gate of the boards."""
    return run_gate("boards", *boards_expected(tables, plan))


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
