"""What a question gives away or depends on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from magister.items._text import fold

_QUESTION = re.compile(
    r"\b(?:which|what)(?:\s+\w+){0,3}\s+(?:of\s+)?the\s+(?:following|above|options|choices|statements)\b"
    r"|\b(?:which|what)(?:\s+\w+)?\s+of\s+(?:these|those)\b"
    r"|\b(?:one|all|none|each|any|some|most|two|both|neither|either|except)\s+of\s+(?:the\s+)?"
    r"(?:following|above|preceding|options|choices)\b"
    r"|\b(?:the|these)\s+following\s+(?:are|is|was|were|statements?|options?|choices?|except|would|could|can"
    r"|best|describes?|does|do|not)\b"
    r"|\bfrom\s+(?:among\s+)?the\s+(?:following|options|choices)\b"
    r"|\b(?:choose|select|pick)\s+(?:the\s+|one\s+|an?\s+)?(?:\w+\s+)?(?:options?|choices?|alternatives?)\b"
    r"|\b(?:options?|choices?)\s+(?:below|above|given|listed)\b|\bgiven\s+(?:options|choices)\b"
    r"|下列|以下(?:哪|选项|各项|说法|叙述|表述|关于|四|几|不|属于|正确|错误)|下面哪"
    r"|哪(?:一|个|些)?(?:选)?项|选项中|上述(?:选项|都|皆|均)",
    re.IGNORECASE,
)
# An option that refers to the others.
_OPTION = re.compile(
    r"\b(?:all|none|both|neither|either|any|two|some|most)\s+(?:of\s+)?(?:the\s+)?"
    r"(?:above|these|those|following|preceding|options|choices)\b|以上(?:都|皆|均|全|选项|所有|任何|各)",
    re.IGNORECASE,
)


def needs_options(question: str, options: Sequence[str] | None = None) -> bool:
    """Whether a question cannot be judged without its options ("which of the following ...").

    Args:
        question: its text.
        options: its options, which may refer to one another ("all of the above").
    """
    return _QUESTION.search(question) is not None or any(_OPTION.search(text) for text in options or ())


def options_in_question(question: str, options: Sequence[str]) -> bool:
    """Whether all option texts stand in the question itself, as whole words."""
    folded = fold(question)

    def stands(option: str) -> bool:
        text = fold(option).rstrip(".。")
        if not text:
            return False
        left = r"(?<![^\W_])" if text[0].isascii() and text[0].isalnum() else ""
        right = r"(?![^\W_])" if text[-1].isascii() and text[-1].isalnum() else ""
        return re.search(left + re.escape(text) + right, folded) is not None

    return all(stands(option) for option in options)
