"""`magister verify` and `magister status` as they are called: exit codes, formats, and output that fits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_helpers import Run, widest

from magister.audit import status, verification
from magister.audit.checks import Check
from magister.audit.findings import Finding
from magister.audit.status import ModuleStatus, Status
from magister.audit.verification import CHECKS, Verification

NAMES = [*CHECKS, verification.BOARDS]
HOSTILE = "league=\x1b[31mred, teacher=" + "x" * 90


def found(monkeypatch: pytest.MonkeyPatch, checks: list[Check]) -> None:
    monkeypatch.setattr(verification, "verify", lambda root, target: Verification(target, checks))


def test_where_all_holds_every_check_is_a_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found(monkeypatch, [Check(name, 1_000_000, "responses") for name in NAMES])
    done = run("verify", "results/teaching.parquet")
    assert done.code == 0
    assert widest(done.out) <= 80
    assert done.out.count(" ok\n") == len(NAMES)
    assert "Verified: results/teaching.parquet is as it was recorded." in done.out


def test_what_fails_is_named_and_the_rest_counted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [Finding(f"data/{n:03}.parquet", HOSTILE, NAMES[0], "1", "2") for n in range(30)]
    found(
        monkeypatch, [Check(NAMES[0], 30, "files", many), Check(NAMES[1], 0, "folders", unchecked="no lock")]
    )
    done = run("verify")
    assert done.code == 1
    assert widest(done.out) <= 80
    assert "30 FAIL" in done.out
    assert "data/000.parquet" in done.out
    assert "data/029.parquet" not in done.out
    assert "and 10 more places: --json names them all." in done.out
    assert "\x1b" not in done.out
    assert "cannot be checked: no lock" in done.out
    assert "FAILED: 30 places in 30 files." in done.out
    told = json.loads(run("verify", "--json").out)
    assert told["exit_code"] == 1
    assert len(told["findings"]) == 30
    assert told["findings"][0]["place"] == HOSTILE
    assert told["checks"][1]["unchecked"] == "no lock"


def test_what_cannot_be_checked_has_an_exit_code_of_its_own(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    found(monkeypatch, [Check(NAMES[0], 0, "files", unchecked="artifacts.md5 is not there")])
    done = run("verify")
    assert done.code == 2
    assert "Nothing fails, but not everything could be checked" in " ".join(done.out.split())


@pytest.mark.parametrize("command", ["verify", "status"])
def test_a_folder_without_a_project_is_refused(run: Run, command: str) -> None:
    done = run(command)
    assert done.code == 2
    assert "dvc.yaml: not there" in done.err


def test_the_status_fits_and_says_what_is_unknown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    big = 1_234_567_890
    known = ModuleStatus("diagnosis", files=99_999, rows=big, requests=big, responses=big, errors=big)
    known.truncated = known.tokens_in = known.tokens_out = big
    known.cost, known.missing, known.stale = None, ["data/x"], [f"data/{n}" for n in range(9)]
    monkeypatch.setattr(
        status, "project_status", lambda root: Status([known, ModuleStatus("llm")], ["a note"])
    )
    done = run("status")
    assert done.code == 0
    assert widest(done.out) <= 80
    assert "unknown" in done.out
    assert "data/0, data/1, data/2 and 6 more" in done.out
    assert "1 file missing, 9 files stale" in done.out
    told = json.loads(run("status", "--json").out)
    assert [each["module"] for each in told["modules"]] == ["diagnosis", "llm"]
    assert told["modules"][0]["cost"] is None


def test_help_says_what_the_exit_codes_mean(run: Run) -> None:
    assert "exit code 1" in " ".join(run("verify", "--help").out.split())
    assert not any(Path().iterdir())
