"""Rewriting of options by a model, checked in code and by a reviewer model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from magister.answers import canonical_value
from magister.contracts.schemas import ITEMS
from magister.items._build import all_distinct
from magister.items._choices import LETTERS, Malformed, scalar_text, strip_labels
from magister.items._flags import needs_options, options_in_question
from magister.items._normalise import GOLD_SEPARATOR
from magister.items._numbers import is_numeric
from magister.items._replies import Fallback, Message, Reply, read_checklist, read_object
from magister.prompts import Prompt

CHECKS = ("one_correct", "all_distinct", "no_giveaway", "meaning_kept")
MAX_OPTION_CHARS = 240


def _open_rows(items: pa.Table) -> list[dict[str, Any]]:
    """Items whose options were built here; the options of native items are the source's and stay."""
    return [row for row in items.to_pylist() if row["rewrite_status"] != "native"]


def _right(row: Mapping[str, Any]) -> list[int]:
    return [LETTERS.index(letter) for letter in row["key"]]


def rewrite_bodies(items: pa.Table, prompt: Prompt) -> dict[str, list[Message]]:
    """Write the messages that ask a model to rewrite options.

    Args:
        items: ITEMS table, written by the rules.
        prompt: template over question, passage, options (list), gold and key.

    Returns:
        Messages by item; items with native options are not rewritten.
    """
    return {
        row["item_id"]: prompt.render(
            question=row["question"],
            passage=row["passage"],
            options=row["options"],
            gold=row["gold"],
            key=row["key"],
        )
        for row in _open_rows(items)
    }


def _check_rewrite(row: Mapping[str, Any], reply: Reply | None) -> list[str]:
    """Options of a rewrite that keeps the item what it was.

    Raises:
        Fallback: the reason why it does not.
    """
    values = read_object(reply, "options")["options"]
    if isinstance(values, Mapping):
        values = list(values.values())
    if not isinstance(values, list):
        raise Fallback("bad_json")
    try:
        texts = strip_labels([scalar_text(value) or "" for value in values])
    except Malformed:
        raise Fallback("bad_json") from None
    if len(texts) != len(row["options"]):
        raise Fallback("count_changed")
    if any(not text or "\n" in text or len(text) > MAX_OPTION_CHARS for text in texts):
        raise Fallback("bad_option")
    try:
        json.dumps(texts, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Fallback("bad_option") from None
    right = _right(row)
    same = [
        canonical_value(old) == canonical_value(new) for old, new in zip(row["options"], texts, strict=True)
    ]
    if not all(same[place] for place in right):
        raise Fallback("changed_key")
    if not all_distinct(texts):
        raise Fallback("merged_options")
    # The wording of a distractor may change; the value of a number may not.
    if any(not kept and is_numeric(old) for kept, old in zip(same, row["options"], strict=True)):
        raise Fallback("changed_option")
    return texts


def review_bodies(
    items: pa.Table, rewrite_replies: Mapping[str, Reply], prompt: Prompt
) -> dict[str, list[Message]]:
    """Write the messages that ask a reviewer to go through the checklist.

    Args:
        items: ITEMS table, written by the rules.
        rewrite_replies: the rewriter's replies by item.
        prompt: template over question, passage, options and key (as rewritten), gold, original (options
            before).

    Returns:
        Messages by item, for the rewrites that hold in code; the others fall back and need no review.
    """
    bodies: dict[str, list[Message]] = {}
    for row in _open_rows(items):
        try:
            texts = _check_rewrite(row, rewrite_replies.get(row["item_id"]))
        except Fallback:
            continue
        bodies[row["item_id"]] = prompt.render(
            question=row["question"],
            passage=row["passage"],
            options=texts,
            original=row["options"],
            gold=row["gold"],
            key=row["key"],
        )
    return bodies


def _rewritten(row: dict[str, Any], texts: list[str], status: str, review: str | None) -> dict[str, Any]:
    return {
        **row,
        "options": texts,
        "gold": GOLD_SEPARATOR.join(texts[place] for place in _right(row)),
        "needs_options": needs_options(row["question"], texts),
        "options_in_question": options_in_question(row["question"], texts),
        "rewrite_status": status,
        "review": review,
    }


def apply_rewrites(
    items: pa.Table, rewrite_replies: Mapping[str, Reply], review_replies: Mapping[str, Reply] | None = None
) -> pa.Table:
    """Take the rewrites that keep their items what they were.

    A rewrite must have as many options, pairwise distinct, the gold equal in value at the same place, and
    numbers unchanged in value; with a reviewer, every point of the checklist must hold. Otherwise the options
    written by the rules stay and `rewrite_status` is `fallback:<reason>`: error, refused, truncated, bad_json,
    count_changed, bad_option, changed_key, changed_option, merged_options, review_failed:<check>. Keys never
    change.

    Args:
        items: ITEMS table, written by the rules.
        rewrite_replies: the rewriter's replies by item.
        review_replies: the reviewer's replies by item; None without a reviewer.

    Returns:
        The ITEMS table.
    """
    rows = []
    for row in items.to_pylist():
        if row["rewrite_status"] == "native":
            rows.append(row)
            continue
        review = None
        try:
            texts = _check_rewrite(row, rewrite_replies.get(row["item_id"]))
            if review_replies is not None:
                review, failed = read_checklist(review_replies.get(row["item_id"]), CHECKS)
                if failed is not None:
                    raise Fallback(f"review_failed:{failed}")
        except Fallback as reason:
            rows.append({**row, "rewrite_status": f"fallback:{reason}", "review": review})
        else:
            rows.append(_rewritten(row, texts, "rewritten", review))
    return pa.Table.from_pylist(rows, schema=ITEMS.schema)
