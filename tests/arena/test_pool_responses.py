"""Responses of models to the pool, and what stands where there is none."""

from __future__ import annotations

from typing import Any

import pytest
from pool_tables import PROMPTS, response, seeds, speaker

from magister.arena.responses import read_arena_responses, response_requests, response_texts
from magister.contracts.arena_tables import ARENA_RESPONSES
from magister.prompts import load_prompt
from magister.provenance import conform

PROMPT = load_prompt(PROMPTS / "respond" / "v1.md")
POOL = seeds("Explain why ice floats.", "Explain how tides work.")


def row(text: str = "", **fields: Any) -> dict[str, Any]:
    requests = response_requests(POOL.slice(0, 1), speaker("m"), PROMPT, 32)
    replies = {one["custom_id"]: response(one, text, **fields) for one in requests.values()}
    return read_arena_responses(requests, replies, "m").to_pylist()[0]


def test_every_instruction_is_put_as_it_stands() -> None:
    requests = response_requests(POOL, speaker("m"), PROMPT, 32)
    assert list(requests) == sorted(POOL["instruction_id"].to_pylist())
    texts = dict(zip(POOL["instruction_id"].to_pylist(), POOL["text"].to_pylist(), strict=True))
    for name, request in requests.items():
        assert request["body"]["messages"] == [{"role": "user", "content": texts[name]}]
        assert request["body"]["max_tokens"] == 32
    assert response_requests(POOL.take([1, 0]), speaker("m"), PROMPT, 32) == requests


@pytest.mark.parametrize(
    ("text", "fields", "status", "kept"),
    [
        ("Because it is lighter.", {}, "ok", "Because it is lighter."),
        ("I don't know.", {}, "ok", "I don't know."),
        ("", {}, "empty", ""),
        (" \n", {}, "empty", " \n"),
        ("Because it", {"finish": "length"}, "truncated", "Because it"),
        ("<think>Ice is", {"finish": "length"}, "truncated", ""),
        ("<think>Ice is</think>It is lighter.", {}, "ok", "It is lighter."),
        ("I'm sorry, but I can't help with that.", {}, "refusal", "I'm sorry, but I can't help with that."),
        ("I cannot assist with", {"finish": "length"}, "refusal", "I cannot assist with"),
        ("", {"finish": "content_filter"}, "refusal", ""),
        ("", {"error": "server"}, "error", ""),
        ("", {"error": "context_length"}, "context_exceeded", ""),
    ],
)
def test_each_reply_has_its_status(text: str, fields: dict[str, Any], status: str, kept: str) -> None:
    found = row(text, **fields)
    assert (found["status"], found["text"]) == (status, kept)
    assert found["error"] == fields.get("error")
    assert found["completion_tokens"] == 5


def test_the_table_keeps_its_contract_whatever_the_order_of_the_pool() -> None:
    tables = []
    for pool in (POOL, POOL.take([1, 0])):
        requests = response_requests(pool, speaker("m"), PROMPT, 32)
        replies = {one["custom_id"]: response(one, name) for name, one in requests.items()}
        tables.append(read_arena_responses(requests, replies, "m"))
    assert tables[0].equals(tables[1])
    assert conform(tables[0], ARENA_RESPONSES).equals(tables[0])


def test_where_there_is_nothing_to_compare_there_is_no_text_to_embed() -> None:
    requests = response_requests(POOL, speaker("m"), PROMPT, 32)
    first, second = requests.values()
    replies = {
        first["custom_id"]: response(first, error="server"),
        second["custom_id"]: response(second, "Yes."),
    }
    texts = response_texts(read_arena_responses(requests, replies, "m"))
    assert list(texts.items()) == [(min(requests), None), (max(requests), "Yes.")]
