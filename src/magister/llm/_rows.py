"""Answer rows: what an engine delivers and the store keeps, and the kinds of failure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Row = dict[str, Any]
"""A row of the store: `custom_id`, `response`, `error`, `attempts`."""

ERROR_CODES = (
    "context_length",
    "rate_limit",
    "server",
    "timeout",
    "connection",
    "bad_request",
    "auth",
    "model_not_found",
    "cancelled",
)

FINAL = frozenset({"context_length"})
"""Follow from the request itself: asking again gives the same, so they count as finished."""

FATAL = frozenset({"auth", "model_not_found"})
"""Every other request would fail the same way: the run stops at once and nothing is recorded."""

_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|maximum model length"
    r"|context (?:size|window|length)|(?:prompt|input) is too long",
    re.IGNORECASE,
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_ROLE = "assistant"


def is_overflow(*texts: object) -> bool:
    """Say whether an error's code, type or message means that the request does not fit the model's context.

    The patterns are those of OpenAI, vLLM, llama.cpp and the compatible endpoints of others.
    """
    return any(isinstance(text, str) and _OVERFLOW.search(text) is not None for text in texts)


def success(custom_id: str, body: Mapping[str, Any], attempts: int, *, model: str | None = None) -> Row:
    """Make the row of an answer out of a chat completion, leaving out all that changes from call to call.

    Args:
        custom_id: request key.
        body: the chat completion as parsed.
        attempts: tries used.
        model: name to record instead of the returned one.

    Raises:
        ValueError: the completion holds no usable choice. The message says what is wrong.
    """
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ValueError("the reply has no choices")
    if choices[0].get("error") or choices[0].get("finish_reason") == "error":
        raise ValueError("the reply's choice is an error")  # how some gateways pass on a failure in mid-reply
    said = choices[0].get("message")
    if not isinstance(said, dict):
        raise ValueError("the reply's choice has no message")
    content = said.get("content")
    if content is not None and not isinstance(content, str):
        raise ValueError(f"the reply's content is {type(content).__name__}, not a text")
    message: dict[str, Any] = {"role": _ROLE, "content": _clean(content)}
    # Servers disagree on the name of the reasoning field; one is kept.
    reasoning = said.get("reasoning_content") or said.get("reasoning")
    if isinstance(reasoning, str):
        message["reasoning_content"] = _clean(reasoning)
    if isinstance(said.get("refusal"), str):
        message["refusal"] = _clean(said["refusal"])
    reported = body.get("usage")
    usage = reported if isinstance(reported, dict) else {}
    counted = ("prompt_tokens", "completion_tokens", "total_tokens")
    returned = model if model is not None else body.get("model")
    return {
        "custom_id": custom_id,
        "response": {
            "status_code": 200,
            "body": {
                "model": _clean(returned) if isinstance(returned, str) else None,
                "choices": [
                    {"index": 0, "finish_reason": choices[0].get("finish_reason"), "message": message},
                ],
                "usage": {key: usage[key] for key in counted if isinstance(usage.get(key), int)},
            },
        },
        "error": None,
        "attempts": attempts,
    }


def failure(custom_id: str, code: str, message: str, attempts: int) -> Row:
    """Make the row of a request that got no answer."""
    if code not in ERROR_CODES:
        raise ValueError(f"unknown error code {code!r}; known: {', '.join(ERROR_CODES)}")
    error = {"code": code, "message": _clean(message)[:500]}
    return {"custom_id": custom_id, "response": None, "error": error, "attempts": attempts}


def is_finished(row: Row) -> bool:
    """Say whether a row settles its request: an answer, or a failure that follows from the request."""
    return row["error"] is None or row["error"]["code"] in FINAL


def _clean(text: str | None) -> Any:
    """Replace halves of surrogate pairs, which a server may send and no UTF-8 file can hold."""
    return text if text is None else _SURROGATE.sub("\ufffd", text)
