"""Scripted rewriters, paraphrasers and reviewers: each mistake that the checks in code must catch, on demand."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from magister.errors import UserError
from magister.llm import player

_OPTION = re.compile(r"^\d+\. (.*)$", re.MULTILINE)
_SUM = re.compile(r"What is (-?\d+) \+ (-?\d+)\?")
_POINT = re.compile(r"^- (\w+):", re.MULTILINE)
REWRITER_MODES = ("keep", "bad_json", "changed_key", "merged_options", "refuse")
PARAPHRASER_MODES = ("reword", "keep", "bad_json", "changed_number", "tell", "empty", "refuse")
_REFUSAL = "I'm sorry, but I can't help with that."


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
        return _REFUSAL
    if mode == "bad_json":
        return json.dumps({"options": options})[:-4]
    if mode == "changed_key":
        options = [f"9{text}" for text in options]
    if mode == "merged_options":
        options = [options[0], *options[:-1]]
    return json.dumps({"options": options})


@player("paraphraser")
def paraphraser(messages: list[dict[str, Any]], request_key: str, args: Mapping[str, Any]) -> str:
    """Reword questions `What is a + b?` in a way that scripted students and teachers still read.

    Args (of the configuration):
        mode: `reword` - in other words; `keep` - unchanged; `bad_json` - a torn object; `changed_number` - another
            sum; `tell` - the answer in it; `empty` - no words; `refuse` - no paraphrase.
    """
    del request_key
    mode = str(args.get("mode", "reword"))
    if mode not in PARAPHRASER_MODES:
        raise UserError(f"paraphraser: unknown mode {mode!r}; known: {', '.join(PARAPHRASER_MODES)}")
    found = list(_SUM.finditer(messages[-1]["content"]))
    if not found:
        raise UserError(
            "the scripted paraphraser rewords only questions with a sum (`What is 12 + 30?`), none found in: "
            f"{messages[-1]['content'][:100]!r}. Use it on a dataset with generator `sums`."
        )
    a, b = int(found[-1][1]), int(found[-1][2])
    if mode == "refuse":
        return _REFUSAL
    question = {
        "keep": found[-1][0],
        "empty": " ",
        "tell": f"Show that {a} + {b} comes to {a + b}.",
        "changed_number": f"Work out the value of {a} + {b + 1000}.",
    }.get(mode, f"Work out the value of {a} + {b}.")
    said = json.dumps({"question": question})
    return said[:-4] if mode == "bad_json" else said


@player("reviewer")
def reviewer(messages: list[dict[str, Any]], request_key: str, args: Mapping[str, Any]) -> str:
    """Fill in the checklist that the prompt names: all points hold, but for the one that `fails` names."""
    del request_key
    points = [point for message in messages for point in _POINT.findall(message["content"])]
    return json.dumps({point: point != args.get("fails") for point in points})
