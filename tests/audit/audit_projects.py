"""Small finished projects with a number on each of the four boards, written without running a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from magister.arena.board import arena_board
from magister.arena.ratings import Settings, rate_votes
from magister.arena.votes import code_votes
from magister.contracts.schemas import ANSWERS, BANDS, CONTRACTS, ITEMS, POOL, STATUSES, TRAJECTORIES
from magister.diagnosis.board import mastery_board
from magister.provenance import Lineage, make_lineage, write_json, write_table, write_text
from magister.rubrics._sums import Resampling
from magister.rubrics.board import rubrics_board
from magister.rubrics.panel import metric_scores
from magister.rubrics.profiles import board_rows
from magister.rubrics.rubric import Dimension, Metric, Rubric, rubric_document
from magister.teaching.board import teaching_board
from magister.teaching.metrics import teaching_metrics
from magister.teaching.standings import standings
from magister.teaching.trajectories import zero_shot_table

Row = dict[str, Any]
HOSTILE = "<script>alert(1)</script> \x1b[31m & more"
STATISTICS = {"resamples": 200, "level": 0.9, "seed": 3}
STUDENTS, ITEM_IDS, ROUNDS = ("ann", "bob"), tuple(f"i{n:02d}" for n in range(12)), 2
FOLDER = "data/teaching/main"


class Maker:
    """Writes artifacts with lineage."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def lineage(
        self, rule: str, inputs: Sequence[str], params: Mapping[str, Any], wildcards: Mapping[str, str]
    ) -> Lineage:
        paths = [Path(name) for name in inputs]
        return make_lineage(
            rule, wildcards=dict(wildcards), inputs=paths, params=dict(params), code={}, root=self.root
        )

    def table(
        self,
        path: str,
        table: pa.Table,
        contract: str,
        rule: str,
        inputs: Sequence[str] = (),
        params: Mapping[str, Any] | None = None,
        **wildcards: str,
    ) -> str:
        lineage = self.lineage(rule, inputs, params or {}, wildcards)
        write_table(self.root / path, table, CONTRACTS[contract], lineage)
        return path

    def document(self, path: str, value: Any, rule: str, inputs: Sequence[str] = (), **wildcards: str) -> str:
        write_json(self.root / path, value, self.lineage(rule, inputs, {}, wildcards))
        return path

    def replies(self, step: str, model: str, keys: Sequence[str]) -> str:
        """A response file and the store that it was composed from."""
        lines = "".join(response(key) for key in sorted(set(keys)))
        store = self.root / "store" / model / f"{step.replace('/', '.')}.jsonl"
        store.parent.mkdir(parents=True, exist_ok=True)
        store.write_text(lines, encoding="utf-8")
        path = f"data/{step}/{model}.responses.jsonl"
        write_text(self.root / path, lines, self.lineage("complete", [], {}, {"step": step, "model": model}))
        return path


def response(key: str) -> str:
    """A line of the store."""
    body = {"choices": [{"finish_reason": "stop", "index": 0, "message": {"content": "B"}}], "model": "m"}
    row = {"attempts": 1, "custom_id": key, "error": None, "response": {"body": body, "status_code": 200}}
    return json.dumps(row, sort_keys=True) + "\n"


def make_project(root: Path) -> Path:
    """A project with a number on every board."""
    outs = [
        "data/items",
        "data/teaching",
        "data/arena",
        "data/diagnosis",
        "data/rubrics",
        "data/raw",
        "results",
    ]
    (root / "dvc.yaml").write_text(json.dumps({"stages": {"all": {"cmd": "x", "outs": outs}}}))
    make = Maker(root)
    _teaching(make)
    _arena(make)
    _mastery(make)
    _rubrics(make)
    return root


def _items(make: Maker) -> tuple[str, str]:
    raw = make.document("data/raw/datasets/quiz.json", [], "fetch_dataset", dataset="quiz")
    facts = [
        {"item_id": name, "dataset": f"d{n % 2}", "domain": "k", "cluster_id": f"c{n // 2}", "gold": "Paris",
         "question": HOSTILE if n == 0 else f"What is the capital of {name}?", "key": "B",
         "options": ["London", "Paris", "Rome", "Berlin"]}
        for n, name in enumerate(ITEM_IDS)
    ]  # fmt: skip
    pools = []
    for dataset in ("d0", "d1"):
        mine = [
            row | {"source_row": 7, "flags": [], "passage": None}
            for row in facts
            if row["dataset"] == dataset
        ]
        table = pa.Table.from_pylist(mine, schema=POOL.schema)
        pools.append(
            make.table(
                f"data/items/pool/{dataset}.parquet", table, "pool", "pool_items", [raw], dataset=dataset
            )
        )
    more = {"origins": ["native"] * 4, "multi": False, "rewrite_status": "native", "needs_options": False}
    rows = [row | more | {"options_in_question": False, "passage": None, "review": None} for row in facts]
    table = pa.Table.from_pylist(rows, schema=ITEMS.schema)
    items = make.table("data/items/items.parquet", table, "items", "rewrite_items", pools)
    told = {"pass_pattern": "1", "n_answered": 1, "unsolved": False, "monotone": True}
    banded = [{"item_id": name, "band": 1 + n % 2, **told} for n, name in enumerate(ITEM_IDS)]
    table = pa.Table.from_pylist(banded, schema=BANDS.schema)
    return items, make.table("data/items/bands.parquet", table, "bands", "band_difficulty", [items])


def trajectories(seed: int = 0, lost: float = 0.1) -> pa.Table:
    """A league of a teacher and three control arms: answers at random, some of them lost; only items of d0 are told."""
    rng = np.random.default_rng(seed)
    rows = []
    arms = (("taught", "tea"), ("verdict_only", "tea"), ("sham", "sham"), ("oracle_tell", "oracle_tell"))
    for arm, teacher in arms:
        chance = {"oracle_tell": 0.9, "taught": 0.6}.get(arm, 0.35)
        for s, student in enumerate(STUDENTS):
            for n, item in enumerate(ITEM_IDS):
                blind = (n * 7 + s) % 3 == 0
                leaks = ["none", "none", "option"] if n % 2 else ["none", "none", "option", "gold"]
                for t in range(ROUNDS + 1):
                    status = "ok"
                    if t and rng.random() < lost:
                        status = str(rng.choice(STATUSES[1:]))
                    right = blind if t == 0 else bool(rng.random() < chance)
                    guided = t > 0 and arm in ("taught", "verdict_only")
                    verdict = str(rng.choice(["correct", "wrong", "none"])) if guided else "none"
                    rows.append({
                        "league": "main", "arm": arm, "teacher": teacher, "student": student, "item_id": item,
                        "round": t, "dataset": f"d{n % 2}", "domain": "k", "cluster_id": f"c{n // 2}",
                        "n_options": 4, "status": status, "verdict": verdict,
                        "guide_status": "ok" if guided else "not_asked",
                        "leak": str(rng.choice(leaks)) if guided else "none",
                        "band": 1 + n % 2, "answer": "B" if right else "A",
                        "correct": None if status == "error" else right and status == "ok",
                        "request_id": f"{arm}-{student}-{item}-{t}",
                        "guide_request_id": f"guide-{arm}-{student}-{item}-{t}" if guided else None,
                        "needs_options": False, "options_in_question": False, "multi": False,
                    })  # fmt: skip
    return pa.Table.from_pylist(rows, schema=TRAJECTORIES.schema)


def _teaching(make: Maker) -> None:
    items, bands = _items(make)
    path = make.root / items
    table = trajectories()
    rows, behind = table.to_pylist(), [items, bands]
    for student in STUDENTS:
        for t in range(ROUNDS + 1):
            step = "teaching/main/blind_answers" if t == 0 else f"teaching/main/round{t}/revise"
            keys = [row["request_id"] for row in rows if row["student"] == student and row["round"] == t]
            replies = make.replies(step, student, keys)
            rule, more = ("revise", {"round": str(t)}) if t else ("blind_answers", {})
            behind.append(
                make.document(f"data/{step}/{student}.parts.json", {}, rule, [replies], model=student, **more)
            )
    for t in range(1, ROUNDS + 1):
        step = f"teaching/main/round{t}/guide"
        keys = [row["guide_request_id"] for row in rows if row["round"] == t and row["guide_request_id"]]
        replies = make.replies(step, "tea", keys)
        behind.append(
            make.document(f"data/{step}/tea.parts.json", {}, "guide", [replies], model="tea", round=str(t))
        )
    played = make.table(
        f"{FOLDER}/trajectories.parquet",
        table,
        "trajectories",
        "teaching_trajectories",
        behind,
        league="main",
    )
    own = [
        {"model": "tea", "item_id": name, "request_id": f"own-{name}", "status": "ok", "rule": "r", "text": "B",
         "answer": "B", "correct": n % 4 != 0}
        for n, name in enumerate(ITEM_IDS)
    ]  # fmt: skip
    replies = make.replies("teaching/main/zero_shot", "tea", [row["request_id"] for row in own])
    answers = pa.Table.from_pylist(own, schema=ANSWERS.schema)
    zero_shot = make.table(
        f"{FOLDER}/zero_shot/tea.parquet",
        answers,
        "answers",
        "zero_shot",
        [items, replies],
        league="main",
        model="tea",
    )
    import pyarrow.parquet as pq

    asked = zero_shot_table("main", pq.read_table(path), pq.read_table(make.root / bands), answers)
    given: Row = {"policy": "wrong", **STATISTICS}
    metrics = make.table(
        f"{FOLDER}/metrics.parquet",
        teaching_metrics(table, asked, **given),
        "metrics",
        "teaching_metrics",
        [items, bands, played, zero_shot],
        {"datasets": ["d0", "d1"], "policy": "wrong", "statistics": STATISTICS},
        league="main",
    )
    stood = standings(table, asked, **given)[0]
    ranked = make.table(
        f"{FOLDER}/standings.parquet", stood, "standings", "teaching_standings", [played], league="main"
    )
    board = teaching_board(pq.read_table(make.root / metrics), stood)
    make.table("results/teaching.parquet", board, "teaching_board", "teaching_board", [metrics, ranked])


def votes(seed: int = 0, n: int = 40) -> pa.Table:
    """Votes of a judge and a key on three models."""
    rng = np.random.default_rng(seed)
    rows = []
    for at in range(n):
        one, two = rng.choice(["a1", "b1", "c1"], size=2, replace=False).tolist()
        kind = "judge" if at % 2 else "key"
        rows.append({
            "vote_id": f"v{at:03d}", "comparison_id": f"x{at:03d}", "scenario": "math" if at % 3 else "open",
            "instruction_id": f"q{at:03d}", "root_id": f"q{at // 2:03d}", "arm": "random", "model_a": one,
            "model_b": two, "winner": str(rng.choice(["a", "b", "tie", "both_bad"], p=[0.4, 0.3, 0.2, 0.1])),
            "annotator": "ref" if kind == "judge" else "key", "annotator_kind": kind, "first": "both",
            "request_ids": [f"j{at}-1", f"j{at}-2"] if kind == "judge" else [], "flipped": None,
        })  # fmt: skip
    return pa.Table.from_pylist(rows, schema=CONTRACTS["votes"].schema)


def _arena(make: Maker) -> None:
    folder, given = "data/arena/leagues/duel", votes()
    models, rows = ["a1", "b1", "c1"], given.to_pylist()
    said = []
    for model in models:
        replies = make.replies("arena/respond", model, [f"{model}-{row['instruction_id']}" for row in rows])
        said.append(
            make.document(f"data/arena/respond/{model}.parts.json", {}, "respond", [replies], model=model)
        )
    key = [
        {"comparison_id": row["comparison_id"], "scenario": row["scenario"], "instruction_id": row["instruction_id"],
         "root_id": row["root_id"], "arm": "random", "model_1": row["model_a"], "model_2": row["model_b"],
         "request_id_1": f"{row['model_a']}-{row['instruction_id']}",
         "request_id_2": f"{row['model_b']}-{row['instruction_id']}", "length_1": 1, "length_2": 1,
         "inclusion_probability": 1.0, "self_named_1": False, "self_named_2": False}
        for row in rows
    ]  # fmt: skip
    sheet = [
        {"comparison_id": row["comparison_id"], "scenario": row["scenario"], "instruction_id": row["instruction_id"],
         "instruction": HOSTILE, "response_1": "one", "response_2": "two"}
        for row in rows
    ]  # fmt: skip
    keyed = pa.Table.from_pylist(key, schema=CONTRACTS["sheet_key"].schema)
    made = make.table(
        f"{folder}/sheet_key.parquet", keyed, "sheet_key", "annotation_sheet", said, arena="duel"
    )
    shown = pa.Table.from_pylist(sheet, schema=CONTRACTS["sheet"].schema)
    make.table(f"{folder}/sheet.parquet", shown, "sheet", "annotation_sheet", said, arena="duel")
    replies = make.replies(
        "arena/leagues/duel/judge", "ref", [name for row in rows for name in row["request_ids"]]
    )
    judged = make.document(
        f"{folder}/votes/judge/ref.json", {}, "judge_votes", [made, replies], arena="duel", model="ref"
    )
    # The votes of the judge as their rule writes them: the audit looks for tables.
    judge = given.filter(pa.array([row["annotator_kind"] == "judge" for row in rows]))
    table = make.table(
        f"{folder}/votes/judge/ref.parquet",
        judge,
        "votes",
        "judge_votes",
        [made, replies],
        arena="duel",
        model="ref",
    )
    path = make.table(f"{folder}/votes.parquet", given, "votes", "annotations", [judged, table], arena="duel")
    rejected = CONTRACTS["votes_rejected"].schema.empty_table()
    make.table(
        f"{folder}/votes_rejected.parquet",
        rejected,
        "votes_rejected",
        "annotations",
        [judged, table],
        arena="duel",
    )
    coded = code_votes(given, models=models)
    rated = rate_votes(coded, Settings(seed=0, resamples=50)).table
    params = {"elo": {"k": 4.0}, "models": models}
    ratings = make.table(
        f"{folder}/ratings.parquet", rated, "ratings", "arena_ratings", [path], params, arena="duel"
    )
    make.table("results/arena.parquet", arena_board({"duel": rated}), "arena_board", "arena_board", [ratings])


def _mastery(make: Maker) -> None:
    folder = "data/diagnosis/studies/small"
    items = [f"i{n:02d}" for n in range(6)]
    replies = make.replies("diagnosis/answers", "m1", [f"d-{name}" for name in items])
    answers = make.document(
        "data/diagnosis/answers/m1.parts.json", {}, "diagnosis_answers", [replies], model="m1"
    )
    told = [
        {"model": model, "item_id": name, "status": "ok", "correct": (n + len(model)) % 2 == 0,
         "request_id": f"d-{name}" if model == "m1" else None}
        for model in ("m1", "m22") for n, name in enumerate(items)
    ]  # fmt: skip
    told[0] |= {"status": "error", "correct": None}
    matrix = pa.Table.from_pylist(told, schema=CONTRACTS["response_matrix"].schema)
    responses = make.table(
        f"{folder}/responses.parquet", matrix, "response_matrix", "response_matrix", [answers], study="small"
    )
    p = {("m1", "x01"): 0.9, ("m1", "x02"): 0.3, ("m22", "x01"): 0.5, ("m22", "x02"): 0.5}
    rows = [
        {"model": model, "attribute": name, "label": {"x01": "adding", "x02": "reading"}[name], "p": value,
         "sd": (value * (1 - value)) ** 0.5, "n_items": 3.0 if model == "m1" else 0.1,
         "basis": "responses" if model == "m1" else "prior", "state": "undetermined", "support": "undetermined",
         "mcse": 0.01}
        for (model, name), value in p.items()
    ]  # fmt: skip
    mastery = pa.Table.from_pylist(rows, schema=CONTRACTS["mastery"].schema)
    table = make.table(
        f"{folder}/mastery.parquet", mastery, "mastery", "mastery_profiles", [responses], study="small"
    )
    profiled = [
        {"item_id": name, "guess": 0.2, "slip": 0.1, "discrimination": 0.7, "pooled": False, "n": 2, "n_mastered": 1.0,
         "n_other": 1.0, "attributes": ["x01"], "status": "ok", "reason": ""}
        for name in items
    ]  # fmt: skip
    known = pa.Table.from_pylist(profiled, schema=CONTRACTS["item_profiles"].schema)
    make.table(
        f"{folder}/item_profiles.parquet",
        known,
        "item_profiles",
        "mastery_profiles",
        [responses],
        study="small",
    )
    entries = [
        {"item_id": item, "attribute": name, "reference": True, "prior": 0.5, "log_odds": 0.0, "pattern": "kept",
         "posterior": 0.95 if (n % 2 == 0) == (name == "x01") else 0.05}
        for n, item in enumerate(items) for name in ("x01", "x02")
    ]  # fmt: skip
    needed = pa.Table.from_pylist(entries, schema=CONTRACTS["q_entries"].schema)
    make.table(
        f"{folder}/q_entries.parquet", needed, "q_entries", "mastery_profiles", [responses], study="small"
    )
    make.table(
        "results/mastery.parquet",
        mastery_board({"small": mastery}),
        "mastery_board",
        "mastery_board",
        [table],
    )


def _rubrics(make: Maker) -> None:
    folder = "data/rubrics/sets/talks"
    made = Rubric(
        "sums",
        (Dimension("care", 0.25, "c"), Dimension("craft", 0.75, "c")),
        (Metric("care_1", "care", "care", 1.0, "c"), Metric("craft_1", "craft", "craft", 1.0, "c")),
    )
    rng = np.random.default_rng(5)
    turns = make.replies("rubrics/sets/talks/0/waves/1", "m1", [f"turn-{n}" for n in range(4)])
    wave = make.document(
        f"{folder}/0/waves/1/turns.parts.json", {}, "wave", [turns], set="talks", iteration="0", wave="1"
    )
    spoken = [
        {"dialogue_id": f"t{n}-m1", "scenario": "sums", "task_id": f"t{n}", "model": "m1", "sample": 0, "turn": 1,
         "agent": "teacher", "speaker": "m1", "request_id": f"turn-{n}", "status": "ok", "text": HOSTILE,
         "visible": HOSTILE}
        for n in range(4)
    ]  # fmt: skip
    table = pa.Table.from_pylist(spoken, schema=CONTRACTS["transcripts"].schema)
    where: Row = {"set": "talks", "iteration": "0"}
    talks = make.table(f"{folder}/0/transcripts.parquet", table, "transcripts", "dialogues", [wave], **where)
    replies = make.replies("rubrics/sets/talks/0/judge", "ref", [f"score-{n}" for n in range(4)])
    rows = [
        {"scenario": "sums", "rubric_sha": made.sha, "dialogue_id": f"t{n}-m1", "task_id": f"t{n}", "model": "m1",
         "held_out": False, "metric_id": metric, "judge": "ref", "repeat": 1, "reason": "", "was_repaired": False,
         "status": "parse_error" if n == 3 and metric == "care_1" else "ok",
         "value": None if n == 3 and metric == "care_1" else float(rng.integers(1, 6)), "rationale": HOSTILE,
         "request_id": f"score-{n}"}
        for n in range(4) for metric in ("care_1", "craft_1")
    ]  # fmt: skip
    scores = pa.Table.from_pylist(rows, schema=CONTRACTS["rubric_scores"].schema)
    scored = make.table(
        f"{folder}/0/judge/ref.scores.parquet",
        scores,
        "rubric_scores",
        "rubric_scores",
        [talks, replies],
        model="ref",
        **where,
    )
    document = {"sums": {"iteration": 0, **rubric_document(made)}}
    best = make.document(f"{folder}/best.json", document, "best_rubric", [scored], set="talks")
    found = metric_scores(scores)
    behind = [best, scored]
    make.table(
        f"{folder}/metric_scores.parquet",
        found,
        "rubric_metric_scores",
        "rubric_profiles",
        behind,
        set="talks",
    )
    stood = board_rows(found, made, 0, "unknown", Resampling(50, 0))
    table_path = make.table(
        f"{folder}/standings.parquet", stood, "rubric_standings", "rubric_profiles", behind, set="talks"
    )
    make.table(
        "results/rubrics.parquet",
        rubrics_board({"talks": stood}),
        "rubrics_board",
        "rubrics_board",
        [table_path],
    )
