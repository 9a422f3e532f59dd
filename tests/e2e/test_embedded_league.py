"""Real models teach each other through the real rules, in process and behind an endpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from .conftest import Project

pytestmark = [pytest.mark.model, pytest.mark.slow]


def params(models: dict[str, Any]) -> dict[str, Any]:
    """A league of two speakers on four generated items, one round."""
    return {
        "models": models,
        "items": {
            "datasets": {
                "arithmetic": {
                    "kind": "generated",
                    "generator": "sums",
                    "n": 4,
                    "seed": 1,
                    "domain": "mathematics",
                }
            },
            "pad": "numeric_neighbours",
            "distractor_models": ["guesser"],
            "distractor_samples": 2,
            "max_tokens": 12,
        },
        "teaching": {
            "max_tokens": {"answer": 16, "guide": 24, "revise": 16},
            "leagues": {
                "small": {
                    "students": ["pupil"],
                    "teachers": ["tutor"],
                    "datasets": ["arithmetic"],
                    "rounds": 1,
                    "arms": ["oracle_tell"],
                }
            },
        },
        "statistics": {"resamples": 200},
    }


SPEAKERS: dict[str, dict[str, Any]] = {
    "guesser": {"sampling": {"temperature": 1.0, "seed": 5}},
    "pupil": {"sampling": {"temperature": 0.0}},
    "tutor": {"sampling": {"temperature": 0.0}, "system": "You are a patient tutor."},
}


def embedded(weights: Path) -> dict[str, Any]:
    """The speakers in process."""
    source = {"engine": "llama_cpp", "weights": {"path": str(weights)}, "context": 1024}
    return {name: source | fields for name, fields in SPEAKERS.items()}


@contextmanager
def served(weights: Path) -> Iterator[dict[str, Any]]:
    """The same speakers behind an OpenAI-compatible endpoint."""
    from magister.llm.engines.llama_cpp import start_server

    server = start_server(weights, context=1024)
    source = {
        "engine": "openai",
        "served_name": weights.name,
        "base_url": f"{server.listening_address}/v1",
        "limits": {"concurrency": 1},
    }
    try:
        yield {name: source | fields for name, fields in SPEAKERS.items()}
    finally:
        del server


def values(project: Project) -> list[dict[str, Any]]:
    """The board without what says how it was made."""
    return project.table("results/teaching.parquet")


@pytest.fixture(scope="module")
def league(new_project: Callable[[dict[str, Any]], Project], weights: Path) -> Project:
    project = new_project(params(embedded(weights)))
    project.build()
    return project


def test_real_models_end_on_the_board(league: Project) -> None:
    board = values(league)
    assert {row["teacher"] for row in board} == {"tutor", "oracle_tell"}
    assert all(row["n_error"] == 0 and row["n_items"] > 0 for row in board)


def test_distractors_are_wrong_answers_of_a_real_model(league: Project) -> None:
    origins = {origin for row in league.table("data/items/items.parquet") for origin in row["origins"]}
    assert "harvested" in origins
    assert league.table("data/items/distractors.parquet")[0]["request_ids"]


def test_no_request_is_asked_twice(league: Project) -> None:
    for folder in (league.path / "store").iterdir():
        keys = [
            line.split('"custom_id":"')[1][:64]
            for path in folder.glob("*.jsonl")
            for line in path.read_text().splitlines()
        ]
        assert len(keys) == len(set(keys))


def test_an_endpoint_gives_the_same_board(
    league: Project, new_project: Callable[[dict[str, Any]], Project], weights: Path
) -> None:
    with served(weights) as models:
        project = new_project(params(models))
        project.build()
    assert values(project) == values(league)
