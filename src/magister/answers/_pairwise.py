"""Pairwise judgements and ratings in double brackets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from ._reasoning import strip_reasoning
from ._refusal import is_refusal
from ._text import fold

_FAILURES = {"$ERROR$", "API_ERROR", "[API ERROR]"}
_TOKEN = re.compile(r"\[\s?\[\s{0,3}([^\[\]\n]{1,40}?)\s{0,3}\]\s?\]")
_FINAL = re.compile(
    r"(?:\bfinal(?:ly)?\b|\bverdict\b|\bconclu\w+|\boverall\b"
    r"|\btherefore\b|\bthus\b|\bin summary\b|\bdecision\b"
    r"|\bso my\b|最终|最后|结论|综上|因此)"
    r"[^.\n。\[\]]{0,60}$",
    re.I,
)
_TENTATIVE = re.compile(
    r"(?:\bat first\b|\binitially\b|\bfirst thought\b"
    r"|\bmight\b|\bmay\b|\bcould\b|\bif\b|\bwould have\b"
    r"|\btempted\b|\bnot\b|乍看|起初|一开始|如果)[^.\n。\[\]]{0,40}$",
    re.I,
)
_RETRACTION = re.compile(
    r"\b(?:wait|actually|correction|on second thought|revis\w+|change my|reconsider\w*|instead)\b|更正|重新",
    re.I,
)
_GRADED = re.compile(r"([AB])\s?(>>|<<|>|<|==?|≈|~)\s?([AB])")
_SIDE = re.compile(r"(?:(?:assistant|model|response|answer|system)\s)?([ABC])", re.I)
_WORDED = re.compile(
    r"\b(?:final|overall)\s(?:grade|verdict|answer|judge?ment"
    r"|decision|choice|preference|winner)\s{0,2}(?:is"
    r"|:|=|goes to)\s{0,2}:?\s{0,2}\"?"
    r"(?:(?:assistant|model|response|answer)\s)?(?P<value>(?-i:[ABC])"
    r"|(?-i:[AB])\s?(?:>>|<<|>|<|=)\s?(?-i:[AB])|tie)\"?(?![\w\]])"
    r"|\b(?:final |overall )?(?:rating|score)\s{0,2}(?:is"
    r"|:|=)\s{0,2}(?P<rating>\d{1,3}(?:\.\d{1,4})?)(?![\w\]/]"
    r"|\.\d|\s?(?:/|out of))"
    r"|(?:最终|最后)(?:判断|结论|裁决|答案|选择)\s?(?:是|为|:)\s?(?:助手|模型|回答)?\s?(?P<zh>[ABC])(?![A-Za-z])",
    re.I,
)
_RANGE = re.compile(r"(\d{1,3})\s?(?:-|\.\.|to|~)\s?(\d{1,3})")


@dataclass(frozen=True)
class Pairwise:
    """What a judge prefers, or the rating it gives.

    Attributes:
        status: `ok`, `invalid`, `ambiguous`, `error` or `no_answer`.
        value: `A`, `B`, `tie`, a graded preference (`A>>B`, `A>B`, `B>A`, `B>>A`) or a rating as text; None
            unless `ok`.
    """

    status: str
    value: str | None = None


@dataclass(frozen=True)
class _Format:
    letters: bool
    ratings: bool
    low: Fraction
    high: Fraction


def _format(text: str) -> _Format:
    letters = re.search(r"\[\[\s?[ABC]|[AB]\s?>", text) is not None or "pair" in text.lower()
    ratings = re.search(r"rating|score|grade|\d", text, re.I) is not None
    bounds = _RANGE.search(text)
    low, high = (Fraction(bounds[1]), Fraction(bounds[2])) if bounds else (Fraction(1), Fraction(10))
    if not letters and not ratings:
        letters = ratings = True
    return _Format(letters, ratings, low, high)


def _value(token: str, form: _Format) -> str | None:
    text = token.strip(" \"'*")
    if re.fullmatch(r"\d{1,3}(?:\.\d{1,6})?", text):
        return text if form.ratings and form.low <= Fraction(text) <= form.high else None
    if not form.letters:
        return None
    if text.lower() in {"tie", "draw", "平局", "c"}:
        return "tie"
    side = _SIDE.fullmatch(text)
    if side:
        letter = side[1].upper()
        return "tie" if letter == "C" else letter
    graded = _GRADED.fullmatch(text.upper())
    if graded and graded[1] != graded[3]:
        first, sign, second = graded.groups()
        if sign[0] in "=≈~":
            return "tie"
        return f"{first}{sign}{second}" if sign[0] == ">" else f"{second}{sign.replace('<', '>')}{first}"
    return None


def parse_pairwise(text: str | None, format: str) -> Pairwise:
    """Read a judge's preference between A and B, or a rating.

    Declared policies:
        * `[[C]]`, `[[tie]]` and `[[A=B]]` are a tie; `[[A<B]]` is B>A.
        * Of several brackets that disagree, one that is announced as final wins over those that are not;
          brackets called a first impression or a condition do not count; otherwise `ambiguous`.
        * Without brackets only "final verdict/grade is B" or "rating: 8" count; "[B]" in single brackets and
          "8/10" are `invalid`.
        * Ratings outside the range in `format` (1 to 10 where it names none) are `invalid`.
        * A failed call (None, `$ERROR$`) is `error`: to be dropped, not scored. A refusal is `no_answer`.

    Args:
        text: the reply.
        format: what the judge was asked for, such as `[[A]]/[[B]]/[[C]] or [[rating]]`.

    Returns:
        Status and value.
    """
    if text is None or text.strip() in _FAILURES:
        return Pairwise("error")
    stripped = strip_reasoning(text)
    if not stripped.text.strip():
        return Pairwise("no_answer")
    body = fold(re.sub(r"\\(?=[\[\]>])", "", stripped.text)).text
    form = _format(format)
    found = [(match, _value(match[1], form)) for match in _TOKEN.finditer(body)]
    known = [(match, value) for match, value in found if value is not None]
    if not known:
        return _worded(body, form, bool(found), text)
    values = {value for _, value in known}
    if len(values) == 1:
        return Pairwise("ok", known[-1][1])
    firm = [(m, v) for m, v in known if not _TENTATIVE.search(body, max(0, m.start() - 80), m.start())]
    final = [(m, v) for m, v in firm if _FINAL.search(body, max(0, m.start() - 80), m.start())]
    for candidates in (final, firm):
        choices = {value for _, value in candidates}
        if len(choices) == 1:
            return Pairwise("ok", candidates[-1][1])
        if len(choices) > 1:
            first, last = candidates[-2][0], candidates[-1][0]
            if _RETRACTION.search(body, first.end(), last.start()):
                return Pairwise("ok", candidates[-1][1])
            break
    return Pairwise("ambiguous")


def _worded(body: str, form: _Format, bracketed: bool, text: str) -> Pairwise:
    values = []
    for match in [] if bracketed else _WORDED.finditer(body):
        value = _value(match["value"] or match["rating"] or match["zh"], form)
        if value is not None:
            values.append(value)
    if values:
        return Pairwise("ok", values[-1]) if len(set(values)) == 1 else Pairwise("ambiguous")
    return Pairwise("no_answer" if is_refusal(text) and not bracketed else "invalid")
