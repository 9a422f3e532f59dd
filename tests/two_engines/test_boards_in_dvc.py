"""What DVC says of two committed runs: the numbers, the parameters and the charts that changed."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.two_engines.conftest import Project


@pytest.fixture(scope="module")
def compared(built: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One round committed, then two: an experiment that was kept."""
    project = built.copy(tmp_path_factory.mktemp("compared") / "project")
    project.dvc("exp", "run", "--set-param", "teaching.rounds=2")
    assert project.params()["teaching"]["rounds"] == 2
    project.is_quiet()
    project.commit("two rounds")
    return project


def told(project: Project, *arguments: str) -> Any:
    """What DVC says as JSON."""
    done = subprocess.run(
        ["dvc", *arguments, "--json"],
        cwd=project.path,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def numbers(project: Project) -> dict[str, Any]:
    """`results/metrics.json` as it is."""
    loaded: dict[str, Any] = json.loads((project.path / "results/metrics.json").read_text(encoding="utf-8"))
    return loaded


def test_the_numbers_of_the_board_are_metrics(compared: Project) -> None:
    shown = told(compared, "metrics", "show")[""]["data"]
    assert list(shown) == ["results/metrics.json"]
    assert shown["results/metrics.json"]["data"] == numbers(compared)
    assert numbers(compared)["tiny"]["judge"]["rounds"] == 2


def test_a_comparison_names_what_changed_and_by_how_much(compared: Project) -> None:
    assert told(compared, "params", "diff", "HEAD~1", "HEAD") == {
        "params.yaml": {"teaching.rounds": {"old": 1, "new": 2, "diff": 1}}
    }
    changed = told(compared, "metrics", "diff", "HEAD~1", "HEAD")
    assert list(changed) == ["results/metrics.json"]
    entries = changed["results/metrics.json"]
    assert entries["tiny.judge.rounds"] == {"old": 1, "new": 2, "diff": 1}
    assert "tiny.judge.n_items" not in entries
    for name, entry in entries.items():
        league, teacher, metric = name.split(".")
        assert entry["new"] == numbers(compared)[league][teacher].get(metric)


def test_the_curve_of_each_revision_is_drawn(compared: Project) -> None:
    drawn = told(compared, "plots", "diff", "HEAD~1", "HEAD")["data"]
    assert set(drawn) == {"results/teaching_ca.csv", "results/teaching_rounds.csv"}
    (curve,) = drawn["results/teaching_rounds.csv"]
    points = {(point["rev"], point["series"], point["round"]) for point in curve["content"]["data"]["values"]}
    assert points == {
        (revision, f"tiny: {teacher}", number)
        for teacher in ("judge", "teller")
        for revision, rounds in (("HEAD~1", "01"), ("HEAD", "012"))
        for number in rounds
    }
    for (plot,) in drawn.values():
        assert "<DVC_METRIC_" not in json.dumps(plot["content"])


@pytest.mark.parametrize("command", [("show",), ("diff", "HEAD~1", "HEAD")])
def test_charts_are_a_page(compared: Project, tmp_path: Path, command: tuple[str, ...]) -> None:
    compared.dvc("plots", *command, "--out", str(tmp_path))
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert len(re.findall("vegaEmbed\\(", page)) == 2
    assert "tiny: judge" in page


def test_looking_leaves_the_repository_clean(compared: Project) -> None:
    compared.dvc("plots", "show")
    assert compared.run("git", "status", "--porcelain").text == ""
