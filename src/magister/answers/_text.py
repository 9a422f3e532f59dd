"""Text as the rules read it: folded characters with a way back to the reply's own offsets."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

Span = tuple[int, int]

MASK = "\x00"
"""Stands for text that must not take part in a match, such as an echoed option list."""

TURN = "\x1e"
"""Stands for a chat template's turn token; `\\s` matches it."""


@dataclass(frozen=True)
class Rule:
    """One named way of reading a reply.

    Attributes:
        id: name stored beside every answer that the rule produced.
        description: one line for the documentation.
        pattern: the regular expression, or an empty string where the rule is structural.
        example: a reply that the rule decides; the page on extraction shows its outcome.
    """

    id: str
    description: str
    pattern: str = ""
    example: str = ""


# Left alone: superscripts and vulgar fractions, which mean something to the value parser.
_STABLE = "\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u207f\u2150-\u215e"
_SCRIPTS = "\u0400-\u04ff\u3005-\u3007\u3040-\u30fe\u4e00-\u9fff\uac00-\ud7a3"
_TAGS = "b|i|u|strong|em|p|br|span|code|mark|div|font|center|h[1-6]|ul|ol|li|small|big|pre"
# With a value each: other words between < and > are text that a reader sees.
_ATTRIBUTES = r"""(?:\s{1,4}[a-z-]{1,20}=(?:"[^"<>]{0,80}"|'[^'<>]{0,80}'|[\w.#%/:-]{1,80})){0,6}\s{0,4}"""
_SPECIAL = re.compile(
    rf"(?P<stars>\*+)|(?P<drop>`+|_{{2,}}|~~[^~\n]{{1,80}}~~"
    rf"|<(?P<gone>del|strike)>[^<\n]{{1,80}}</(?P=gone)>"
    rf"|~~|\r|</?(?:{_TAGS}){_ATTRIBUTES}/?>)"
    r"|(?P<turn></?s>|<\|[^<>|\n]{1,40}\|>|<｜[^<>｜\n]{1,40}｜>"
    r"|</?(?:start_of_turn|end_of_turn|eos|bos|pad)>"
    r"|\[/?INST\])"
    rf"|(?P<entity>&(?:nbsp|lt|gt|amp|quot|#39);)|(?P<wide>[^\x00-\x7f{_STABLE}{_SCRIPTS}])",
    re.I,
)
_KINDS = ("stars", "drop", "turn", "entity", "wide")
_MARKUP = re.compile(r"[*`_~<\r&\[]")
_ENTITIES = {"&nbsp;": " ", "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&#39;": "'"}
_TRANSLATE = {
    "‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "「": '"', "」": '"',
    "『": '"', "』": '"', "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "【": "[", "】": "]",
    "〔": "[", "〕": "]", "《": '"', "》": '"', "×": "×", "…": "...",
}  # fmt: skip


@lru_cache(maxsize=4096)
def _fold_char(char: str) -> str:
    if char in _TRANSLATE:
        return _TRANSLATE[char]
    if unicodedata.category(char) in {"Cf", "Mn"} and char != "\u0301":
        return ""
    return unicodedata.normalize("NFKC", char)


@dataclass(frozen=True)
class Folded:
    """Folded text with its map to the original.

    Attributes:
        text: compatibility characters unified, emphasis, HTML tags and special tokens removed.
        starts: first folded offset of each piece, ascending.
        origins: original span of each piece.
        copied: whether the piece is an unchanged copy.
    """

    text: str
    starts: list[int]
    origins: list[Span]
    copied: list[bool]

    def original(self, span: Span) -> Span:
        """The span of the original text behind a span of the folded text."""
        start, end = span
        if not self.starts:
            return (0, 0)
        first = max(bisect_right(self.starts, start) - 1, 0)
        begin = self.origins[first][0] + (start - self.starts[first] if self.copied[first] else 0)
        if end <= start:
            return (begin, begin)
        last = max(bisect_right(self.starts, end - 1) - 1, 0)
        finish = self.origins[last][1]
        if self.copied[last]:
            finish = self.origins[last][0] + end - self.starts[last]
        return (begin, max(begin, finish))


def _keeps_stars(text: str, match: re.Match[str]) -> bool:
    # "6*6", "6 * 6" and "2**3" are arithmetic; every other run of stars is emphasis or a bullet.
    start, end = match.span()
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if end - start > 2 or not before or not after:
        return False
    if end - start == 1 and before[-1] == after[0] == " ":
        return before[0].isalnum() or before[0] == ")"
    if not (before[-1].isalnum() or before[-1] == ")") or not (after[0].isalnum() or after[0] == "("):
        return False
    if end - start == 1:
        return True
    # a power has a number, a bracket or a one-letter name on both sides; bold words have not
    return not (before.isalpha() and len(before) > 1) and not (after.isalpha() and len(after) > 1)


def fold(text: str, keep: list[Span] | None = None) -> Folded:
    """Fold characters that mean the same to a reader and drop markup.

    Args:
        text: the original text.
        keep: spans of the original to read; a line break stands between two of them. Default: all of it.

    Returns:
        The folded text and its map back.
    """
    if keep is None:
        keep = [(0, len(text))]
    if len(keep) == 1 and keep[0] == (0, len(text)) and text.isascii() and not _MARKUP.search(text):
        return Folded(text, [0], [(0, len(text))], [True])
    parts: list[str] = []
    starts: list[int] = []
    origins: list[Span] = []
    copied: list[bool] = []
    length = 0

    def add(piece: str, origin: Span, is_copy: bool) -> None:
        nonlocal length
        if piece:
            parts.append(piece)
            starts.append(length)
            origins.append(origin)
            copied.append(is_copy)
            length += len(piece)

    for begin, finish in keep:
        if length:
            add("\n", (begin, begin), False)
        position = begin
        for match in _SPECIAL.finditer(text, begin, finish):
            kind = next(name for name in _KINDS if match.group(name) is not None)
            if kind == "stars" and _keeps_stars(text, match):
                continue
            piece = ""
            if kind == "entity":
                piece = _ENTITIES[match.group().lower()]
            elif kind == "turn":
                piece = TURN
            elif kind == "wide":
                piece = _fold_char(match.group())
                if piece == match.group():
                    continue
            add(text[position : match.start()], (position, match.start()), True)
            add(piece, match.span(), False)
            position = match.end()
        add(text[position:finish], (position, finish), True)
    return Folded("".join(parts), starts, origins, copied)


# Where a reply stops answering us and starts a conversation of its own.
_CONTINUATION = re.compile(
    r"(?:^|\n|(?<=[.!?)\]。！？])[ \t])[ \t#>*_]{0,8}"
    r"(?:(?:next |new |another )?(?:question|problem"
    r"|exercise|Q)(?:[ \t]{0,2}(?:no\.?[ \t]?)?\d{1,3})?[*_ \t]{0,4}[:.)](?=\s"
    r"|\*)"
    r"|(?P<tutor>(?:teacher|tutor|feedback|instruction|guidance|老师|反馈)(?:[ \t]\d{1,3})?[*_ \t]{0,4}:)"
    r"|(?:user|human|student)(?:[ \t]\d{1,3})?[*_ \t]{0,4}:"
    r"|example(?:[ \t]\d{1,3})?[*_ \t]{0,4}:"
    r"|(?:pregunta|frage|вопрос|domanda|pergunta)(?:[ \t]\d{1,3})?[*_ \t]{0,4}:"
    r"|(?:下一[题題]|题目|題目|问题|問題|例[题題]|用户|学生|质问|質問|问|問)[ \t]?\d{0,3}[*_ \t]{0,4}[:：])",
    re.I,
)
_RECITAL = re.compile(r"[\s*#>_]{0,20}(?:for )?(?:example|e\.g\.|例如|例[题題]|示例)", re.I)


def segments(text: str, by_tutor: bool = False) -> list[tuple[Span, bool]]:
    """Split a reply at end-of-turn tokens and at headings that start another question or turn.

    Args:
        text: folded text.
        by_tutor: whether a teacher wrote it, whose own "Guidance:" or "Feedback:" starts nothing new.

    Returns:
        Spans that cover the text, each with whether it recites an example.
    """
    cuts = {at for at, char in enumerate(text) if char == TURN} if TURN in text else set()
    for match in _CONTINUATION.finditer(text):
        if not (by_tutor and match.group("tutor")):
            cuts.add(match.start())
    bounds = [0, *sorted(cut for cut in cuts if 0 < cut < len(text)), len(text)]
    spans = [(a, b) for a, b in pairwise(bounds) if b > a]
    return [((a, b), _RECITAL.match(text, a, b) is not None) for a, b in spans]


_SENTENCE_END = re.compile(r"[.!?](?=\s|$|[\"')\]])|[。！？;；\n\x00]")


def sentence_bounds(text: str, start: int, end: int, reach: int = 240) -> Span:
    """The sentence around a match, looked for at most `reach` characters to either side."""
    low = max(0, start - reach)
    begin = low
    for match in _SENTENCE_END.finditer(text, low, start):
        begin = match.end()
    after = _SENTENCE_END.search(text, end, min(len(text), end + reach))
    return begin, after.end() if after else min(len(text), end + reach)
