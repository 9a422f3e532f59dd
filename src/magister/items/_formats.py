"""Options written alike, with no model: `rules` of the configuration."""

from __future__ import annotations

import re
from collections.abc import Sequence

from magister.answers import canonical_value
from magister.items._numbers import Number, parse_number, read_decimal, write_like

_CLOSING = re.compile(r"[\s,;:!。，；]+$")
_FULL_STOP = re.compile(r"(?<![.\s])\.$")
_WRAPPED = re.compile(r"(\*\*|\"|'|`|“|「)(?P<inner>[^*\"'`“”「」]+)(\*\*|\"|'|`|”|」)")
_SMALL_WORD = re.compile(r"[^\W\d_]{2,}")


def _plain(text: str) -> str:
    spaced = " ".join(text.split())
    plain, before = spaced, ""
    # What is taken off may stand inside something else that is.
    while plain != before:
        before = plain
        wrapped = _WRAPPED.fullmatch(plain)
        plain = _CLOSING.sub("", wrapped["inner"].strip() if wrapped else plain)
        # The stop of an abbreviation stays: p.m., U.S.
        if "." not in plain.split(" ")[-1][:-1]:
            plain = _FULL_STOP.sub("", plain)
    return plain or spaced


def _capitalised(text: str) -> str:
    first = _SMALL_WORD.match(text)
    return text[0].upper() + text[1:] if first is not None and first[0].islower() else text


def decimal_value(text: str) -> Number | None:
    """The number that a text says (`12`, `twelve`, `1/2`), where it has a short decimal form."""
    return read_decimal(text) or read_decimal(canonical_value(text))


def format_options(options: Sequence[str], gold: str) -> list[str]:
    """Write options in one form, so that the form does not give the key away.

    Beside a gold that is a number, numbers lose units and currency signs and take the gold's decimals,
    thousands separators and percent sign. Texts lose outer quotation marks and closing punctuation; where
    some begin with a capital letter, all do.

    Args:
        options: the option texts, the gold's among them.
        gold: the right value, whose form numbers follow.

    Returns:
        The texts, in the same order.
    """
    form = parse_number(gold)
    if form is not None:
        numbers = [decimal_value(text) for text in options]
        if all(number is not None for number in numbers):
            return [write_like(number, form) for number in numbers if number is not None]
    texts = [_plain(text) for text in options]
    if any(text[:1].isupper() for text in texts):
        texts = [_capitalised(text) for text in texts]
    return texts
