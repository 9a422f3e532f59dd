"""A board of others through the real rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest

from magister.stats import ModelBootstrap, correlation

from .conftest import Project, scripted_params

HEAD = "board,model,score,date\n"
SCORES = {"judge-80": 61.5, "always-wrong": 40.0, "always-right": 41.0, "teller": 70.25}


@pytest.fixture(scope="module")
def project(new_project: Callable[[dict[str, Any]], Project]) -> Project:
    params = scripted_params(n=16, rounds=1)
    params["statistics"] = {"resamples": 200}
    params["items"]["ladder"] = []
    params["teaching"]["leagues"]["scripted"] |= {"students": ["guesser"], "arms": []}
    params["teaching"]["external"] = {
        "boards": ["data/external/bench.csv"],
        "names": {"bench": {name: name.upper() for name in SCORES}},
    }
    project = new_project(params)
    (project.path / "data/external").mkdir(parents=True)
    rows = [f"bench,{name.upper()},{score},2025-01-01" for name, score in SCORES.items()]
    rows += ["bench,TELLER,1,2024-01-01", "bench,someone,99,2025-01-01", "bench,other,many,2025-01-01"]
    (project.path / "data/external/bench.csv").write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    project.build()
    return project


def test_a_league_is_held_to_a_board(project: Project) -> None:
    metrics = {
        row["teacher"]: row["value"]
        for row in project.table("data/teaching/scripted/metrics.parquet")
        if (row["metric"], row["slice_kind"], row["arm"], row["round"]) == ("CA", "overall", "taught", 1)
    }
    found = {
        row["coefficient"]: row
        for row in project.table("results/meta_evaluation.parquet")
        if (row["board"], row["metric"]) == ("bench", "CA")
    }
    names = sorted(SCORES)
    for coefficient, row in found.items():
        expected = correlation(
            [metrics[name] for name in names],
            [SCORES[name] for name in names],
            coefficient,  # type: ignore[arg-type]
            ModelBootstrap(0, 0),
        )
        assert row["value"] == pytest.approx(expected.value, abs=1e-12)
        assert (row["n_models"], row["policy"], row["resamples"]) == (4, "wrong", 200)
    assert set(found) == {"spearman", "kendall", "pearson"}


def test_every_name_is_accounted_for(project: Project) -> None:
    status = {
        (row["model"], row["row"]): row["status"] for row in project.table("results/meta_names.parquet")
    }
    assert status == {
        ("judge-80", 2): "used", ("always-wrong", 3): "used", ("always-right", 4): "used", ("teller", 5): "used",
        ("silent", 0): "unmapped", ("", 6): "superseded", ("", 7): "unmapped", ("", 8): "rejected",
    }  # fmt: skip
    page = (project.path / "results/meta_evaluation.md").read_text(encoding="utf-8")
    assert "score 'many' is no number" in page
    assert "Mapped to no name of the board: silent." in page


def test_the_plots_are_there_and_are_well_formed(project: Project) -> None:
    for name, words in {
        "ca_forest": "judge-80",
        "teaching_curve": "judge-80",
        "meta_scatter": "bench",
    }.items():
        svg = (project.path / f"results/plots/{name}.svg").read_text(encoding="utf-8")
        about = ElementTree.fromstring(svg).find("{http://www.w3.org/2000/svg}desc")
        assert about is not None
        assert words in (about.text or "")
        assert (project.path / f"results/plots/{name}.svg.lineage.json").is_file()


def log_times(project: Project) -> dict[str, int]:
    """When each job last wrote its log."""
    folder = project.path / "logs"
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in folder.rglob("*.log")}


def test_an_edit_of_a_board_runs_what_reads_it_and_nothing_else(project: Project) -> None:
    path = project.path / "data/external/bench.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("many", "3"), encoding="utf-8")
    before = log_times(project)
    project.build()
    ran = {name for name, time in log_times(project).items() if before.get(name) != time}
    assert ran == {"meta_evaluation.log", "validate_boards.log", "teaching_plots.log"}


def test_a_board_that_is_not_there_stops_the_run_before_it_begins(project: Project) -> None:
    params = project.params()
    missing = project.params()
    missing["teaching"]["external"]["boards"] = ["data/external/gone.csv"]
    project.write_params(missing)
    done = project.run("--dry-run")
    project.write_params(params)
    assert done.returncode != 0
    assert "params.yaml: teaching.external.boards: no file 'data/external/gone.csv'" in done.stderr
