"""Replies of models that edit items and of models that review the edits: the JSON object in them, or why none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from magister.answers import is_refusal, strip_reasoning

Message = dict[str, str]
_YES, _NO = ("true", "yes"), ("false", "no")


@dataclass(frozen=True)
class Reply:
    """A reply about one item.

    Attributes:
        text: what the model wrote; None where there is no response.
        status: `error` for a failure of infrastructure, `refusal` where the endpoint says so, `truncated` where
            the reply was cut at its length limit, else `ok`.
    """

    text: str | None
    status: str = "ok"


class Fallback(Exception):
    """An edit that is not taken, with the reason."""


def unread(reply: Reply) -> str:
    """Why a reply holds no object that can be read: `refused`, `truncated` or `bad_json`."""
    if reply.status == "refusal" or is_refusal(reply.text):
        return "refused"
    return "truncated" if reply.status == "truncated" else "bad_json"


def read_object(reply: Reply | None, *needed: str) -> dict[str, Any]:
    """The object of a reply.

    Raises:
        Fallback: the reason why there is none: `error`, `refused`, `truncated` or `bad_json`.
    """
    if reply is None or reply.status == "error" or reply.text is None:
        raise Fallback("error")
    found = find_object(reply.text, *needed)
    if found is None:
        raise Fallback(unread(reply))
    return found


def _truth(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    word = value.strip().casefold() if isinstance(value, str) else ""
    return True if word in _YES else False if word in _NO else None


def read_checklist(reply: Reply | None, checks: Sequence[str]) -> tuple[str | None, str | None]:
    """Read a review.

    Args:
        reply: the reviewer's reply.
        checks: the points, in the order in which a failed one is named.

    Returns:
        The review as JSON, None where it cannot be read; and the check that failed or the reason why it cannot
        be read, None where every point holds.
    """
    if reply is None:
        return None, "error"
    try:
        found = read_object(reply, *checks)
    except Fallback as reason:
        return None, str(reason)
    answers = {check: _truth(found[check]) for check in checks}
    if None in answers.values():
        return None, unread(reply)
    return json.dumps(answers, sort_keys=True), next((check for check in checks if not answers[check]), None)


def find_object(text: str | None, *needed: str) -> dict[str, Any] | None:
    """Find the last JSON object that has certain keys.

    Reasoning, code fences and prose around it are passed over; an object inside another one is found too.

    Args:
        text: the reply.
        *needed: keys the object must have.

    Returns:
        The object, or None.
    """
    visible = strip_reasoning(text).text
    decoder = json.JSONDecoder()
    found = None
    start = visible.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(visible, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if isinstance(value, dict) and all(key in value for key in needed):
                found = value
            else:
                end = start + 1
        start = visible.find("{", end)
    return found
