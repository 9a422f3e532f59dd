"""Iterations that do not take place: after the stop of the loop a stub stands in place of each document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from magister.errors import UserError

Document = dict[str, Any]


def frozen(decision: Document) -> Document:
    """What stands in place of an iteration after the loop has stopped: no version, no task and no call."""
    if not is_frozen(decision) and not decision["stop"]:
        raise UserError(
            f"iteration {decision['iteration']} did not stop the loop: there is nothing to freeze"
        )
    same = decision["same_as"] if is_frozen(decision) else decision["best"]
    return {"status": "frozen", "same_as": int(same)}


def is_frozen(document: object) -> bool:
    """Whether a document stands in place of an iteration that did not take place."""
    return isinstance(document, Mapping) and document.get("status") == "frozen"
