"""How options are shown, and the inverse: the one place that fixes the form `A) text`."""

from __future__ import annotations

import re
from string import ascii_uppercase

_LINE = re.compile(r"^([A-Z])\) (.*)$", re.MULTILINE)


def options_block(options: list[str]) -> str:
    """One line `A) text` per option."""
    return "\n".join(f"{ascii_uppercase[i]}) {' '.join(text.split())}" for i, text in enumerate(options))


def read_options_block(text: str) -> list[str]:
    """Options of the last block in a text; empty when there is none."""
    found: list[str] = []
    for match in _LINE.finditer(text):
        if match[1] == "A":
            found = []
        if match[1] == ascii_uppercase[len(found)]:
            found.append(match[2])
    return found


def option_texts(options: list[str], key: str) -> list[str]:
    """Texts of the options that a key names.

    Args:
        options: texts in order.
        key: letters, for instance `B` or `AC`.
    """
    return [options[ascii_uppercase.index(letter)] for letter in key]
