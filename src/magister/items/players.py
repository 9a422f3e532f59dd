"""Scripted rewriters and reviewers: each mistake that the checks in code must catch, on demand."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from magister.errors import UserError
from magister.llm import player

_OPTION = re.compile(r"^\d+\. (.*)$", re.MULTILINE)
REWRITER_MODES = ("keep", "bad_json", "changed_key", "merged_options", "refuse")


@player("rewriter")
def rewriter(messages: list[dict[str, Any]], request_key: str, args: Mapping[str, Any]) -> str:
    """Rewrite options as the shipped prompt asks.

    Args (of the configuration):
        mode: `keep` - as they are; `bad_json` - a torn object; `changed_key` - every value changed;
            `merged_options` - two options made equal; `refuse` - no rewrite.
    """
    del request_key
    mode = str(args.get("mode", "keep"))
    if mode not in REWRITER_MODES:
        raise UserError(f"rewriter: unknown mode {mode!r}; known: {', '.join(REWRITER_MODES)}")
    options = _OPTION.findall(messages[-1]["content"])
    if mode == "refuse":
        return "I'm sorry, but I can't help with that."
    if mode == "bad_json":
        return json.dumps({"options": options})[:-4]
    if mode == "changed_key":
        options = [f"9{text}" for text in options]
    if mode == "merged_options":
        options = [options[0], *options[:-1]]
    return json.dumps({"options": options})


@player("reviewer")
def reviewer(messages: list[dict[str, Any]], request_key: str, args: Mapping[str, Any]) -> str:
    """Fill in the checklist: all points hold, but for the one that `fails` names."""
    del messages, request_key
    points = ("one_correct", "all_distinct", "no_giveaway", "meaning_kept")
    return json.dumps({point: point != args.get("fails") for point in points})
