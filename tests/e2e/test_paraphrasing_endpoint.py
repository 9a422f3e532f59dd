"""A paraphraser and a reviewer behind an OpenAI-compatible endpoint, through the real rules."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from .chat_server import REFUSAL, KindServer, review, spoilt
from .conftest import Project, scripted_params

EXPECTED = {
    "good": "paraphrased",
    "fenced": "paraphrased",
    "bad_json": "fallback:bad_json",
    "no_text": "fallback:bad_json",
    "changed_number": "fallback:changed_numbers",
    "changed_sign": "fallback:changed_signs",
    "empty": "fallback:empty",
    "unchanged": "fallback:unchanged",
    "gold_given_away": "fallback:gold_stated",
    "refused": "fallback:refused",
    "refused_in_json": "fallback:refused",
    "filtered": "fallback:refused",
    "cut": "fallback:truncated",
    "talkative": "fallback:length",
    "objection": "fallback:review_failed:answer_kept",
    "review_refused": "fallback:review_failed:refused",
    "review_cut": "fallback:review_failed:truncated",
    "review_prose": "fallback:review_failed:bad_json",
}
REVIEWED = {kind for kind, end in EXPECTED.items() if end == "paraphrased" or "review_failed" in end}
CHECKS = ("meaning_kept", "answer_kept", "no_giveaway", "clear")


def paraphrase(kind: str, a: int, b: int) -> tuple[str, str]:
    """What the model that rewords says, and its finish reason."""
    text = {
        "changed_number": f"Work out the value of {a} + {b + 1000}.",
        "changed_sign": f"Work out the value of {a} - {b}.",
        "empty": "",
        "unchanged": f"what is {a} + {b}",
        "gold_given_away": f"Show that {a} + {b} comes to {a + b}.",
        "refused_in_json": REFUSAL,
        "talkative": f"Work out the value of {a} + {b}, " + "and take all the time that you need, " * 3,
    }.get(kind, f"Work out the value of {a} + {b}.")
    said = json.dumps({"question": None if kind == "no_text" else text})
    return spoilt(kind, said)


class Endpoint(KindServer):
    """A paraphraser and a critic; each question has one kind of reply, given again when asked."""

    def reply(self, model: str, prompt: str) -> tuple[str, str]:
        question = re.findall(r"^Question: (.*)$", prompt, re.MULTILINE)[0]
        a, b = (int(number) for number in re.findall(r"\d+", question))
        kind = self.kind_of(model, question)
        return (
            paraphrase(kind, a, b) if model.startswith("wordsmith") else review(kind, CHECKS, "answer_kept")
        )


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(list(EXPECTED)) as server:
        yield server


@pytest.fixture(scope="module")
def project(new_project: Callable[[dict[str, Any]], Project], endpoint: Endpoint) -> Project:
    """Two variants whose questions are reworded by one model."""
    params = scripted_params(len(EXPECTED) + 1, rounds=1)
    worded = {"paraphraser": "wordsmith", "reviewer": "critic"}
    variants = {"worded": worded, "both": worded | {"order": 1}}
    params["items"] |= {"ladder": [], "variants": variants}
    params["models"] |= {
        name: {"engine": "openai", "served_name": f"{name}-2026-01-01", "base_url": endpoint.url}
        for name in ("wordsmith", "critic")
    }
    made = new_project(params)
    made.build("items")
    return made


@pytest.fixture(scope="module")
def built(project: Project) -> dict[str, dict[str, Any]]:
    return {row["item_id"]: row for row in project.table("data/items/items.parquet")}


@pytest.fixture(scope="module")
def reports(
    project: Project, endpoint: Endpoint, built: dict[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """A row of each kind of reply."""
    rows = project.table("data/items/variants/worded/report.parquet")
    return {endpoint.kinds[built[row["item_id"]]["question"]]: row for row in rows}


@pytest.mark.parametrize("kind", EXPECTED)
def test_every_kind_of_reply_ends_in_its_status(reports: dict[str, dict[str, Any]], kind: str) -> None:
    assert reports[kind]["stem_status"] == EXPECTED[kind]


def test_what_falls_back_has_the_question_as_built(
    project: Project, reports: dict[str, dict[str, Any]], built: dict[str, dict[str, Any]]
) -> None:
    varied = {row["item_id"]: row for row in project.table("data/items/variants/worded/items.parquet")}
    for kind, report in reports.items():
        row, before = varied[report["item_id"]], built[report["item_id"]]
        if EXPECTED[kind] == "paraphrased":
            assert row["question"] == before["question"].replace("What is", "Work out the value of").replace(
                "?", "."
            )
            assert row | {"question": before["question"]} == before
        else:
            assert row == before


def test_only_paraphrases_that_hold_are_reviewed(
    endpoint: Endpoint, reports: dict[str, dict[str, Any]]
) -> None:
    reviewed = {endpoint.kinds[question] for model, question in endpoint.asked if model.startswith("critic")}
    assert reviewed == REVIEWED
    assert '"answer_kept": false' in reports["objection"]["review"]
    assert reports["review_prose"]["review"] is None


def test_nothing_is_asked_twice_also_for_another_variant(
    project: Project, endpoint: Endpoint, reports: dict[str, dict[str, Any]]
) -> None:
    assert len(endpoint.asked) == len(set(endpoint.asked))
    other = project.table("data/items/variants/both/report.parquet")
    assert [row["stem_status"] for row in other] == [
        row["stem_status"] for row in project.table("data/items/variants/worded/report.parquet")
    ]
    assert any(row["order_changed"] for row in other)
