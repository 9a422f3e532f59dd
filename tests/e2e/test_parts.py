"""A project may have one module alone: an empty section makes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from magister.config.params import load_params
from magister.jobs import count_jobs

from .conftest import Project, scripted_params
from .test_arena import arena_params
from .test_plan import planned_jobs

PARTS = {
    "arena": ({"data/arena", "data/models", "results"}, "Arena, league duel"),
    "teaching": ({"data/items", "data/teaching", "data/ablations", "data/models", "results"}, "scripted"),
    "items": ({"data/items", "data/models"}, ""),
}


def alone(part: str) -> dict[str, Any]:
    """Parameters of one module, with what it needs."""
    if part == "arena":
        params = arena_params()
        params["arena"]["leagues"]["duel"] |= {"judges": [], "k": 3}
        del params["items"], params["teaching"]
        return params
    params = scripted_params(4, 1)
    params["teaching"]["leagues"]["scripted"] |= {
        "teachers": ["silent"],
        "students": ["obedient"],
        "arms": [],
    }
    if part == "items":
        del params["teaching"]
    return params


@pytest.mark.parametrize("part", list(PARTS))
def test_a_module_alone_makes_its_own_files_only(
    part: str, new_project: Callable[[dict[str, Any]], Project]
) -> None:
    project = new_project(alone(part))
    assert planned_jobs(project) == count_jobs(load_params(project.path / "params.yaml"))
    said = project.build()
    folders, words = PARTS[part]
    made = {"/".join(path.split("/")[: 1 + path.startswith("data/")]) for path in project.artifacts()}
    assert made == folders
    assert words in said
    assert planned_jobs(project) == 0
