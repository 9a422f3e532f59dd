"""The guidance in a teacher's reply: what the student is to read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from . import _verdict
from ._json import Object
from ._reasoning import visible_spans
from ._refusal import refuses
from ._text import TURN, Span
from ._verdict import Found, Polarity

_KEYS = (
    "guidance",
    "feedback",
    "hint",
    "advice",
    "suggestion",
    "comment",
    "explanation",
    "指导",
    "建议",
    "提示",
    "反馈",
)
_AFTER = re.compile(r"(?:\s?</\w{1,20}>)?[ \t*_\"'\])】）`]*[.。!！,，;；:：]*[ \t*_`]*")
_HEADING = re.compile(
    r"^[\s*#>_`:：-]*(?:guidance|feedback|hint|advice"
    r"|suggestions?|comments?|指导|建议|提示|反馈)(?:[ \t]*\([^()\n]{0,40}\))?[*_]{0,3}\s{0,3}("
    r"?:[:：]|\n)[*_\s]*",
    re.I,
)
_LEFTOVER = re.compile(r"\A(?:[ \t]*[*#>_`=-]*[ \t]*\n)+|\A[\s.。!！,，;；:：]+")
_TURN = re.compile(r"</s>|<\|[^<>|\n]{1,40}\|>|</?(?:start_of_turn|end_of_turn|eos)>", re.I)
_SPECIAL = re.compile(
    r"</?(?:guidance|feedback|verdict|response)>|</?s>"
    r"|<\|[^<>|\n]{1,40}\|>|</?(?:start_of_turn|end_of_turn"
    r"|eos|bos|pad)>",
    re.I,
)


@dataclass(frozen=True)
class Guidance:
    """A teacher's reply, taken apart.

    Attributes:
        status: `ok`, `no_answer` (nothing but reasoning, or nothing), `truncated` or `refusal`.
        verdict: `correct`, `wrong` or `none`.
        verdict_rule: id of the rule in `VERDICT_RULES`.
        guidance: the text for the student, without reasoning and without the verdict's label; may be empty
            beside a verdict.
    """

    status: str
    verdict: Polarity
    verdict_rule: str
    guidance: str


def _without(text: str, keep: list[Span], drop: list[Span]) -> str:
    pieces = []
    for start, end in keep:
        position = start
        for low, high in sorted(drop):
            if high <= position or low >= end:
                continue
            pieces.append(text[position : max(position, low)])
            position = max(position, min(high, end))
        pieces.append(text[position:end])
        pieces.append("\n")
    return "".join(pieces)


def _tidy(text: str) -> str:
    for token in _TURN.finditer(text):
        if text[: token.start()].strip() and _SPECIAL.sub("", text[: token.start()]).strip():
            text = text[: token.start()]  # a turn of its own making
            break
    text = _SPECIAL.sub("", text).strip()
    text = _LEFTOVER.sub("", text)
    text = _HEADING.sub("", text).strip()
    return text if re.search(r"\w", text) else ""


def _of_json(body: str, found: Object) -> str:
    for name in _KEYS:
        for key, value in found.pairs:
            if key.strip().casefold() == name and isinstance(value, str):
                return value.strip()
    around = body[: found.span[0]] + body[found.span[1] :]
    return re.sub(r"```[A-Za-z]*", "", around).strip()


def split_guidance(text: str | None) -> Guidance:
    """Take a teacher's reply apart into verdict and guidance.

    The verdict's label with its value, or an opening clause that is nothing but the verdict, is
    removed; a verdict stated further on stays, since it is part of the guidance.
    Nothing of a reasoning block remains, whether closed, closed only, or never closed (then the guidance is
    empty and the status `truncated`). Of a JSON reply the guidance field is taken.

    Args:
        text: the reply, or None where there is none.

    Returns:
        Status, verdict, rule and guidance.
    """
    source = text or ""
    visible, _, unclosed = visible_spans(source)
    if unclosed:
        return Guidance("truncated", "none", "unclosed_reasoning", "")
    folded, _ = _verdict.prepared(source)
    if not folded.text.strip(" \t\r\n" + TURN):
        return Guidance("no_answer", "none", "empty", "")
    in_json = _verdict.json_verdict(folded.text)
    found = _verdict.find(folded.text)
    verdict: Polarity = found.verdict if found else "none"
    rule = found.rule if found else "no_verdict"
    if in_json is not None:
        guidance = _tidy(_of_json(folded.text, in_json[1]))
        return Guidance("ok", verdict, rule, guidance)
    drop = [folded.original(span) for span in _drops(folded.text, found)]
    drop = [(low, _AFTER.match(source, high).end()) for low, high in drop]  # type: ignore[union-attr]
    guidance = _tidy(_without(source, visible, drop))
    if found is None and refuses(folded.text):
        return Guidance("refusal", "none", rule, "")
    return Guidance("ok" if guidance or found else "no_answer", verdict, rule, guidance)


def _drops(text: str, found: Found | None) -> list[Span]:
    """Folded spans of everything that is the verdict's form rather than guidance."""
    spans: list[Span] = []
    at = 0
    while match := _verdict.LABEL.search(text, at):
        stop = text.find("\n", match.end())
        stop = min(stop if stop >= 0 else len(text), match.end() + 300)
        value = _verdict.label_value(text, match.end(), stop)
        lead = match.start() + len(match.group()) - len(match.group().lstrip(" \t\n" + TURN))
        if value is not None:
            # A value read late in its line is a remark of the teacher: only the label goes.
            near = value.span[1] - match.end() <= 40
            spans.append((lead, value.span[1] if near else match.end()))
        else:
            spans.append((lead, stop if stop - match.end() <= 40 else match.end()))
        at = max(match.end(), match.start() + 1)
    if (
        found is not None
        and found.rule == "opening"
        and not re.search(r"\w", _verdict.before_clause(text, found.span))
    ):
        spans.append((0, _verdict.clause_end(text, found.span)))
    return spans
