"""Answers to multiple-choice items: blind answers of students, zero-shot answers of teachers and the ladder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from magister.answers import extract_choice, strip_reasoning
from magister.contracts.schemas import ANSWERS
from magister.llm import Request, Response, Speaker
from magister.prompts import Prompt
from magister.teaching.options import options_block


def item_values(item: Mapping[str, Any], answer_as: str) -> dict[str, Any]:
    """What the prompts of students know of an item."""
    return {
        "question": item["question"],
        "passage": item["passage"],
        "options": options_block(item["options"]),
        "answer_as": answer_as,
    }


def answer_requests(
    items: pa.Table, speaker: Speaker, prompt: Prompt, *, answer_as: str, max_tokens: int
) -> list[Request]:
    """Ask every item once, with its options.

    Args:
        items: ITEMS table.
        speaker: who is asked.
        prompt: template over question, passage, options, answer_as.
        answer_as: `text` or `letter`.
        max_tokens: reply limit.

    Returns:
        Request rows in item order.
    """
    return [
        speaker.request(prompt.render(**item_values(item, answer_as)), max_tokens)
        for item in items.to_pylist()
    ]


def read_choice(response: Response, item: Mapping[str, Any]) -> dict[str, Any]:
    """Read one reply: status, answer, rule, span, correctness and the reply itself.

    `correct` is null only where the status is `error`.
    """
    row: dict[str, Any] = {
        "request_id": response.custom_id,
        "text": response.text,
        "finish_reason": response.finish_reason,
        "error": response.error,
        "prompt_tokens": response.prompt_tokens,
        "completion_tokens": response.completion_tokens,
        "answer": None,
        "span_start": None,
        "span_end": None,
    }
    failed = response.failed_status
    if failed is not None:
        return row | {"status": failed, "rule": failed, "correct": None if failed == "error" else False}
    if response.finish_reason == "content_filter":
        return row | {"status": "refusal", "rule": "content_filter", "correct": False}
    choice = extract_choice(response.text, item["options"], response.finish_reason, multi=item["multi"])
    if choice.span is not None:
        row["span_start"], row["span_end"] = choice.span
    return row | {
        "status": choice.status,
        "answer": choice.answer,
        "rule": choice.rule or "none",
        "correct": None
        if choice.status == "error"
        else choice.status == "ok" and choice.answer == item["key"],
    }


def parse_answers(
    items: pa.Table, requests: Iterable[Request], responses: Mapping[str, Response], model: str
) -> pa.Table:
    """Read the replies to `answer_requests`.

    Args:
        items: the table that was asked.
        requests: the rows that `answer_requests` makes for it, in item order.
        responses: by request key.
        model: name of the speaker.

    Returns:
        ANSWERS table, one row per item.
    """
    rows = [
        {"model": model, "item_id": item["item_id"], **read_choice(responses[request["custom_id"]], item)}
        for item, request in zip(items.to_pylist(), requests, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=ANSWERS.schema)


def visible_text(text: str) -> str:
    """A reply as others see it: without its reasoning."""
    return strip_reasoning(text).text.strip()
