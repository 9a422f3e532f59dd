"""Responses of models to the pool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from magister.answers import is_refusal, strip_reasoning
from magister.contracts.arena_tables import ARENA_RESPONSES
from magister.llm import Request, Response, Speaker
from magister.prompts import Prompt


def response_requests(
    instructions: pa.Table, speaker: Speaker, prompt: Prompt, max_tokens: int
) -> dict[str, Request]:
    """Put every instruction to a model.

    Args:
        instructions: INSTRUCTIONS table.
        speaker: who is asked.
        prompt: template over text and scenario.
        max_tokens: reply limit.

    Returns:
        Request by instruction, in the order of ids.
    """
    rows = instructions.select(["instruction_id", "text", "scenario"]).sort_by("instruction_id").to_pylist()
    return {
        row["instruction_id"]: speaker.request(
            prompt.render(text=row["text"], scenario=row["scenario"]), max_tokens
        )
        for row in rows
    }


def read_arena_responses(
    requests: Mapping[str, Request], responses: Mapping[str, Response], model: str
) -> pa.Table:
    """Read the replies to `response_requests`.

    `text` is what a reader sees: without reasoning, untrimmed otherwise. Statuses, the first that holds: error and
    context_exceeded (no reply; `error` says why), refusal (the model or its endpoint declines), truncated (cut at the
    reply limit; the text so far is kept, and is empty where the cut came within the reasoning), empty, ok.

    Args:
        requests: by instruction.
        responses: by request key.
        model: name of the speaker.

    Returns:
        ARENA_RESPONSES table, a row per instruction.
    """
    rows = [_row(name, responses[request["custom_id"]], model) for name, request in requests.items()]
    rows.sort(key=lambda row: row["instruction_id"])
    return pa.Table.from_pylist(rows, schema=ARENA_RESPONSES.schema)


def response_texts(responses: pa.Table) -> dict[str, str | None]:
    """Texts to embed, in the order of ids; None where there is nothing to compare."""
    ordered = responses.sort_by("instruction_id")
    return {
        name: text if text.strip() else None
        for name, text in zip(ordered["instruction_id"].to_pylist(), ordered["text"].to_pylist(), strict=True)
    }


def _row(instruction_id: str, response: Response, model: str) -> dict[str, Any]:
    stripped = strip_reasoning(response.text)
    return {
        "model": model,
        "instruction_id": instruction_id,
        "request_id": response.custom_id,
        "status": _status(response, stripped.text, stripped.status),
        "text": stripped.text,
        "finish_reason": response.finish_reason,
        "error": response.error,
        "prompt_tokens": response.prompt_tokens,
        "completion_tokens": response.completion_tokens,
    }


def _status(response: Response, visible: str, reasoning: str) -> str:
    if response.failed_status is not None:
        return response.failed_status
    if response.finish_reason == "content_filter" or is_refusal(visible):
        return "refusal"
    if response.finish_reason == "length" or reasoning == "truncated":
        return "truncated"
    return "ok" if visible.strip() else "empty"
