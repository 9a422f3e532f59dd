"""A rewriter and a reviewer behind an OpenAI-compatible endpoint, through the real rules."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from .chat_server import KindServer, review, spoilt
from .conftest import Project, scripted_params

EXPECTED = {
    "good": "rewritten",
    "fenced": "rewritten",
    "bad_json": "fallback:bad_json",
    "changed_key": "fallback:changed_key",
    "moved_key": "fallback:changed_key",
    "joined": "fallback:count_changed",
    "made_equal": "fallback:merged_options",
    "other_number": "fallback:changed_option",
    "refused": "fallback:refused",
    "filtered": "fallback:refused",
    "cut": "fallback:truncated",
    "objection": "fallback:review_failed:no_giveaway",
    "review_refused": "fallback:review_failed:refused",
    "review_cut": "fallback:review_failed:truncated",
    "review_prose": "fallback:review_failed:bad_json",
}
CHECKS = ("one_correct", "all_distinct", "no_giveaway", "meaning_kept")


def rewrite(kind: str, options: list[str], right: int) -> tuple[str, str]:
    """What an editor says, and its finish reason."""
    texts = [f"{text}.0" for text in options]
    wrong = [place for place in range(len(options)) if place != right]
    if kind == "changed_key":
        texts[right] = str(int(options[right]) + 1000)
    elif kind == "moved_key":
        texts = texts[1:] + texts[:1]
    elif kind == "joined":
        texts = [f"{texts[0]} or {texts[1]}", *texts[2:]]
    elif kind == "made_equal":
        texts[wrong[0]] = options[wrong[1]]
    elif kind == "other_number":
        texts[wrong[0]] = str(int(options[wrong[0]]) + 1000)
    said = json.dumps({"options": texts})
    return spoilt(kind, said)


class Endpoint(KindServer):
    """An editor and a critic; each question has one kind of reply, given again when asked."""

    def reply(self, model: str, prompt: str) -> tuple[str, str]:
        question = prompt.partition("Question: ")[2].partition("\n")[0]
        kind = self.kind_of(model, question)
        options = re.findall(r"^\d+\. (.*)$", prompt, re.M)
        right = int(re.findall(r"option is number (\d+)", prompt)[0]) - 1
        return (
            rewrite(kind, options, right)
            if model == "editor-2026-01-01"
            else review(kind, CHECKS, "no_giveaway")
        )


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(list(EXPECTED)) as server:
        yield server


@pytest.fixture(scope="module")
def project(new_project: Callable[[dict[str, Any]], Project], endpoint: Endpoint) -> Project:
    params = scripted_params(len(EXPECTED) + 1, rounds=1)
    params["items"] |= {"ladder": [], "pad": "numeric_neighbours", "rewriter": "editor", "reviewer": "critic"}
    params["items"]["datasets"]["sums"]["generator_args"] = {}
    params["models"] |= {
        name: {"engine": "openai", "served_name": f"{name}-2026-01-01", "base_url": endpoint.url}
        for name in ("editor", "critic")
    }
    made = new_project(params)
    made.build("items")
    return made


@pytest.fixture(scope="module")
def rows(project: Project, endpoint: Endpoint) -> dict[str, dict[str, Any]]:
    """An item of each kind of reply."""
    return {endpoint.kinds[row["question"].strip()]: row for row in project.table("data/items/items.parquet")}


@pytest.mark.parametrize("kind", EXPECTED)
def test_every_kind_of_reply_ends_in_its_status(rows: dict[str, dict[str, Any]], kind: str) -> None:
    assert rows[kind]["rewrite_status"] == EXPECTED[kind]


def test_what_falls_back_has_the_form_of_the_rules(project: Project, rows: dict[str, dict[str, Any]]) -> None:
    built = {row["item_id"]: row for row in project.table("data/items/built.parquet")}
    for kind, row in rows.items():
        before = built[row["item_id"]]
        assert row["key"] == before["key"]
        if EXPECTED[kind] == "rewritten":
            assert row["options"] == [f"{text}.0" for text in before["options"]]
        else:
            assert (row["options"], row["gold"]) == (before["options"], before["gold"])


def test_only_rewrites_that_hold_are_reviewed(endpoint: Endpoint, rows: dict[str, dict[str, Any]]) -> None:
    reviewed = {endpoint.kinds[question] for model, question in endpoint.asked if model.startswith("critic")}
    assert reviewed == {
        kind for kind, status in EXPECTED.items() if status == "rewritten" or "review_failed" in status
    }
    assert '"no_giveaway": false' in rows["objection"]["review"]
    assert rows["review_prose"]["review"] is None


def test_nothing_is_asked_twice(endpoint: Endpoint, rows: dict[str, dict[str, Any]]) -> None:
    assert len(endpoint.asked) == len(set(endpoint.asked))
