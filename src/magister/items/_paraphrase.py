"""Paraphrases: questions reworded by a model, checked in code and by a reviewer model."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from magister.answers import find_leak, is_refusal
from magister.contracts.schemas import ITEMS, VARIANT_REPORT
from magister.items._flags import needs_options, options_in_question
from magister.items._replies import Fallback, Message, Reply, read_checklist, read_object
from magister.items._text import clean, fold
from magister.items._variants import VariedItems
from magister.prompts import Prompt

PARAPHRASE_CHECKS = ("meaning_kept", "answer_kept", "no_giveaway", "clear")
MIN_RATIO, MAX_RATIO = 1 / 3, 3.0
"""How much shorter or longer than the question a paraphrase may be, in characters."""

_NUMERAL = re.compile(r"\d+(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+")
_SMALL = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
# Not "one", which is seldom a number ("which one").
_WORDS = {word: value for value, word in enumerate(_SMALL.split(), start=2)}
_WORDS |= {word: 10 * value for value, word in enumerate(_TENS.split(), start=2)}
_WORDS |= {"zero": 0, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "dozen": 12}
_WORDS |= {"二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10}
_WORDS |= {"百": 100, "千": 1000, "万": 10**4, "亿": 10**8}
_WORD = re.compile(
    rf"\b(?:{'|'.join(word for word in _WORDS if word.isascii())})\b"
    rf"|[{''.join(word for word in _WORDS if not word.isascii())}]"
)
# Signs that make another sum of the same numbers; a stroke or a dash only where it stands in one.
_SIGN = re.compile(
    r"[+=<>^√±≤≥≠%]|(?<=[\w)])\s?\*\s?(?=[\w(])|(?<=[\d)])\s?/\s?(?=[\d(])|(?:^|(?<=[\s\d(=+*/^]))-\s?(?=[\d(])"
)
_ONE_SIGN = str.maketrans({"×": "*", "·": "*", "⋅": "*", "÷": "/", "⁄": "/", "−": "-", "–": "-"})
_NEGATION = re.compile(
    r"\b(?:not|cannot|never|no|none|neither|nor|without|except|excluding|least|false|incorrect|wrong)\b|n't\b"
    r"|[不没未非无错]|除了",
)
_NO_WORDS = re.compile(r"[\s.,;:!?'\"`*_()。，；：！？、“”‘’（）]+")


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).translate(_ONE_SIGN).casefold().replace("’", "'")


def _numbers(text: str) -> Counter[Decimal]:
    """Every number in a plain text, by value, with how often it stands there."""
    found = [Decimal(match[0].replace(",", "")) for match in _NUMERAL.finditer(text)]
    found += [Decimal(_WORDS[match[0]]) for match in _WORD.finditer(text)]
    return Counter(found)


def _signs(text: str) -> Counter[str]:
    return Counter(match[0].strip() for match in _SIGN.finditer(text))


def _check_told(row: Mapping[str, Any], text: str) -> None:
    """Hold a paraphrase to telling no more of the options than the question does.

    Raises:
        Fallback: `gold_stated` or `option_stated`.
    """
    question, about = row["question"], (row["options"], row["key"], row["gold"])
    before = {fold(question[span.start : span.end]) for span in find_leak(question, *about).spans}
    told = {
        span.kind
        for span in find_leak(text, *about, question=question).spans
        if not span.in_question and fold(text[span.start : span.end]) not in before
    }
    if told:
        raise Fallback("gold_stated" if "gold" in told else "option_stated")


def _check_words(row: Mapping[str, Any], text: str) -> None:
    """Hold a paraphrase to the numbers, signs and negations of the question, and to how it names its options.

    Raises:
        Fallback: the reason why it does not hold.
    """
    old, new = _plain(row["question"]), _plain(text)
    if _numbers(old) != _numbers(new):
        raise Fallback("changed_numbers")
    if _signs(new) - _signs(old):
        raise Fallback("changed_signs")
    if bool(_NEGATION.search(old)) != bool(_NEGATION.search(new)):
        raise Fallback("changed_negation")
    if (needs_options(text), options_in_question(text, row["options"])) != (
        needs_options(row["question"]),
        options_in_question(row["question"], row["options"]),
    ):
        raise Fallback("changed_reference")
    if not MIN_RATIO <= len(text) / len(row["question"]) <= MAX_RATIO:
        raise Fallback("length")


def _check_paraphrase(row: Mapping[str, Any], reply: Reply | None) -> str:
    """A question in other words that is still the same question, as far as code can tell.

    Raises:
        Fallback: the reason why it is not.
    """
    value = read_object(reply, "question")["question"]
    if not isinstance(value, str):
        raise Fallback("bad_json")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Fallback("bad_json") from None
    text = clean(value)
    if not text:
        raise Fallback("empty")
    if is_refusal(text) and not is_refusal(row["question"]):
        raise Fallback("refused")
    if _NO_WORDS.sub("", _plain(text)) == _NO_WORDS.sub("", _plain(row["question"])):
        raise Fallback("unchanged")
    _check_told(row, text)
    _check_words(row, text)
    return text


def paraphrase_bodies(items: pa.Table, prompt: Prompt) -> dict[str, list[Message]]:
    """Write the messages that ask a model to reword questions. It is shown neither options nor gold.

    Args:
        items: ITEMS table.
        prompt: template over question and passage.

    Returns:
        Messages by item.
    """
    return {
        row["item_id"]: prompt.render(question=row["question"], passage=row["passage"])
        for row in items.select(["item_id", "question", "passage"]).to_pylist()
    }


def paraphrase_review_bodies(
    items: pa.Table, replies: Mapping[str, Reply], prompt: Prompt
) -> dict[str, list[Message]]:
    """Write the messages that ask a reviewer to go through the checklist.

    Args:
        items: ITEMS table with the options of the variant and the questions as built.
        replies: the paraphraser's replies by item.
        prompt: template over question (as built), paraphrase, passage and gold.

    Returns:
        Messages by item, for the paraphrases that hold in code; the others fall back and need no review.
    """
    bodies: dict[str, list[Message]] = {}
    for row in items.to_pylist():
        try:
            text = _check_paraphrase(row, replies.get(row["item_id"]))
        except Fallback:
            continue
        bodies[row["item_id"]] = prompt.render(
            question=row["question"], paraphrase=text, passage=row["passage"], gold=row["gold"]
        )
    return bodies


def apply_paraphrases(
    varied: VariedItems, replies: Mapping[str, Reply], review_replies: Mapping[str, Reply] | None = None
) -> VariedItems:
    """Take the paraphrases that leave their items what they were.

    A paraphrase must differ from the question, keep each of its numbers and add none, add no sign of arithmetic
    and no negation, name its options as the question does, be from a third to three times as long, and state
    neither the gold nor an option that the question does not state; with a reviewer, every point of the
    checklist must hold. Otherwise the question stays and `stem_status` is `fallback:<reason>`: error, refused,
    truncated, bad_json, empty, unchanged, gold_stated, option_stated, changed_numbers, changed_signs,
    changed_negation, changed_reference, length, review_failed:<check>.

    Args:
        varied: items with the options of the variant, and their report.
        replies: the paraphraser's replies by item.
        review_replies: the reviewer's replies by item; None without a reviewer.

    Returns:
        The items, and the report with `stem_status` and `review`.
    """
    rows, notes = [], []
    for row, note in zip(varied.items.to_pylist(), varied.report.to_pylist(), strict=True):
        review, status = None, "paraphrased"
        try:
            text = _check_paraphrase(row, replies.get(row["item_id"]))
            if review_replies is not None:
                review, failed = read_checklist(review_replies.get(row["item_id"]), PARAPHRASE_CHECKS)
                if failed is not None:
                    raise Fallback(f"review_failed:{failed}")
            row = {**row, "question": text}
        except Fallback as reason:
            status = f"fallback:{reason}"
        rows.append(row)
        notes.append({**note, "stem_status": status, "review": review})
    return VariedItems(
        pa.Table.from_pylist(rows, schema=ITEMS.schema),
        pa.Table.from_pylist(notes, schema=VARIANT_REPORT.schema),
    )
