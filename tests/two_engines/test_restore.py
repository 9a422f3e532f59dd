"""From a clone to a project that both engines call current, because it was checked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.two_engines.conftest import RATING, Project


def restore(project: Project, *arguments: str) -> tuple[int, str]:
    """`magister restore`."""
    done = project.try_run("magister", "restore", *arguments)
    return done.code, " ".join(done.text.split())


def test_a_clone_is_restored_and_one_edit_reruns_the_same_jobs_through_either(
    built: Project, tmp_path: Path
) -> None:
    one, other = built.clone(tmp_path / "one"), built.clone(tmp_path / "other")
    for clone in (one, other):
        code, text = restore(clone)
        assert code == 0, text
        assert "fitting their lineage, adopted" in text
        assert "nothing to do" in text
        clone.is_quiet()
        clone.edit("statistics.resamples", 300)
    by_snakemake, by_dvc = one.snakemake(), other.dvc("repro")
    print("snakemake:", sorted(by_snakemake.ran))
    print("dvc repro:", sorted(by_dvc.ran))
    assert by_snakemake.ran == by_dvc.ran == RATING
    assert one.md5s() == other.md5s()
    for clone in (one, other):
        clone.is_quiet()


def test_a_script_edited_since_is_named_and_its_jobs_are_left_to_do(built: Project, tmp_path: Path) -> None:
    clone = built.clone(tmp_path / "clone")
    script = clone.path / "scripts" / "teaching" / "teaching_metrics.py"
    script.write_text(script.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    code, text = restore(clone)
    assert code == 1
    assert "scripts/teaching/teaching_metrics.py is another one now" in text
    assert "Left to do" in text
    assert "teaching_metrics" in text.rsplit("Left to do", 1)[1]
    assert "build_items" not in text.rsplit("Left to do", 1)[1]


def test_what_a_remote_lacks_is_an_error_and_the_rest_is_kept(built: Project, tmp_path: Path) -> None:
    clone = built.clone(tmp_path / "clone")
    (tmp_path / "remote").mkdir()
    clone.dvc("remote", "add", "empty", str(tmp_path / "remote"))
    code, text = restore(clone, "--remote", "empty")
    assert code == 1
    assert "could not bring everything" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("lost", "message"), [(".dvc", "no DVC project"), ("dvc.lock", "nothing has been recorded")]
)
def test_without_a_record_there_is_nothing_to_restore(project: Project, lost: str, message: str) -> None:
    path = project.path / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    code, text = restore(project)
    assert code == 2
    assert message in text
