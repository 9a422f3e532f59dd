"""Text as the item steps compare it, and order and choice by seeded hashes.

Hashes stand in for a random generator: an item's draw depends on the seed and the item alone, not on how many
others there are, on their order or on the version of a library.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from magister.answers import canonical_value

# Shorter words can differ by case alone and mean different things: genotypes (Bb, BB), units (mW, MW).
# Written out in full: a superscript, a unit or a percent sign makes a text more than its number.
_PLAIN_NUMBER = re.compile(r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d{1,30})(?:\.\d{1,30}|/\d{1,30})?")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")


def clean(text: str) -> str:
    """Text as it is kept: canonical composition, no white space around it."""
    return unicodedata.normalize("NFC", text).strip()


def fold(text: str) -> str:
    """Text as it is compared: composed, single spaces, no case."""
    return " ".join(unicodedata.normalize("NFC", text).split()).casefold()


def fold_option(text: str) -> str:
    """An option as it is compared with its neighbours.

    A closing full stop and, in texts with a word of four letters, the case do not make two options different.
    Plain numbers are compared by value: `5` and `5.0`, `1/2` and `0.5` are one option. Signs are not unified
    otherwise: `10²` and `102` are two options.
    """
    spaced = " ".join(unicodedata.normalize("NFC", text).split())
    spaced = spaced.rstrip(".。 ") or spaced
    if _PLAIN_NUMBER.fullmatch(spaced):
        return canonical_value(spaced)
    return spaced.casefold() if _LONG_WORD.search(spaced) else spaced


def sha(*parts: str) -> str:
    """Hexadecimal SHA-256 of the parts, unambiguous about where each ends."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(f"{len(encoded)}:".encode())
        digest.update(encoded)
    return digest.hexdigest()


def given_item_id(dataset: str, given: str) -> str:
    """The id of an item whose source identifies it."""
    return f"{dataset}-{sha('id', given)[:12]}"


def seeded_rank(seed: int, *parts: str) -> str:
    """A key to sort by: a different order for each seed."""
    return sha(str(seed), *parts)


def seeded_draw(seed: int, *parts: str) -> int:
    """A number in [0, 2**48) from the seed and the parts."""
    return int(sha(str(seed), *parts)[:12], 16)
