"""A run crate is of what dvc.lock records, and of nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from magister.audit.exports.certified import check_certified
from magister.audit.exports.chain import chain_behind
from magister.audit.trail import read_trail
from magister.errors import UserError
from tests.export_project import write_lock, write_results


def check(project: Path, *targets: str) -> None:
    trail = read_trail(project)
    check_certified(chain_behind(trail, targets), trail)


def test_what_the_last_run_recorded_is_certified(project: Path) -> None:
    check(project)


def test_without_a_recorded_run_nothing_is(project: Path) -> None:
    (project / "dvc.lock").unlink()
    with pytest.raises(UserError, match=r"dvc.lock: not there"):
        check(project)


def test_results_that_were_made_since_are_refused(project: Path) -> None:
    (project / "prompts/ask.md").write_text("Ask again.\n")
    write_results(project)
    with pytest.raises(
        UserError, match=r"data/made/answers.jsonl.lineage.json: not the content that dvc.lock"
    ):
        check(project)
    write_lock(project)
    check(project)


def test_an_artifact_that_is_not_recorded_is_refused(project: Path) -> None:
    lock = project / "dvc.lock"
    lock.write_text(lock.read_text().replace("data/made/items.json", "data/made/itemz.json"))
    with pytest.raises(UserError, match=r"data/made/items.json: not in dvc.lock"):
        check(project)


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"),
    [
        (
            "params.yaml",
            "rounds: 3",
            "rounds: 4",
            "params.yaml: teaching is not as it was when stage teaching ran",
        ),
        ("params.yaml", "teaching:", "arena:", "params.yaml: teaching is not as it was"),
        ("rules/make.smk", "build", "built", "rules/make.smk: not as it was when stage teaching ran"),
        ("scripts/make.py", "1", "2", "scripts/make.py: not the code that ran"),
    ],
)
def test_an_edit_since_the_run_is_named(project: Path, path: str, old: str, new: str, expected: str) -> None:
    file = project / path
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(UserError, match=expected):
        check(project)


def test_a_stage_that_made_nothing_of_it_is_not_asked(project: Path) -> None:
    """The parameters of stage arena are not in params.yaml at all."""
    assert "arena" in (project / "dvc.lock").read_text()
    assert "arena" not in (project / "params.yaml").read_text()
    check(project, "results/teaching.csv")
