"""Text on a terminal: nothing steers it, columns are counted as they are seen, shortened names stay different."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable

_GAP = "…"


def visible(text: str) -> str:
    """Text of models, servers and files with what would steer a terminal written out (`\\x1b`)."""
    return "".join(char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text)


def counted(number: int | str, noun: str) -> str:
    """A number with its noun: `1 item`, `2 items`, `1-3 items`."""
    return f"{number} {noun}" if str(number) == "1" else f"{number} {noun}s"


def columns(text: str) -> int:
    """How many columns a terminal gives a text: two for a wide character, none for a mark over another."""
    return len(text) if text.isascii() else sum(map(_column, text))


def _column(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def ljust(text: str, width: int) -> str:
    """`str.ljust` by columns."""
    return text + " " * (width - columns(text))


def _start(text: str, width: int) -> str:
    """As much of the beginning of a text as fits."""
    used = 0
    for at, char in enumerate(text):
        used += _column(char)
        if used > width:
            return text[:at]
    return text


def _end(text: str, width: int) -> str:
    """As much of the end of a text as fits; marks that have lost their character go."""
    used = 0
    for at in range(len(text) - 1, -1, -1):
        used += _column(text[at])
        if used > width:
            kept = text[at + 1 :]
            while kept and not _column(kept[0]):
                kept = kept[1:]
            return kept
    return text


def shorten(names: Iterable[str], width: int) -> dict[str, str]:
    """Make names fit, such that different names stay different.

    Names differ at their ends as often as at their beginnings, so that the middle goes: `script…ge-90`. Where two
    come out alike, a number stands at the end: `script…1`.

    Args:
        names: all names that stand beside one another, in any order.
        width: columns for each, at least those of the number of names.

    Returns:
        What to write for each.
    """
    # Names that fit come first: they are written as they are.
    ordered = sorted(set(names), key=lambda name: (columns(name) > width, name))
    alike: dict[str, list[str]] = {}
    for name in ordered:
        alike.setdefault(_without_middle(name, width), []).append(name)
    short = {some[0]: text for text, some in alike.items() if len(some) == 1 or some[0] == text}
    used = set(short.values())
    for some in alike.values():
        for number, name in enumerate((name for name in some if name not in short), start=1):
            short[name] = _numbered(name, number, width, used)
            used.add(short[name])
    return short


def _without_middle(name: str, width: int) -> str:
    if columns(name) <= width:
        return name
    end = _end(name, (width - 1) // 2)
    return _start(name, width - 1 - columns(end)) + _GAP + end


def _numbered(name: str, number: int, width: int, used: Collection[str]) -> str:
    while True:
        end = f"{_GAP}{number}"
        text = _start(name, width - len(end)) + end if width >= len(end) else str(number)
        if text not in used:
            return text
        number += 1


def wrap(text: str, width: int, indent: str = "  ") -> list[str]:
    """Fold a line at its spaces, by columns; a word that is longer than a line is broken.

    Args:
        text: one paragraph; spaces before it stay.
        width: columns of a line.
        indent: put before every line but the first.

    Returns:
        The lines; none for an empty text.
    """
    lines: list[str] = []
    line = text[: len(text) - len(text.lstrip())]
    begun = False
    for word in text.split():
        rest = word
        if begun and columns(line) + 1 + columns(rest) <= width:
            line += f" {rest}"
            continue
        if begun:
            lines.append(line)
            line = indent
        while columns(line) + columns(rest) > width:
            # A line holds a character at least, however narrow the terminal is.
            piece = _start(rest, width - columns(line)) or rest[0]
            lines.append(line + piece)
            line, rest = indent, rest[len(piece) :]
        line += rest
        begun = True
    return [*lines, line] if begun else []


def escape_markdown(text: str) -> str:
    """Names are data: markup or a line break in one must not change a page of Markdown."""
    return " ".join(re.sub(r"([\\|*`\[\]])", r"\\\1", text).replace("<", "&lt;").split())
