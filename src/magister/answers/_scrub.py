"""Strict blindness: a student's reply without the options it names."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from . import _mentions, _options
from ._choice import extract_choice
from ._options import Options
from ._payload import LOOK_ALIKES
from ._text import Folded, Span, fold

_MAX_PASSES = 6
_MAX_SAID = 4000  # a longer remainder is not read again: a commitment in it stands in a slot, which is found


@dataclass(frozen=True)
class Scrubbed:
    """A reply for a teacher who must not see the options.

    Attributes:
        text: what remains.
        removed: what was taken out, in order: start and end in the original text, and the kind: `list`,
            `reference` ("option B") or `letter`.
    """

    text: str
    removed: tuple[tuple[int, int, str], ...]


_REFERENCE = re.compile(
    r"(?:\b(?:answer )?(?:options?|choices?|letters?)|选项|選択肢)\s?[\"'*(\[]{0,3}$", re.I
)
_LOWER_LABEL = re.compile(r"(?<![A-Za-z0-9])[(\[]?([a-z])(?:[)\].:]{1,2}|、)[ \t]*(?=\S)")
_LETTER = re.compile(r"([^\W\d_])(?!\w)[)\]）]?[ \t]*")
_JOIN = re.compile(r"[\s,;/|]*(?:,|;|/|\||\bor\b|\band\b|\n|或|和|、)[\s,;/|]*(?:or |and )?", re.I)


def _restated(text: str, options: Options) -> list[Span]:
    """Labelled lists of the options, lines that are options, and options strung together by commas."""
    spans = [(run[0].span[0], run[-1].span[1]) for run in _options.restated(text, options)]
    spans += _options.plain_lists(text, options)
    places = sorted(
        span
        for head in {head.casefold() for head in options.heads if head}
        for span in _mentions.phrases(text, head)
    )
    needed = min(3, len(options.texts))
    run: list[Span] = []
    seen: set[str] = set()
    for place in [*places, (len(text) + 2, len(text) + 2)]:
        if run and place[0] < run[-1][1]:
            continue
        word = text[place[0] : place[1]].casefold()
        if (
            run
            and word
            and word not in seen
            and place[0] - run[-1][1] < 24
            and _JOIN.fullmatch(text[run[-1][1] : place[0]])
        ):
            run.append(place)
            seen.add(word)
            continue
        if len(run) >= needed and needed > 1:
            spans.append((run[0][0], run[-1][1]))
        run, seen = [place], {word}
    return spans


def _find(text: str, options: Options, thorough: bool) -> list[tuple[int, int, str]]:
    found = [(*span, "list") for span in _restated(text, options)]
    for (start, end), _ in _mentions.letters(text, options):
        word = _REFERENCE.search(text[max(0, start - 24) : start])
        if word:
            found.append((start - (len(text[max(0, start - 24) : start]) - word.start()), end, "reference"))
            continue
        opened = text[start - 1 : start] in {"(", "["} and start > 0
        if text[end : end + 1] in {")", "]"} and text[end - 1 : end].isalpha():
            end += 1
        closed = text[end - 1 : end] in {")", "]"}
        if opened and closed:
            start -= 1
        elif closed or text[end - 1 : end] in {".", ":", "、"}:
            end = _skip_blanks(text, end)
        elif text[end : end + 1] == " " and re.match(r" \(?[-\d]", text[end : end + 3]):
            end += 1
        found.append((start, end, "letter"))
    for label in _LOWER_LABEL.finditer(text):
        index = _mentions.index_of(label[1].upper())
        if index < len(options.texts) and options.starts_with(text[label.end() :], index):
            found.append((*label.span(), "letter"))
    if thorough:
        found += [
            (m.start(), m.end(), "letter")
            for m in re.finditer(r"(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9])", text)
            if m.group() in options.letters
        ]
    return found


def _skip_blanks(text: str, end: int) -> int:
    while end < len(text) and text[end] in " \t":
        end += 1
    return end


def _merge(spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    rank = {"list": 2, "reference": 1, "letter": 0}
    merged: list[tuple[int, int, str]] = []
    for start, end, kind in sorted(spans):
        if end <= start:
            continue
        if merged and start < merged[-1][1]:
            before = merged[-1]
            merged[-1] = (before[0], max(before[1], end), max(before[2], kind, key=lambda name: rank[name]))
        else:
            merged.append((start, end, kind))
    return merged


def scrub_options(text: str, options: list[str]) -> Scrubbed:
    """Take out what would tell a teacher the options.

    Removed are letters that stand as choices ("Answer: B) 36" becomes "Answer: 36"), references such as
    "option B", and restated lists as a whole. The student's reasoning and the value it commits to stay. The
    article "A", the pronoun "I" and letters in formulas are no choices.

    Removing one mention can make a choice of the next, so passes are repeated until nothing is found; where
    that does not end soon every single capital letter among the options goes. Of a reply of
    ordinary length `extract_choice` has the last word: what it would still read as a letter is removed.

    Args:
        text: the student's reply.
        options: option texts in order.

    Returns:
        The remaining text and the removed spans of the original.
    """
    prepared = _options.prepare(options)
    removed: list[tuple[int, int, str]] = []
    said_before = False
    for number in range(_MAX_PASSES + 1):
        keep = _complement(len(text), removed)
        folded = _fold_exact(text, keep)
        found = _find(folded.text, prepared, thorough=number == _MAX_PASSES)
        if not found:
            said = _said(folded, options) if len(folded.joined) <= _MAX_SAID else None
            if said is None:
                break
            removed = _merge([*removed, (*said, "letter")])
            if said_before:
                found = _find(folded.text, prepared, thorough=True)
            said_before = True
        for start, end, kind in found:
            # A span may run across what an earlier pass took out: it goes back piece by piece.
            low, high = folded.original((start, end))
            removed.append((low, high, kind))
        removed = _merge(removed)
    remaining = "".join(text[start:end] for start, end in _complement(len(text), removed))
    return Scrubbed(remaining, tuple(removed))


def _said(folded: _Joined, options: list[str]) -> Span | None:
    """The letter that the remaining text commits to, in the original, or None."""
    choice = extract_choice(folded.joined, options)
    if choice.answer is None or choice.span is None:
        return None
    letter = _LETTER.match(folded.joined, *choice.span)
    if (
        letter is None
        or unicodedata.normalize("NFKC", letter[1]).translate(LOOK_ALIKES).upper() != choice.answer
    ):
        return None
    return folded.outer(letter.span())


def _complement(length: int, removed: list[tuple[int, int, str]]) -> list[Span]:
    spans, position = [], 0
    for start, end, _ in removed:
        if start > position:
            spans.append((position, start))
        position = max(position, end)
    if position < length:
        spans.append((position, length))
    return spans


def _fold_exact(text: str, keep: list[Span]) -> _Joined:
    """Fold what remains as the reader will see it: the pieces stand side by side."""
    joined = "".join(text[start:end] for start, end in keep)
    folded = fold(joined)
    starts: list[int] = []
    total = 0
    for start, end in keep:
        starts.append(total)
        total += end - start
    return _Joined(
        folded.text, folded.starts, folded.origins, folded.copied, folded, tuple(starts), tuple(keep), joined
    )


@dataclass(frozen=True)
class _Joined(Folded):
    """A fold of joined pieces, with the way back through both."""

    inner: Folded
    offsets: tuple[int, ...]
    pieces: tuple[Span, ...]
    joined: str

    def original(self, span: Span) -> Span:
        return self.outer(self.inner.original(span))

    def outer(self, span: Span) -> Span:
        """The span of the original text behind a span of the joined pieces."""
        return self._outer(span[0], last=False), self._outer(span[1], last=True)

    def _outer(self, at: int, last: bool) -> int:
        if not self.pieces:
            return 0
        index = bisect_left(self.offsets, at) - 1 if last and at else bisect_right(self.offsets, at) - 1
        index = max(index, 0)
        return self.pieces[index][0] + at - self.offsets[index]
