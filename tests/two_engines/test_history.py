"""Runs that were made before, elsewhere or on trial: what they leave must leave both engines in agreement."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.two_engines.conftest import RATING, Done, Project

Rebuild = Callable[[Project], Done]


def test_the_run_cache_restores_and_snakemake_agrees(project: Project) -> None:
    project.dvc("repro")
    first = project.md5s()
    project.edit("statistics.resamples", 300)
    project.dvc("repro")
    project.edit("statistics.resamples", 200)
    project.dvc("repro")
    assert project.md5s() == first
    project.is_quiet()
    assert not project.snakemake().ran


def test_git_and_dvc_checkout_of_an_earlier_run(built: Project, edited: Project, tmp_path: Path) -> None:
    project = edited.copy(tmp_path / "project")
    project.run("git", "checkout", "--quiet", "HEAD~1")
    project.dvc("checkout")
    assert project.md5s() == built.md5s()
    project.is_quiet()
    project.run("git", "checkout", "--quiet", "main")
    project.dvc("checkout")
    assert project.md5s() == edited.md5s()
    project.is_quiet()


def test_a_fresh_clone_is_quiet_after_a_pull(built: Project, cloned: Project) -> None:
    assert cloned.md5s() == built.md5s()
    cloned.is_quiet()
    assert not cloned.snakemake().ran


def test_an_edit_in_a_fresh_clone_reruns_what_depends_on_it(cloned: Project, rebuild: Rebuild) -> None:
    cloned.edit("statistics.resamples", 300)
    assert rebuild(cloned).ran == RATING
    cloned.is_quiet()


def test_parameters_flipped_back_under_stale_records(project: Project) -> None:
    first = project.md5s()
    project.edit("statistics.resamples", 300)
    project.dvc("repro")
    project.edit("statistics.resamples", 200)
    project.snakemake()
    assert project.md5s() == first
    project.is_quiet()


@pytest.mark.parametrize("where", [[], ["--temp"]], ids=["workspace", "temp"])
def test_an_experiment_changes_a_parameter(project: Project, where: list[str]) -> None:
    done = project.dvc("exp", "run", *where, "--set-param", "statistics.resamples=300", "--name", "more")
    assert "more" in done.text
    if where:
        project.is_quiet()
    project.dvc("exp", "apply", "more")
    assert project.params()["statistics"]["resamples"] == 300
    metrics = pq.read_table(project.path / "data/teaching/tiny/metrics.parquet")
    assert set(metrics["resamples"].to_pylist()) == {300}
    project.is_quiet()


def test_the_number_of_cores_and_the_folder_do_not_show(built: Project, tmp_path: Path) -> None:
    other = built.clone(tmp_path / "elsewhere")
    other.snakemake(cores=1)
    assert other.md5s() == built.md5s()
