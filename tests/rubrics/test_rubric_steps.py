"""The evolution of a rubric as steps: files in, files out, unrolled to a number of iterations."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.parquet as pq
import pytest
from loop import SCENARIO, TEACHERS
from rubric_tables import speaker

from magister.config.rubrics_judging import Judging, MetricChecks, Objective, SceneGen
from magister.contracts.rubrics_score_tables import OVERALL, RUBRICS_SCORE_CONTRACTS
from magister.contracts.rubrics_tables import RUBRICS_CONTRACTS
from magister.contracts.schemas import CONTRACTS
from magister.rubrics.initial import scenario_rubric
from magister.rubrics.iterations import is_frozen
from magister.rubrics.reader import read_scenario
from magister.rubrics.rubric import read_rubric
from scripts.llm import complete
from scripts.rubrics import (
    best_rubric,
    decide_rubric,
    diagnose_rubric,
    dialogues,
    first_rubric,
    first_rubric_requests,
    judge_rubric_requests,
    refine_rubric,
    refine_rubric_requests,
    repair_score_requests,
    rubric_checks,
    rubric_profiles,
    rubric_scores,
    wave,
    wave_requests,
)
from scripts.step import run_step

ROOT = Path(__file__).resolve().parents[2]
LAST, WAVES, JUDGES = 2, 7, ("ann", "bob")
SPEAKERS = {
    **{name: speaker(name, "rubric_teacher", quality=q, salt="x") for name, q in TEACHERS.items()},
    "pupil": speaker("pupil", "rubric_student"),
    "ann": speaker("ann", "rubric_judge", broken=0.3),
    "bob": speaker("bob", "rubric_judge", noise=0.3),
    "writer": speaker("writer", "rubric_writer", pedagogy="strict", personalisation="lenient"),
}
MODELS = {name: one.model.model_dump(mode="json") for name, one in SPEAKERS.items()}
STATISTICS = {"resamples": 200, "level": 0.95, "seed": 0}
ANCHOR = {
    "anchor_id": "held", "scenario": "sums", "use": "calibration", "variables": {"question": "What is 90 + 1?"},
    "turns": [{"speaker": "teacher", "text": "What would you try?"}], "scores": {"pedagogy_1": 5, "values_1": 5},
    "annotator": "eve",
}  # fmt: skip
CAST = {
    "partners": {"student": "pupil"},
    "max_turns": 12,
    "semantics": "fixed",
    "models": list(TEACHERS),
    "samples": 1,
}
COMMON: dict[str, Any] = {
    "judging": Judging().model_dump(mode="json"),
    "checks": MetricChecks(redundant_r=1.0, off_target_length_r=1.0).model_dump(mode="json"),
    "objective": Objective().model_dump(mode="json"),
    "scenegen": SceneGen(metrics=4).model_dump(mode="json"),
    "statistics": STATISTICS,
    "candidates": list(TEACHERS),
    "judges": list(JUDGES),
    "models": MODELS,
    "source": "scenegen",
    "scale": [1, 5],
    "writer": "writer",
    "dimensions": None,
    "iterations": LAST,
}
Files = str | list[str]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for contract in (*RUBRICS_CONTRACTS, *RUBRICS_SCORE_CONTRACTS):
        monkeypatch.setitem(CONTRACTS, contract.name, contract)
    questions = ", ".join(f'"What is {number} + {number + 3}?"' for number in range(12))
    Path("sums.yaml").write_text(SCENARIO.format(questions=questions))
    Path("anchors.jsonl").write_text(json.dumps(ANCHOR) + "\n")
    for name, one in SPEAKERS.items():
        Path(f"{name}.json").write_text(json.dumps(one.fingerprint))


def call(
    module: ModuleType,
    wildcards: dict[str, str],
    reads: dict[str, Files],
    writes: dict[str, str],
    **more: Any,
) -> None:
    """Run a step as its rule does; an input without files is left out."""
    arguments = ["--params", json.dumps(COMMON | more), "--wildcards", json.dumps(wildcards)]
    arguments += ["--code", str(module.__file__)]
    for name, files in reads.items():
        paths = [files] if isinstance(files, str) else files
        arguments += ["--in", name, *paths] if paths else []
    for name, path in writes.items():
        arguments += ["--out", name, path]
    run_step(module.__name__, module.run, arguments)


def answer(stem: str, model: str) -> None:
    call(
        complete,
        {"step": "x", "model": model},
        {"requests": f"{stem}.requests.jsonl", "fingerprint": f"{model}.json"},
        {"responses": f"{stem}.responses.jsonl"},
        model=MODELS[model],
        max_error_share=0.0,
        replay=False,
    )


def each(form: str, upto: int) -> list[str]:
    """A file of every iteration up to one."""
    return [form.format(i=number) for number in range(upto)]


def prompt(task: str) -> str:
    return str(ROOT / f"prompts/{task}/v1.md")


def first() -> None:
    call(
        first_rubric_requests,
        {"model": "writer"},
        {"scenario": "sums.yaml", "fingerprint": "writer.json", "prompt": prompt("initial_metrics")},
        {"requests": "i0/write.requests.jsonl"},
        model=MODELS["writer"],
    )
    answer("i0/write", "writer")
    reads: dict[str, Files] = {
        "scenario": "sums.yaml", "fingerprint": "writer.json", "prompt": prompt("initial_metrics"),
        "responses": "i0/write.responses.jsonl",
    }  # fmt: skip
    writes = {"rubric": "i0/rubric.json", "tasks": "i0/tasks.json", "record": "i0/record.parquet"}
    call(first_rubric, {}, reads, writes, model=MODELS["writer"])


def refined(number: int) -> None:
    reads: dict[str, Files] = {
        "scenario": "sums.yaml", "fingerprint": "writer.json",
        "refine_prompt": prompt("refine_metric"), "task_prompt": prompt("regenerate_task"),
        "decisions": each("i{i}/decision.json", number), "rubrics": each("i{i}/rubric.json", number),
        "tasks": each("i{i}/tasks.json", number), "flags": each("i{i}/flags.parquet", number),
        "diagnoses": each("i{i}/diagnosis.parquet", number), "evidence": each("i{i}/evidence.json", number),
        "records": each("i{i}/record.parquet", number)[1:],
    }  # fmt: skip
    stem = f"i{number}/write"
    wildcards = {"iteration": str(number), "model": "writer"}
    call(
        refine_rubric_requests,
        wildcards,
        reads,
        {"requests": f"{stem}.requests.jsonl"},
        model=MODELS["writer"],
    )
    answer(stem, "writer")
    writes = {name: f"i{number}/{name}.json" for name in ("rubric", "tasks")}
    writes |= {name: f"i{number}/{name}.parquet" for name in ("record", "task_changes")}
    call(
        refine_rubric,
        wildcards,
        reads | {"responses": f"{stem}.responses.jsonl"},
        writes,
        model=MODELS["writer"],
    )


def talked(number: int) -> None:
    past: list[str] = []
    for turn in range(1, WAVES + 1):
        folder = f"i{number}/wave{turn}"
        who = [*TEACHERS, "pupil"]
        for name in who:
            call(
                wave_requests,
                {"wave": str(turn), "model": name},
                {
                    "scenarios": "sums.yaml",
                    "tasks": f"i{number}/tasks.json",
                    "waves": past,
                    "fingerprint": f"{name}.json",
                },
                {"requests": f"{folder}/{name}.requests.jsonl", "asked": f"{folder}/{name}.asked.parquet"},
                **CAST,
                model=MODELS[name],
                max_tokens=64,
            )
            answer(f"{folder}/{name}", name)
        call(
            wave,
            {"wave": str(turn)},
            {
                "asked": [f"{folder}/{name}.asked.parquet" for name in who],
                "responses": [f"{folder}/{name}.responses.jsonl" for name in who],
                "fingerprints": [f"{name}.json" for name in who],
            },
            {"turns": f"{folder}/turns.parquet"},
            semantics="fixed",
        )
        past.append(f"{folder}/turns.parquet")
    call(
        dialogues,
        {},
        {"scenarios": "sums.yaml", "tasks": f"i{number}/tasks.json", "waves": past},
        {"transcripts": f"i{number}/transcripts.parquet", "dialogues": f"i{number}/dialogues.parquet"},
        **CAST,
    )


def judged(number: int, **more: Any) -> None:
    at = f"i{number}"
    base: dict[str, Files] = {
        "scenario": "sums.yaml",
        "rubric": f"{at}/rubric.json",
        "tasks": f"{at}/tasks.json",
    }
    base |= {"transcripts": f"{at}/transcripts.parquet", "dialogues": f"{at}/dialogues.parquet"}
    call(rubric_checks, {"iteration": str(number)}, base, {"checks": f"{at}/checks.parquet"})
    base |= {"anchors": "anchors.jsonl"}
    for name in JUDGES:
        stem, wildcards = f"{at}/{name}", {"iteration": str(number), "model": name}
        prints = [f"{model}.json" for model in (*TEACHERS, name)]
        own: dict[str, Files] = {"fingerprint": f"{name}.json"}
        call(
            judge_rubric_requests,
            wildcards,
            base
            | own
            | {"checks": f"{at}/checks.parquet", "fingerprints": prints, "prompt": prompt("judge_rubric")},
            {
                "requests": f"{stem}.requests.jsonl",
                "asked": f"{stem}.asked.parquet",
                "settled": f"{stem}.settled.parquet",
            },
            model=MODELS[name],
        )
        answer(stem, name)
        said: dict[str, Files] = {"asked": f"{stem}.asked.parquet", "responses": f"{stem}.responses.jsonl"}
        call(
            repair_score_requests,
            wildcards,
            own | said | {"rubric": f"{at}/rubric.json", "prompt": prompt("repair_score")},
            {"requests": f"{stem}.repair.requests.jsonl", "repairs": f"{stem}.repairs.parquet"},
            model=MODELS[name],
        )
        answer(f"{stem}.repair", name)
        mended: dict[str, Files] = {
            "settled": f"{stem}.settled.parquet", "repairs": f"{stem}.repairs.parquet",
            "repaired": f"{stem}.repair.responses.jsonl",
        }  # fmt: skip
        writes = {"scores": f"{stem}.scores.parquet", "anchor_scores": f"{stem}.anchor_scores.parquet"}
        call(rubric_scores, wildcards, base | own | said | mended, writes, model=MODELS[name])
    scores: dict[str, Files] = {
        name: [f"{at}/{judge}.{name}.parquet" for judge in JUDGES] for name in ("scores", "anchor_scores")
    }
    prints = [f"{model}.json" for model in (*TEACHERS, *JUDGES)]
    writes = {name: f"{at}/{name}.parquet" for name in ("diagnosis", "flags", "agreement")}
    writes["evidence"] = f"{at}/evidence.json"
    call(diagnose_rubric, {"iteration": str(number)}, base | scores | {"fingerprints": prints}, writes)
    call(
        decide_rubric,
        {"iteration": str(number)},
        scores
        | {"rubric": f"{at}/rubric.json", "flags": f"{at}/flags.parquet", "anchors": "anchors.jsonl"}
        | {"decisions": each("i{i}/decision.json", number)}
        | {"asked": [f"i{i}/{judge}.asked.parquet" for i in range(number + 1) for judge in JUDGES]},
        {"decision": f"{at}/decision.json"},
        **more,
    )


def ended() -> None:
    every: dict[str, Files] = {
        name: each(f"i{{i}}/{name}.{suffix}", LAST + 1)
        for name, suffix in (
            ("rubric", "json"), ("tasks", "json"), ("transcripts", "parquet"), ("dialogues", "parquet"),
            ("flags", "parquet"), ("decision", "json"), ("agreement", "parquet"),
        )
    }  # fmt: skip
    renamed = {"rubric": "rubrics", "decision": "decisions", "agreement": "agreements"}
    every = {renamed.get(name, name): files for name, files in every.items()}
    for name in ("scores", "anchor_scores"):
        every[name] = [f"i{i}/{judge}.{name}.parquet" for i in range(LAST + 1) for judge in JUDGES]
    names = {"rubric": "json", "yaml": "yaml", "label_config": "xml", "label_tasks": "json", "diff": "json",
             "diff_text": "txt", "drift": "parquet"}  # fmt: skip
    call(
        best_rubric,
        {},
        every | {"scenario": "sums.yaml", "anchors": "anchors.jsonl"},
        {name: f"best/{name}.{suffix}" for name, suffix in names.items()},
    )
    call(
        rubric_profiles,
        {},
        every | {"best": "best/rubric.json"},
        {name: f"best/{name}.parquet" for name in ("metrics", "totals", "board")}
        | {"beside": "best/beside.json"},
    )


def run_all() -> None:
    for number in range(LAST + 1):
        if number:
            refined(number)
        else:
            first()
        talked(number)
        judged(number)
    ended()


def test_the_steps_evolve_a_rubric_and_stop() -> None:
    run_all()
    decisions = [json.loads(Path(path).read_text()) for path in each("i{i}/decision.json", LAST + 1)]
    assert set(decisions[0]["flags"]) == {"pedagogy_1", "personalisation_1"}
    assert (decisions[1]["best"], decisions[1]["stop_reason"]) == (1, "nothing_flagged")
    assert "human" in decisions[1]["terms"]
    assert decisions[2] == {"status": "frozen", "same_as": 1}
    # Nothing is asked after the stop, of nobody.
    asked = sorted(Path("i2").rglob("*.requests.jsonl"))
    assert len(asked) > 20
    assert all(path.read_bytes() == b"" for path in asked)
    best = json.loads(Path("best/rubric.json").read_text())
    assert best.pop("iteration") == 1
    rubric = read_rubric(best, "best")
    assert not is_frozen(best)
    assert [one.name for one in scenario_rubric(read_scenario(Path("best/yaml.yaml"))).metrics] == [
        one.name for one in rubric.metrics
    ]
    (change,) = json.loads(Path("best/diff.json").read_text())
    assert {one["metric_id"] for one in change["changed"]} == {"pedagogy_1", "personalisation_1"}
    assert all(one["why"] for one in change["changed"])
    board = pq.read_table("best/board.parquet").to_pylist()
    total = {row["model"]: row["rank"] for row in board if row["dim"] == OVERALL}
    assert total == {"strong": 1, "middle": 2, "weak": 3}
    drift = pq.read_table("best/drift.parquet").to_pylist()
    strict = [
        row["value"] for row in drift if row["metric_id"] == "pedagogy_1" and row["statistic"] == "deviation"
    ]
    assert strict == [4.0, 0.0]
    scores = pq.read_table("i0/ann.scores.parquet")
    assert 0 < sum(scores["was_repaired"].to_pylist()) < scores.num_rows
    assert set(scores["status"].to_pylist()) == {"ok"}


def test_the_rubric_of_a_scenarios_authors_comes_first_without_a_call() -> None:
    path = ROOT / "data/scenarios/socratic-fractions.yaml"
    writes = {"rubric": "a/rubric.json", "tasks": "a/tasks.json", "record": "a/record.parquet"}
    call(first_rubric, {}, {"scenario": str(path)}, writes, source="scenario")
    made = read_rubric(json.loads(Path("a/rubric.json").read_text()), "a")
    assert made == scenario_rubric(read_scenario(path))
    assert [task["held_out"] for task in json.loads(Path("a/tasks.json").read_text())] == [False] * 3 + [True]
    assert pq.read_table("a/record.parquet").num_rows == 0


def test_calls_can_be_limited() -> None:
    first()
    talked(0)
    judged(0, objective=Objective(max_calls=10).model_dump(mode="json"))
    assert json.loads(Path("i0/decision.json").read_text())["stop_reason"] == "budget"
