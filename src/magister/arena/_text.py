"""Instructions as they are kept, compared and identified."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_ID_DIGITS = 16
_PUNCTUATION = re.compile(r"(?<!\d)!|[.,:](?!\d)|[;?\"…。，；：！？、“”]")


def clean(text: str) -> str:
    """Text as it is kept: canonical composition, no white space around it."""
    return unicodedata.normalize("NFC", text).strip()


def folded(text: str) -> str:
    """Text as two instructions are compared: no case, single spaces, without the punctuation of sentences.

    What stands in a number or a formula stays: `3.5` and `35`, `5!` and `5`, `(2 + 3) * 4` and `2 + 3 * 4` differ.
    """
    plain = unicodedata.normalize("NFC", text).casefold()
    return " ".join(_PUNCTUATION.sub(" ", plain).split())


def has_words(text: str) -> bool:
    """Whether a letter or a number stands in a text."""
    return any(sign.isalnum() for sign in text)


def instruction_id(scenario: str, text: str) -> str:
    """Identify an instruction by its scenario and text, wherever it comes from."""
    digest = hashlib.sha256()
    for part in (scenario, clean(text)):
        encoded = part.encode("utf-8")
        digest.update(f"{len(encoded)}:".encode())
        digest.update(encoded)
    return f"{scenario}-{digest.hexdigest()[:_ID_DIGITS]}"
