"""A project with one module alone: both engines agree on it, and the stages of the others make nothing."""

from __future__ import annotations

from pathlib import Path

from tests.two_engines.conftest import make_project, tiny_arena, tiny_params


def test_an_arena_alone_is_certified_and_stages_without_work_pass(tmp_path: Path) -> None:
    params = tiny_params() | {"items": {}, "teaching": {}, "embedders": {"words": {"engine": "hashed"}}}
    scripts = {"one": "responder", "other": "responder", "referee": "pair_judge"}
    params["models"] = {name: {"engine": "scripted", "script": script} for name, script in scripts.items()}
    params["arena"] = tiny_arena()
    params["arena"]["leagues"]["duel"]["people"] = []
    project = make_project(tmp_path / "project", params)
    project.snakemake()
    project.commit("a run")
    project.is_quiet()
    made = project.md5s()
    assert not any(path.startswith(("data/items", "data/teaching", "data/ablations")) for path in made)
    project.dvc("repro", "--force", "--single-item", "items")
    assert project.md5s() == made
    project.is_quiet()
