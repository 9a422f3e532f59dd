"""Rewriting of options by a model, checked in code and by a reviewer model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from magister.answers import canonical_value, is_refusal
from magister.contracts.schemas import ITEMS
from magister.items._build import all_distinct
from magister.items._choices import LETTERS, Malformed, scalar_text, strip_labels
from magister.items._flags import needs_options, options_in_question
from magister.items._normalise import GOLD_SEPARATOR
from magister.items._numbers import is_numeric
from magister.items._replies import find_object
from magister.prompts import Prompt

CHECKS = ("one_correct", "all_distinct", "no_giveaway", "meaning_kept")
MAX_OPTION_CHARS = 240
_YES, _NO = ("true", "yes"), ("false", "no")
Message = dict[str, str]


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


class _Fallback(Exception):
    """A rewrite that is not taken, with the reason."""


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


def _refused(reply: Reply) -> bool:
    return reply.status == "refusal" or (reply.text is not None and is_refusal(reply.text))


def _unread(reply: Reply) -> str:
    """Why a reply holds no object that can be read."""
    if _refused(reply):
        return "refused"
    return "truncated" if reply.status == "truncated" else "bad_json"


def _check_rewrite(row: Mapping[str, Any], reply: Reply | None) -> list[str]:
    """Options of a rewrite that keeps the item what it was.

    Raises:
        _Fallback: the reason why it does not.
    """
    if reply is None or reply.status == "error" or reply.text is None:
        raise _Fallback("error")
    found = find_object(reply.text, "options")
    if found is None:
        raise _Fallback(_unread(reply))
    values = found["options"]
    if isinstance(values, Mapping):
        values = list(values.values())
    if not isinstance(values, list):
        raise _Fallback("bad_json")
    try:
        texts = strip_labels([scalar_text(value) or "" for value in values])
    except Malformed:
        raise _Fallback("bad_json") from None
    if len(texts) != len(row["options"]):
        raise _Fallback("count_changed")
    if any(not text or "\n" in text or len(text) > MAX_OPTION_CHARS for text in texts):
        raise _Fallback("bad_option")
    try:
        json.dumps(texts, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _Fallback("bad_option") from None
    right = _right(row)
    same = [
        canonical_value(old) == canonical_value(new) for old, new in zip(row["options"], texts, strict=True)
    ]
    if not all(same[place] for place in right):
        raise _Fallback("changed_key")
    if not all_distinct(texts):
        raise _Fallback("merged_options")
    # The wording of a distractor may change; the value of a number may not.
    if any(not kept and is_numeric(old) for kept, old in zip(same, row["options"], strict=True)):
        raise _Fallback("changed_option")
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
        except _Fallback:
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


def _truth(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    word = value.strip().casefold() if isinstance(value, str) else ""
    return True if word in _YES else False if word in _NO else None


def _check_review(reply: Reply | None) -> tuple[str | None, str | None]:
    """Read a checklist: the review as JSON, and the check that failed, if any."""
    if reply is None or reply.status == "error" or reply.text is None:
        return None, "error"
    found = find_object(reply.text, *CHECKS)
    answers = {check: _truth(found[check]) for check in CHECKS} if found else {}
    if not answers or None in answers.values():
        return None, _unread(reply)
    return json.dumps(answers, sort_keys=True), next((check for check in CHECKS if not answers[check]), None)


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
                review, failed = _check_review(review_replies.get(row["item_id"]))
                if failed is not None:
                    raise _Fallback(f"review_failed:{failed}")
        except _Fallback as reason:
            rows.append({**row, "rewrite_status": f"fallback:{reason}", "review": review})
        else:
            rows.append(_rewritten(row, texts, "rewritten", review))
    return pa.Table.from_pylist(rows, schema=ITEMS.schema)
