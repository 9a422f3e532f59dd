"""A rewriter and a reviewer through the real rules: what they get wrong, the rules' form replaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Project, scripted_params


@pytest.fixture(scope="module")
def project(new_project: Callable[[dict[str, Any]], Project]) -> Project:
    params = scripted_params(6, rounds=1)
    params["items"] |= {"ladder": [], "pad": "numeric_neighbours", "rewriter": "editor", "reviewer": "critic"}
    params["items"]["datasets"]["sums"]["generator_args"] = {}
    params["models"] |= {
        "editor": {"engine": "scripted", "script": "rewriter"},
        "critic": {"engine": "scripted", "script": "reviewer"},
    }
    return new_project(params)


def build(project: Project, rewriter: dict[str, Any], reviewer: dict[str, Any]) -> list[dict[str, Any]]:
    params = project.params()
    params["models"]["editor"]["script_args"] = rewriter
    params["models"]["critic"]["script_args"] = reviewer
    project.write_params(params)
    project.build("items")
    return project.table("data/items/items.parquet")


def test_a_good_rewrite_is_taken_with_its_review(project: Project) -> None:
    rows = build(project, {"mode": "keep"}, {})
    assert {row["rewrite_status"] for row in rows} == {"rewritten"}
    assert all('"one_correct": true' in row["review"] for row in rows)


def test_a_rewrite_that_the_reviewer_faults_is_not_taken(project: Project) -> None:
    rows = build(project, {"mode": "keep"}, {"fails": "no_giveaway"})
    assert {row["rewrite_status"] for row in rows} == {"fallback:review_failed:no_giveaway"}


def test_a_torn_rewrite_leaves_the_form_of_the_rules(project: Project) -> None:
    rows = build(project, {"mode": "bad_json"}, {})
    assert {row["rewrite_status"] for row in rows} == {"fallback:bad_json"}
    built = {row["item_id"]: row for row in project.table("data/items/built.parquet")}
    for row in rows:
        assert (row["options"], row["key"]) == (
            built[row["item_id"]]["options"],
            built[row["item_id"]]["key"],
        )
