"""The trail of a project: what is made from what."""

from __future__ import annotations

from pathlib import Path

import pytest

from magister.audit.trail import read_trail
from magister.errors import UserError
from magister.provenance import code_md5s, make_lineage, write_json


def write(root: Path, path: str, inputs: list[str]) -> None:
    lineage = make_lineage(
        "r", wildcards={}, inputs=[Path(name) for name in inputs], params={}, code=code_md5s(()), root=root
    )
    write_json(root / path, {"made": path}, lineage)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "raw.txt").write_text("1")
    write(tmp_path, "data/a.json", ["raw.txt"])
    write(tmp_path, "data/b.json", ["data/a.json"])
    write(tmp_path, "data/c.json", ["data/a.json", "data/b.json"])
    return tmp_path


def test_a_file_is_walked_back_to_its_sources_nearest_first(project: Path) -> None:
    trail = read_trail(project, ["data"])
    assert list(trail.back("data/c.json")) == ["data/c.json", "data/a.json", "data/b.json", "raw.txt"]
    assert trail.sources() == ["raw.txt"]
    assert trail.made_from["data/a.json"] == ["data/b.json", "data/c.json"]
    assert not trail.orphans


def test_a_file_without_a_record_and_a_record_without_a_file_are_orphans(project: Path) -> None:
    (project / "data/stray.txt").write_text("?")
    (project / "data/b.json").unlink()
    trail = read_trail(project, ["data"])
    assert trail.orphans == ["data/b.json.lineage.json", "data/stray.txt"]
    assert "no lineage record" in str(trail.artifacts["data/stray.txt"].problem)


def test_a_project_in_which_nothing_was_made_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="snakemake --cores all"):
        read_trail(tmp_path, ["data"])
