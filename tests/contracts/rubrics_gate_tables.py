"""A small set of scenarios that keeps every promise, made by the steps that make a real one."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from magister.config.rubrics_judging import Objective
from magister.contracts.gate import Suite
from magister.contracts.rubrics_board_suite import rubrics_board_suite
from magister.contracts.rubrics_suite import (
    RubricPlan,
    RubricTables,
    decision_table,
    expert_table,
    iterated,
    metric_table,
    rubrics_suite,
    task_table,
)
from magister.rubrics.board import rubrics_board

sys.path.append(str(Path(__file__).resolve().parents[1] / "rubrics"))
from rubric_tables import speaker
from step_loop import StepLoop

TEACHERS, JUDGES, LAST = ("strong", "middle", "weak"), ("ann", "bob"), 2
# On closed tasks nobody asks anything: first the metrics are rewritten, then the tasks, and then models differ.
SCENARIO = """
magister: 1
agents:
  teacher: {{prompt: "You teach. The problem: {{question}}"}}
  student: {{prompt: You learn.}}
directions:
  - START -> teacher
  - teacher -> router:any_keyword(keywords=["<end>"], then=END, otherwise="student")
  - student -> teacher
tasks:
  mode: union
  start_prompt: "Today: {{question}}"
  content: {{question: [{questions}]}}
evaluation:
  fields: [{{name: asks, type: int, range: [1, 5], description: Asks.}}]
  vetoes: [{{name: ends_asking, kind: regex, agent: teacher, pattern: "next. <end>"}}]
"""
RUBRICS_PLAN = RubricPlan(
    models=TEACHERS,
    partners={"student": "pupil"},
    judges=JUDGES,
    repeats=1,
    samples=1,
    semantics="fixed",
    candidates={"sums": "teacher"},
    limits={"sums": 12},
    checks={"sums": ["empty_turn", "ends_asking", "role_leak"]},
    iterations=LAST,
    min_delta=0.01,
    missing="unknown",
)
Tables = dict[str, Any]


def _anchor() -> dict[str, Any]:
    return {
        "anchor_id": "held", "scenario": "sums", "use": "calibration", "annotator": "eve",
        "variables": {"question": "What is 90 + 1?"}, "turns": [{"speaker": "teacher", "text": "What next?"}],
        "scores": {"pedagogy_1": 5, "values_1": 4},
    }  # fmt: skip


def _read(path: str) -> pa.Table:
    return pq.read_table(path)


def _documents(name: str) -> list[Any]:
    return [json.loads(Path(f"i{i}/{name}.json").read_text(encoding="utf-8")) for i in range(LAST + 1)]


@cache
def rubric_tables() -> Tables:
    """Tables of the set, by the names of `RubricTables`."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        questions = ", ".join(f'"What is {number} + {number + 3}? (closed)"' for number in range(12))
        Path("sums.yaml").write_text(SCENARIO.format(questions=questions), encoding="utf-8")
        Path("anchors.jsonl").write_text(json.dumps(_anchor()) + "\n", encoding="utf-8")
        quality = {"strong": 0.9, "middle": 0.5, "weak": 0.1}
        who = {
            name: speaker(name, "rubric_teacher", quality=q, salt="x", turns=2) for name, q in quality.items()
        }
        who |= {
            "pupil": speaker("pupil", "rubric_student"),
            "writer": speaker("writer", "rubric_writer", pedagogy="strict", creativity="vague"),
        }
        who |= {
            "ann": speaker("ann", "rubric_judge", broken=0.3, mute=0.1),
            "bob": speaker("bob", "rubric_judge", noise=0.3),
        }
        options = {"objective": Objective(patience=9).model_dump(mode="json")}
        options["statistics"] = {"resamples": 60, "level": 0.9, "seed": 3}  # type: ignore[dict-item]
        made = StepLoop(who, TEACHERS, JUDGES, ["sums.yaml"], LAST, 3, "anchors.jsonl", options)
        made.run_all()
        return _gathered(made)


def _gathered(made: StepLoop) -> Tables:
    def each(form: str, names: tuple[str, ...] = ("",)) -> list[pa.Table]:
        return [
            pa.concat_tables([_read(form.format(i=i, name=name)) for name in names]) for i in range(LAST + 1)
        ]

    asked = [
        pa.concat_tables(
            [
                _read(f"i{i}/wave{wave}/{name}.asked.parquet")
                for wave in range(1, made.waves + 1)
                for name in (*TEACHERS, "pupil")
            ]
        )
        for i in range(LAST + 1)
    ]
    changes = [_read(f"i{i}/task_changes.parquet") for i in range(1, LAST + 1)]
    iterations = {
        "dialogue_asked": asked,
        "task_changes": [changes[0].slice(0, 0), *changes],
        "records": each("i{i}/record.parquet"),
        **{
            name: each(f"i{{i}}/{name}.parquet")
            for name in ("transcripts", "dialogues", "checks", "diagnosis", "flags", "agreement")
        },
        **{
            name: each(f"i{{i}}/{{name}}.{name}.parquet", JUDGES)
            for name in ("asked", "repairs", "scores", "anchor_scores")
        },
    }
    scores = _anchor()["scores"].items()
    return {
        "metrics": metric_table(_documents("rubrics")),
        "tasks": task_table(_documents("tasks")),
        "decisions": decision_table(_documents("decisions")),
        "experts": expert_table([("sums", "held", name, float(score)) for name, score in scores]),
        **{name: iterated(name, tables) for name, tables in iterations.items()},
        "metric_scores": _read("best/metrics.parquet"),
        "dialogue_scores": _read("best/totals.parquet"),
        "standings": _read("best/standings.parquet"),
        "drift": _read("best/drift.parquet"),
    }


def rubrics_expected(tables: Tables, plan: RubricPlan) -> Suite:
    """What the set promises."""
    return rubrics_suite(RubricTables(**tables), plan)


def rubrics_board_tables() -> Tables:
    """The board of the set, and what it was read from."""
    standings = rubric_tables()["standings"]
    return {"rubrics_board": rubrics_board({"ours": standings}), "standings": standings}


def rubrics_board_expected(tables: Tables, plan: RubricPlan) -> Suite:
    """What the board promises."""
    return rubrics_board_suite(tables["rubrics_board"], {"ours": tables["standings"]})
