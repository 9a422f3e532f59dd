"""DVC and a run of Snakemake in one folder: DVC takes no folder away while jobs run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from magister.errors import UserError
from magister.pipeline._dvc_lock import hold_folders


def dvc(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dvc", *arguments], cwd=root, capture_output=True, text=True, check=False
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with one stage that has made `out/made` and is out of date."""
    (tmp_path / "dvc.yaml").write_text(
        "stages: {work: {cmd: mkdir -p out && cp source out/made, deps: [source], outs: [out]}}\n"
    )
    (tmp_path / "source").write_text("1")
    assert dvc(tmp_path, "init", "--no-scm", "--quiet").returncode == 0
    assert dvc(tmp_path, "repro", "--quiet").returncode == 0
    (tmp_path / "source").write_text("2")
    return tmp_path


def test_dvc_refuses_a_stage_whose_folder_is_held_and_looks_at_it_all_the_same(root: Path) -> None:
    with hold_folders(root, ["out"]):
        done = dvc(root, "repro")
        assert done.returncode != 0
        assert f"(PID {os.getpid()}): snakemake" in done.stderr
        assert (root / "out/made").read_text() == "1"
        assert "changed deps" in dvc(root, "status").stdout
    assert dvc(root, "repro").returncode == 0
    assert (root / "out/made").read_text() == "2"


def test_a_folder_that_dvc_works_on_is_not_taken(root: Path) -> None:
    state = root / ".dvc/tmp/rwlock"
    entry = {"pid": os.getppid(), "cmd": "dvc repro"}
    state.write_text(json.dumps({"read": {}, "write": {str(root / "out"): entry}}))
    with pytest.raises(UserError, match="DVC is at work in this folder"):
        hold_folders(root, ["out"])


def test_a_process_that_is_gone_holds_nothing(root: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    entry = {"pid": gone.pid, "cmd": "snakemake"}
    (root / ".dvc/tmp/rwlock").write_text(json.dumps({"read": {str(root / "out"): [entry]}, "write": {}}))
    assert dvc(root, "repro").returncode == 0
    assert (root / "out/made").read_text() == "2"
