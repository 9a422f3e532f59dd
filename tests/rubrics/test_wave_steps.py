"""The waves as steps: files in, files out; a wave in which nothing is due is an empty request file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rubric_speakers import make_speaker
from scenario_files import DIALECT_A

from magister.rubrics.reader import parse_scenario
from magister.rubrics.tasks import tasks_document
from scripts.llm import complete
from scripts.rubrics import dialogues, wave, wave_requests
from scripts.step import run_step

NAMES = ("one", "two")
CAST = {"partners": {"*": "two"}, "max_turns": 3, "semantics": "fixed", "models": ["one"], "samples": 1}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(DIALECT_A)
    Path("tasks.json").write_text(json.dumps({"x": tasks_document(parse_scenario(DIALECT_A, "x.yaml"))}))
    for name in NAMES:
        Path(f"{name}.json").write_text(json.dumps(make_speaker(name).fingerprint))


def call(module: Any, params: dict[str, Any], wildcards: dict[str, str], *files: str) -> None:
    """Run a step as its rule does; `files` are `--in name path ...` and `--out name path`."""
    code = str(Path(module.__file__))
    arguments = ["--params", json.dumps(params), "--wildcards", json.dumps(wildcards), "--code", code]
    run_step(module.__name__, module.run, [*arguments, *files])


def play(waves: int) -> None:
    past: list[str] = []
    for number in range(1, waves + 1):
        folder = f"wave{number}"
        for name in NAMES:
            model = make_speaker(name).model.model_dump(mode="json")
            call(
                wave_requests,
                CAST | {"model": model, "max_tokens": 16},
                {"wave": str(number), "model": name},
                *("--in", "scenarios", "x.yaml", "--in", "tasks", "tasks.json"),
                *(("--in", "waves", *past) if past else ()),
                *("--in", "fingerprint", f"{name}.json"),
                *("--out", "requests", f"{folder}/{name}.requests.jsonl"),
                *("--out", "asked", f"{folder}/{name}.asked.parquet"),
            )
            call(
                complete,
                {"model": model, "max_error_share": 0.0, "replay": False},
                {"step": folder, "model": name},
                *("--in", "requests", f"{folder}/{name}.requests.jsonl"),
                *("--in", "fingerprint", f"{name}.json"),
                *("--out", "responses", f"{folder}/{name}.responses.jsonl"),
            )
        call(
            wave,
            {"semantics": "fixed"},
            {"wave": str(number)},
            *("--in", "asked", *[f"{folder}/{name}.asked.parquet" for name in NAMES]),
            *("--in", "responses", *[f"{folder}/{name}.responses.jsonl" for name in NAMES]),
            *("--in", "fingerprints", *[f"{name}.json" for name in NAMES]),
            *("--out", "turns", f"{folder}/turns.parquet"),
        )
        past.append(f"{folder}/turns.parquet")
    call(
        dialogues,
        CAST,
        {},
        *("--in", "scenarios", "x.yaml", "--in", "tasks", "tasks.json"),
        *("--in", "waves", *past),
        *("--out", "transcripts", "transcripts.parquet"),
        *("--out", "dialogues", "dialogues.parquet"),
    )


def test_waves_play_all_dialogues() -> None:
    play(3)
    table = pq.read_table("dialogues.parquet")
    assert set(table["stop_kind"].to_pylist()) == {"max_turns"}
    assert pq.read_table("transcripts.parquet").num_rows == 4 * 3


def test_a_wave_after_the_end_asks_nothing() -> None:
    play(4)
    assert Path("wave4/one.requests.jsonl").read_bytes() == b""
    assert Path("wave4/one.responses.jsonl").read_bytes() == b""
    assert pq.read_table("wave4/turns.parquet").num_rows == 0
    assert pq.read_table("transcripts.parquet").num_rows == 4 * 3


def test_no_turn_is_due_in_an_iteration_that_does_not_take_place() -> None:
    Path("tasks.json").write_text(json.dumps({"x": {"status": "frozen", "same_as": 0}}))
    play(1)
    assert Path("wave1/one.requests.jsonl").read_bytes() == b""
    assert pq.read_table("dialogues.parquet").num_rows == 0


def test_too_few_waves_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        play(2)
    assert "has not ended after 2 turns" in capsys.readouterr().err
