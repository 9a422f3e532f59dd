"""`magister status`: what is there, what was answered, what is out of date, and what cannot be told."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from finished import Finished

from magister.audit import status
from magister.audit.status import ModuleStatus, project_status
from magister.errors import UserError
from magister.llm import canonical_json

RESPONSES = "data/teaching/answer/pupil.responses.jsonl"


@pytest.fixture(autouse=True)
def engines(finished: Finished, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the two engines say."""
    said: dict[str, Any] = {"dvc": {}}

    def run_dvc(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        assert arguments == ("status", "--json")
        return subprocess.CompletedProcess(arguments, 0, json.dumps(said["dvc"]), "")

    monkeypatch.setattr(status, "read_jobs", lambda root: finished.jobs)
    monkeypatch.setattr(status, "run_dvc", run_dvc)
    return said


def modules(finished: Finished) -> dict[str, ModuleStatus]:
    return {each.module: each for each in project_status(finished.root).modules}


def test_a_finished_project_is_counted(finished: Finished) -> None:
    found = modules(finished)
    teaching = found["teaching"]
    assert (teaching.files, teaching.tables, teaching.rows) == (4, {"rejected": 5}, 0)
    assert (teaching.requests, teaching.responses, teaching.errors, teaching.truncated) == (3, 3, 0, 0)
    assert teaching.tokens_in > 0
    assert teaching.cost == 0
    assert found["llm"].rows is None
    assert all(each.missing == [] and each.stale == [] and each.recorded for each in found.values())


def test_errors_and_cut_replies_are_counted_and_equal_requests_cost_once(finished: Finished) -> None:
    params = yaml.safe_load((finished.root / "params.yaml").read_text())
    params["models"]["pupil"] |= {"price_in": 2.0, "price_out": 10.0}
    (finished.root / "params.yaml").write_text(yaml.safe_dump(params))

    def reply(key: str, reason: str) -> dict[str, Any]:
        usage = {"prompt_tokens": 1_000_000, "completion_tokens": 100_000, "total_tokens": 1_100_000}
        message = {"role": "assistant", "content": "2"}
        choice = {"index": 0, "finish_reason": reason, "message": message}
        body = {"model": "m", "choices": [choice], "usage": usage}
        return {"custom_id": key, "response": {"status_code": 200, "body": body}, "error": None}

    lost = {"custom_id": "c", "response": None, "error": {"code": "timeout", "message": "gone"}}
    lines = [canonical_json(row) + "\n" for row in (reply("a", "stop"), reply("b", "length"), lost)]
    (finished.root / RESPONSES).write_text("".join(lines))
    again = finished.root / "data/teaching/again/pupil.responses.jsonl"
    again.parent.mkdir()
    again.write_text(lines[0])
    teaching = modules(finished)["teaching"]
    assert (teaching.responses, teaching.errors, teaching.truncated) == (4, 1, 1)
    assert (teaching.tokens_in, teaching.tokens_out) == (2_000_000, 200_000)
    assert teaching.cost == pytest.approx(2 * 2.0 + 0.2 * 10.0)


def test_what_a_model_that_is_not_configured_has_cost_is_unknown(finished: Finished) -> None:
    params = yaml.safe_load((finished.root / "params.yaml").read_text())
    params["models"] = {"other": params["models"]["pupil"]}
    (finished.root / "params.yaml").write_text(yaml.safe_dump(params))
    assert modules(finished)["teaching"].cost is None


def test_what_is_missing_stale_or_recorded_otherwise_is_said(
    finished: Finished, engines: dict[str, Any]
) -> None:
    (finished.root / "results/teaching.csv").unlink()
    finished.jobs = [
        replace(job, stale="params") if job.outputs == ["results/teaching.parquet"] else job
        for job in finished.jobs
    ]
    engines["dvc"] = {"boards": [{"changed outs": {"results": "modified"}}]}
    boards = modules(finished)["boards"]
    assert boards.missing == ["results/teaching.csv"]
    assert boards.stale == ["results/teaching.parquet"]
    assert boards.recorded is False
    assert modules(finished)["teaching"].recorded is True


def test_what_snakemake_has_no_record_of_is_unknown(finished: Finished) -> None:
    finished.jobs = [replace(job, known=False) for job in finished.jobs]
    found = project_status(finished.root)
    assert all(each.stale is None for each in found.modules)
    assert any("Stale files are unknown" in note for note in found.notes)


def test_without_an_answer_of_the_engines_everything_else_is_told(
    finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(root: Path) -> None:
        raise UserError("it does not parse")

    monkeypatch.setattr(status, "read_jobs", fail)
    (finished.root / "dvc.lock").unlink()
    found = project_status(finished.root)
    assert all(each.stale is each.missing is each.recorded is None for each in found.modules)
    assert [note.split(":")[0] for note in found.notes] == [
        "Stale and missing files are unknown",
        "Nothing is recorded",
    ]
    assert {each.module: each.files for each in found.modules}["teaching"] == 4


def test_a_damaged_table_is_named_and_the_others_are_counted(finished: Finished) -> None:
    (finished.root / "results/arena.parquet").write_bytes(b"PAR1")
    boards = modules(finished)["boards"]
    assert boards.unreadable == ["results/arena.parquet"]
    assert boards.tables == {"rejected": 3}
