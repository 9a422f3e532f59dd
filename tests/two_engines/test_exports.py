"""Exports of a project that both engines have made: the records and the content that DVC certified fit together."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.two_engines.conftest import ROOT, Project


@pytest.fixture(scope="module")
def finished(built: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with the files of a clone that say what it needs."""
    project = built.copy(tmp_path_factory.mktemp("exports") / "project")
    for name in ("pyproject.toml", "requirements/run.lock", "LICENSE", "README.md"):
        (project.path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, project.path / name)
    project.commit("what it needs")
    return project


def export(project: Project, *arguments: str) -> int:
    call = f"from magister.cli import main; main(['export', *{list(arguments)!r}])"
    return project.try_run(sys.executable, "-c", call).code


def test_a_run_is_exported_whole_and_leaves_no_trace(finished: Project, tmp_path: Path) -> None:
    assert export(finished, str(tmp_path / "crate"), "--as", "ro-crate") == 0
    assert export(finished, str(tmp_path / "x.intoto.jsonl"), "--as", "in-toto") == 0
    graph = json.loads((tmp_path / "crate/ro-crate-metadata.json").read_text(encoding="utf-8"))["@graph"]
    (run,) = (one for one in graph if one["@type"] == "CreateAction")
    assert run["result"] == {"@id": "results/teaching.parquet"}
    values = {one["name"]: one.get("value") for one in graph if one["@type"] == "PropertyValue"}
    assert values["teaching.rounds"] == 1
    lines = (tmp_path / "x.intoto.jsonl").read_text(encoding="utf-8").splitlines()
    md5s = finished.md5s()
    for line in lines:
        (subject,) = json.loads(line)["subject"]
        assert md5s[subject["name"]] == subject["digest"]["md5"]
        assert (tmp_path / "crate" / subject["name"]).is_file()
    finished.is_quiet()


def test_an_edited_parameter_is_no_parameter_of_that_run(finished: Project, tmp_path: Path) -> None:
    project = finished.copy(tmp_path / "project")
    project.edit("teaching.rounds", 2)
    assert export(project, str(tmp_path / "crate"), "--as", "ro-crate") == 2
    assert not (tmp_path / "crate").exists()
