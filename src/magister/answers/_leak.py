"""Leaks: guidance that states an option or the answer instead of teaching."""

from __future__ import annotations

import re
from dataclasses import dataclass

from . import _mentions, _options
from ._canonical import canonical_value, is_number
from ._options import LETTERS
from ._text import Span, fold


@dataclass(frozen=True)
class LeakSpan:
    """One place where guidance states an option.

    Attributes:
        start: first character in the guidance.
        end: one past the last.
        kind: `gold` where it is the right option or value, else `option`.
        in_question: whether the same value or text stands in the question too.
    """

    start: int
    end: int
    kind: str
    in_question: bool


@dataclass(frozen=True)
class Leak:
    """What guidance gives away.

    Attributes:
        kind: `gold`, `option` or `none`; the worst of the spans.
        spans: every place, in order.
    """

    kind: str
    spans: tuple[LeakSpan, ...]


def _widest(found: dict[Span, tuple[str, bool]]) -> list[tuple[Span, str, bool]]:
    """Spans that lie in no other, with the worst kind of those inside them."""
    merged: list[tuple[Span, str, bool]] = []
    for span, (kind, known) in sorted(found.items(), key=lambda item: (item[0][0], -item[0][1])):
        if merged and span[1] <= merged[-1][0][1]:
            outer, worst, all_known = merged[-1]
            merged[-1] = (outer, "gold" if "gold" in (kind, worst) else "option", known and all_known)
        else:
            merged.append((span, kind, known))
    return merged


def _core(text: str) -> str:
    text = re.sub(r"\s+", " ", fold(text).text).strip(" .,;:!?。！？\"'$")
    return re.sub(r"^(?:a|an|the) (?=\w\w)", "", text, flags=re.I)


def find_leak(guidance: str, options: list[str], key: str, gold: str, question: str = "") -> Leak:
    """Find where guidance states the gold letter, the gold value or an option's text.

    Whole matches only: letters where they stand as a choice, numbers and formulas by exact value ("0.5"
    states 1/2, "36 miles" states 36, "360" does not), other texts as whole words whatever their case. Numbers
    of steps and lines are no statements, nor is work still to be done ("6*6"). What the question says itself
    is still reported, with `in_question`; whether that counts is the caller's decision.

    Args:
        guidance: the text for the student.
        options: option texts in order.
        key: letter (or letters) of the right option.
        gold: the right value.
        question: the question's text.

    Returns:
        The worst kind, and every span.
    """
    prepared = _options.prepare(options)
    folded = fold(guidance or "")
    asked = fold(question).text
    keys = {LETTERS.index(letter) for letter in key.upper() if letter in LETTERS[: len(options)]}
    wanted: dict[str, str] = {}
    for index, value in enumerate(prepared.values):
        if value:
            wanted[value] = "gold" if index in keys else wanted.get(value, "option")
    if canonical_value(gold):
        wanted[canonical_value(gold)] = "gold"
    found: dict[Span, tuple[str, bool]] = {}

    def add(span: Span, kind: str, known: bool) -> None:
        if span[1] > span[0] and found.get(span, ("option", False))[0] != "gold":
            found[span] = (kind, known)

    for span, named in _mentions.letters(folded.text, prepared):
        for letter in named:
            add(span, "gold" if LETTERS.index(letter) in keys else "option", False)
    asked_values = {value for _, value in _mentions.values(asked)} if asked else set()
    for span, value in _mentions.values(folded.text):
        if value in wanted:
            add(span, wanted[value], value in asked_values)
    gold_value = canonical_value(gold)
    for text in dict.fromkeys((*prepared.texts, gold)):
        value = canonical_value(text)
        core = _core(text)
        if is_number(value) and not re.search(r"[^\W\d_]{2}", core):
            continue
        kind = "gold" if value == gold_value or wanted.get(value) == "gold" else "option"
        known = any(True for _ in _mentions.phrases(asked, core))
        if is_number(value):
            continue  # a number with a unit was found by its number
        for span in _mentions.phrases(folded.text, core):
            add(span, kind, known)
    spans = [(*folded.original(span), kind, known) for span, kind, known in _widest(found)]
    kinds = {kind for _, _, kind, _ in spans}
    worst = "gold" if "gold" in kinds else "option" if kinds else "none"
    return Leak(worst, tuple(LeakSpan(*item) for item in spans))
