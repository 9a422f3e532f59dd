"""A log of another tool as a data set of the pipeline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from magister.items import log_responses, read_log

from .conftest import Project, scripted_params


def record(number: int, filtered_by: str) -> dict[str, Any]:
    """A line of lm-evaluation-harness."""
    return {
        "doc_id": number,
        "doc": {"question": f"Which is number {number}?", "choices": ["cat", "dog", "cow"]},
        "target": str(number % 3),
        "resps": [["dog"]],
        "filtered_resps": ["dog"],
        "filter": filtered_by,
        "metrics": ["exact_match"],
        "exact_match": float(number % 3 == 1),
    }


@pytest.fixture(scope="module")
def project(new_project: Callable[[dict[str, Any]], Project]) -> Project:
    params = scripted_params()
    path = Path("data/own/m/samples_animals.jsonl")
    params["items"]["datasets"] = {"animals": {"kind": "file", "path": str(path), "format": "lm_eval"}}
    params["teaching"]["leagues"]["scripted"]["datasets"] = ["animals"]
    project = new_project(params)
    (project.path / path.parent).mkdir(parents=True)
    lines = [json.dumps(record(number, name)) for number in range(9) for name in ("strict", "loose")]
    (project.path / path).write_text("\n".join(lines) + "\n")
    return project


def test_its_items_reach_the_pool_and_its_answers_join_them(project: Project) -> None:
    said = project.build("data/items/pool/animals.parquet")
    assert "9 records of the log are no rows of their own" in said
    pool = {row["item_id"]: row["key"] for row in project.table("data/items/pool/animals.parquet")}
    log = read_log(project.path / "data/own/m/samples_animals.jsonl", "lm_eval")
    found = log_responses(log, "animals").to_pylist()
    assert {row["item_id"] for row in found} == set(pool)
    assert all(row["correct"] == (pool[row["item_id"]] == "B") for row in found)
