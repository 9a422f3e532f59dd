"""The JSON object in a model's reply."""

from __future__ import annotations

import json
from typing import Any

from magister.answers import strip_reasoning


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
