"""How a number is written: sign, grouping, decimals and what stands around it.

This is about form only, so that options can be written alike. Whether two answers are equal is decided by
`magister.answers`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_NUMBER = re.compile(
    r"(?P<before>[$€£¥]?)\s*(?P<sign>[-+−]?)\s*(?P<inner>[$€£¥]?)\s*"
    rf"(?P<whole>{_DIGITS})(?:\.(?P<decimals>\d+))?"
    r"\s*(?P<after>.*)",
    re.DOTALL,
)
_FRACTION = re.compile(r"(?P<sign>[-−]?)\s*(?P<top>\d{1,15})\s*/\s*(?P<bottom>\d{1,15})")
# What may follow a number as its unit: words, a percent sign, a slash or a power; no further number.
_UNIT = re.compile(r"(?:%|°?[^\W\d_][^\d,;:=]{0,78}[²³]?)?\.?")
# Words that make the text a statement or another quantity: "12 or more", "3 to one", "3rd", "5 p.m.".
_NOT_UNIT = re.compile(
    r"(?:and|or|to|of|plus|minus|if|is|are|more|less|than|th|st|nd|rd|am|pm|[ap]\.m\.?)\b",
    re.IGNORECASE,
)
MAX_DIGITS = 30


@dataclass(frozen=True)
class Number:
    """A number as written.

    Attributes:
        scaled: the value times 10 to the number of decimals.
        decimals: digits after the point.
        grouped: whether thousands are separated.
        prefix: currency sign before it, or nothing.
        unit: what follows it, or nothing.
    """

    scaled: int
    decimals: int = 0
    grouped: bool = False
    prefix: str = ""
    unit: str = ""

    @property
    def percent(self) -> bool:
        """Whether the number is a percentage: then the sign belongs to the value."""
        return self.unit == "%"


def parse_number(text: str) -> Number | None:
    """Read a text that is one number, perhaps with a currency sign or a unit.

    Args:
        text: for instance `9 apples`, `$1,200.50`, `-3`, `50%`.

    Returns:
        The number, or None where the text is anything else (`3:4`, `1/2`, `12 or more`, `3rd`).
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    after = match["after"].strip()
    if not _UNIT.fullmatch(after) or _NOT_UNIT.match(after):
        return None
    decimals = match["decimals"] or ""
    digits = match["whole"].replace(",", "") + decimals
    if len(digits) > MAX_DIGITS or not digits.isascii():
        return None
    scaled = -int(digits) if match["sign"] in ("-", "−") else int(digits)
    prefix = match["before"] or match["inner"]
    return Number(scaled, len(decimals), "," in match["whole"], prefix, after.rstrip("."))


def parse_fraction(text: str) -> Fraction | None:
    """Read `a/b`; None for anything else and for a zero below the line."""
    match = _FRACTION.fullmatch(text.strip())
    if match is None or int(match["bottom"]) == 0:
        return None
    value = Fraction(int(match["top"]), int(match["bottom"]))
    return -value if match["sign"] else value


def read_decimal(text: str) -> Number | None:
    """Read a number or a fraction that has an exact short decimal form."""
    number = parse_number(text)
    if number is not None:
        return number
    fraction = parse_fraction(text)
    if fraction is None:
        return None
    for decimals in range(5):
        scaled = fraction * 10**decimals
        if scaled.denominator == 1:
            return Number(int(scaled), decimals)
    return None


def is_numeric(text: str) -> bool:
    """Whether the text is one number, with or without a unit, or a fraction."""
    return parse_number(text) is not None or parse_fraction(text) is not None


def write_like(number: Number, gold: Number) -> str:
    """Write a number in the form of the gold.

    Units and currency signs are left out, a percent sign is kept, thousands are separated where the gold's
    are, decimals are filled up to the gold's number of them. No digit is rounded away: that would change an
    answer.

    Args:
        number: what to write.
        gold: whose form is followed.
    """
    scaled, decimals = number.scaled, number.decimals
    while decimals > gold.decimals and scaled % 10 == 0:
        scaled, decimals = scaled // 10, decimals - 1
    if decimals < gold.decimals:
        scaled, decimals = scaled * 10 ** (gold.decimals - decimals), gold.decimals
    value = Decimal(scaled).scaleb(-decimals)
    written = f"{value:{',' if gold.grouped else ''}.{decimals}f}"
    return written + ("%" if gold.percent else "")


def shift(number: Number, scaled: int) -> Number:
    """The same form with another value."""
    return replace(number, scaled=scaled)
