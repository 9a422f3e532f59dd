"""Sets of scenarios with players in closed form: rubrics are repaired or rolled back, and a killed run goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from magister.audit.places import contract_of
from magister.audit.promises import broken
from magister.config.params import load_params
from magister.jobs import count_jobs

from .conftest import Project
from .test_interrupted import asked, kill, outputs, start, wait_for
from .test_plan import planned_jobs

pytestmark = pytest.mark.slow

NewProject = Callable[[dict[str, Any]], Project]
SET = "data/rubrics/sets/lessons"
SCENARIO = """
magister: 1
agents:
  teacher: {prompt: "You teach. The problem: {question}"}
  student: {prompt: You learn.}
directions:
  - START -> teacher
  - teacher -> router:any_keyword(keywords=["<end>"], then=END, otherwise="student")
  - student -> teacher
tasks:
  mode: union
  start_prompt: "Today: {question}"
  content: {question: [QUESTIONS]}
"""


def player(script: str, **args: Any) -> dict[str, Any]:
    return {"engine": "scripted", "script": script, "script_args": args}


def rubric_params(iterations: int, judges: list[str], **writer: Any) -> dict[str, Any]:
    """Three teachers of known quality, and a writer whose first metrics have flaws."""
    quality = {"strong": 0.9, "middle": 0.5, "weak": 0.1}
    return {
        "models": {
            **{name: player("rubric_teacher", quality=q, salt="x") for name, q in quality.items()},
            "pupil": player("rubric_student"),
            "ann": player("rubric_judge", noise=0.3),
            "bob": player("rubric_judge", broken=0.3),
            "writer": player("rubric_writer", **writer),
        },
        "rubrics": {
            "sets": {
                "lessons": {
                    "scenarios": ["data/scenarios/sums.yaml"],
                    "models": list(quality),
                    "partners": {"*": "pupil"},
                    "judges": judges,
                    "source": "scenegen",
                    "writer": "writer",
                    "iterations": iterations,
                    "max_turns": 3,
                }
            },
            "scenegen": {"metrics": 4},
            # All metrics of these players count the same thing.
            "checks": {"redundant_r": 1.0, "off_target_length_r": 1.0},
        },
        "statistics": {"resamples": 200},
    }


def with_scenario(project: Project) -> Project:
    """The project with its scenario file."""
    questions = ", ".join(f'"What is {number} + {number + 3}?"' for number in range(12))
    path = project.path / "data/scenarios/sums.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SCENARIO.replace("QUESTIONS", questions), encoding="utf-8")
    return project


def decisions(project: Project, iterations: int) -> list[dict[str, Any]]:
    return [
        json.loads((project.path / f"{SET}/{i}/decisions.json").read_text(encoding="utf-8"))["sums"]
        for i in range(iterations + 1)
    ]


@pytest.fixture(scope="module")
def repaired(new_project: NewProject) -> Project:
    """A set whose first rubric has a lenient, a strict and a vague metric, built by a run that nobody disturbed."""
    params = rubric_params(
        2, ["ann", "bob"], personalisation="lenient", pedagogy="strict", creativity="vague"
    )
    project = with_scenario(new_project(params))
    assert planned_jobs(project) == count_jobs_of(project)
    project.build()
    return project


def count_jobs_of(project: Project) -> int:
    import os

    before = Path.cwd()
    os.chdir(project.path)
    try:
        return count_jobs(load_params(Path("params.yaml")))
    finally:
        os.chdir(before)


def test_three_flawed_metrics_are_repaired_and_after_the_stop_nobody_is_called(repaired: Project) -> None:
    found = decisions(repaired, 2)
    assert set(found[0]["flags"]) == {"personalisation_1", "pedagogy_1", "creativity_1"}
    stop = next(number for number, one in enumerate(found) if one.get("stop"))
    assert stop <= 2
    assert found[stop]["stop_reason"] == "nothing_flagged"
    assert found[stop]["flags"] == {}
    assert all(one == {"status": "frozen", "same_as": stop} for one in found[stop + 1 :])
    later = [
        path for i in range(stop + 1, 3) for path in (repaired.path / f"{SET}/{i}").rglob("*.requests.jsonl")
    ]
    assert len(later) == 12
    assert all(path.read_bytes() == b"" for path in later)
    for path in (repaired.path / SET).rglob("*.parquet"):
        table = pq.read_table(path)
        found = contract_of(table.schema)
        assert found is not None, path
        assert list(broken(table, found)) == [], path
    best = json.loads((repaired.path / f"{SET}/best.json").read_text(encoding="utf-8"))["sums"]
    assert best["iteration"] == stop
    board = repaired.table("results/rubrics.parquet")
    ranks = {row["model"]: row["rank"] for row in board if row["dim"] == "overall"}
    assert ranks == {"strong": 1, "middle": 2, "weak": 3}
    page = (repaired.path / "results/rubrics.md").read_text(encoding="utf-8")
    assert f"best of {stop + 1} iterations is number {stop}; stopped: nothing flagged" in page


def test_a_dialogue_is_asked_for_once_whatever_the_iteration(repaired: Project) -> None:
    keys = asked(repaired, "strong")
    assert len(keys) == len(set(keys)) == 24


def test_a_set_whose_run_was_killed_in_mid_dialogue_goes_on_to_the_same_bytes(
    repaired: Project, new_project: NewProject
) -> None:
    project = with_scenario(new_project(repaired.params()))
    for moment in ("0/waves/2/pupil.requests.jsonl", "0/judge/ann.asked.parquet"):
        process = start(project)
        wait_for(project.path / SET / moment, process)
        kill(process)
    project.build()
    assert outputs(project) == outputs(repaired)
    for model in ("strong", "pupil", "ann", "writer"):
        assert sorted(asked(project, model)) == sorted(asked(repaired, model))


def test_a_rewriting_that_makes_it_worse_is_rolled_back(new_project: NewProject) -> None:
    project = with_scenario(new_project(rubric_params(2, ["bob"], pedagogy="strict", worsen=1.0)))
    project.build(f"{SET}/gate.json")
    first, second, third = decisions(project, 2)
    assert [one["best"] for one in (first, second, third)] == [0, 0, 0]
    assert second["parent_sha"] == third["parent_sha"] == first["rubric_sha"]
    assert third["stop_reason"] == "patience"
    best = json.loads((project.path / f"{SET}/best.json").read_text(encoding="utf-8"))["sums"]
    assert (best["iteration"], best["sha"]) == (0, first["rubric_sha"])
    assert "The first version is the best." in (project.path / f"{SET}/lineages.md").read_text(
        encoding="utf-8"
    )


def test_a_scenario_that_cannot_be_played_is_named_before_anything_runs(new_project: NewProject) -> None:
    params = rubric_params(0, ["bob"])
    params["rubrics"]["sets"]["lessons"]["partners"] = {}
    project = with_scenario(new_project(params))
    done = project.run("-n")
    assert done.returncode != 0
    assert "data/scenarios/sums.yaml: no model speaks for the agent 'student'" in done.stdout + done.stderr
