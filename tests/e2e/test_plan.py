"""A plan and the run it foresees: jobs, calls, what the store holds; and that a price is no part of any result."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Project, scripted_params

PLAN = "from magister.cli import main; main(['plan', 'teaching', '--format', 'json'])"


def plan(project: Project) -> list[dict[str, Any]]:
    """What `magister plan teaching` says, as rows."""
    done = subprocess.run(
        [sys.executable, "-c", PLAN],
        cwd=project.path,
        env=project.environment() | {"PYTHONPATH": str(project.path / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def calls(rows: list[dict[str, Any]]) -> int:
    return sum(row["calls"] for row in rows if row["kind"] == "calls")


def planned_jobs(project: Project) -> int:
    """How many jobs Snakemake foresees."""
    done = project.run("-n", "--quiet", "progress")
    return len(set(re.findall(r"^Job (\d+):", done.stdout + done.stderr, re.MULTILINE)))


@pytest.fixture(scope="module")
def project(new_project: Callable[[dict[str, Any]], Project]) -> Project:
    return new_project(scripted_params(12, rounds=2))


def test_a_plan_foresees_the_run(project: Project) -> None:
    from magister.config.params import load_params
    from magister.jobs import count_jobs

    before = plan(project)
    assert all(row["held"] is None for row in before if row["kind"] == "calls")
    assert count_jobs(load_params(project.path / "params.yaml")) == planned_jobs(project)
    project.build()
    after = plan(project)
    asked = sum(
        len(path.read_text().splitlines()) for path in (project.path / "data").rglob("*.requests.jsonl")
    )
    assert calls(after) == asked <= calls(before)
    for row in after:
        if row["kind"] == "calls":
            assert (row["held"], row["tokens_in"], row["cost"]) == (row["calls"], 0, 0.0)


def test_a_new_price_makes_nothing_run_again(project: Project) -> None:
    project.build()
    params = project.params()
    for model in params["models"].values():
        model |= {"price_in": 2.5, "price_out": 10}
    before = project.artifacts()
    project.write_params(params)
    done = project.run("-n", "--quiet", "progress")
    assert "Nothing to be done" in done.stdout + done.stderr
    assert project.artifacts() == before
