"""The verdict of a teacher's reply: correct, wrong, or none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ._json import Object, objects
from ._reasoning import visible_spans
from ._text import Folded, Span, fold, segments
from ._verdict_rules import (
    ADVICE,
    ATTRIBUTE,
    BOTH,
    CLAUSE,
    COPULA,
    DISCOURSE,
    FAULT,
    GOT_IT,
    HABIT,
    HYPOTHESIS,
    JOINT,
    LABEL,
    NEARLY,
    NEG,
    NEGATION,
    NO,
    NOT_MERELY,
    NOT_SO,
    OPENING,
    PART,
    PARTIAL,
    POS,
    PUT_RIGHT,
    QUESTION,
    RULING,
    SUBJECT_VERB,
    TICK,
    WAY,
    YES,
)

_LONGEST = 600  # characters of one clause that are looked at

Polarity = Literal["correct", "wrong", "none"]


@dataclass(frozen=True)
class Verdict:
    """Whether a teacher calls the solution correct.

    Attributes:
        verdict: `correct`, `wrong` or `none`.
        rule: id of the rule in `VERDICT_RULES` that decided.
        span: where the verdict stands in the reply, or None.
    """

    verdict: Polarity
    rule: str
    span: Span | None


@dataclass(frozen=True)
class Found:
    """A verdict in folded text, with the span of its label where it has one."""

    verdict: Polarity
    rule: str
    span: Span
    label: Span | None = None


def _flip(polarity: Polarity) -> Polarity:
    return "wrong" if polarity == "correct" else "correct"


def _polarity(clause: str) -> tuple[Polarity, str, Span]:
    """The verdict of one clause, the kind of rule, and where its word stands."""
    none: tuple[Polarity, str, Span] = ("none", "no_verdict", (0, 0))
    if clause.rstrip().endswith(("?", "？")) or BOTH.match(clause):
        return none
    if NOT_SO.fullmatch(clause):
        return "wrong", "opening", (0, len(clause))
    if GOT_IT.fullmatch(clause):
        return "correct", "opening", (0, len(clause))
    negative, positive = NEG.search(clause), POS.search(clause)
    fault = FAULT.search(clause)
    if HYPOTHESIS.search(RULING.sub("", clause)):
        return none
    if fault and not (negative and negative.start() < fault.start() and negative.end() <= fault.start()):
        return _of_fault(clause, fault)
    match = negative or positive
    if match is None:
        return none
    if negative and positive and positive.end() <= negative.start():
        # "correct, not wrong" within one clause: the earlier word is the verdict, the later one is denied
        match = positive if NEGATION.search(clause[positive.end() : negative.start()]) else negative
    polarity: Polarity = "wrong" if match is negative else "correct"
    if PARTIAL.search(clause[: match.start()]) and polarity == "correct":
        return none
    opening = OPENING.fullmatch(clause)
    before, after = clause[: match.start()], clause[match.end() :]
    denied = NEGATION.search(before[-40:]) is not None and not NOT_MERELY.search(before)
    if NEARLY.search(before) and polarity == "correct":
        return "wrong", "statement", match.span()
    if not opening:
        if PUT_RIGHT.match(clause[match.start() :]) and not COPULA.search(before):
            return none
        attribute = ATTRIBUTE.match(after)
        if attribute and not _judged(before, after[attribute.end() :]):
            return none
        if attribute and polarity == "correct" and not denied and WAY.match(after):
            return none
        said = COPULA.search(before) or RULING.search(before)
        if match.group().isascii() and not said and not denied and not _ends(after):
            return none
        if (
            match.group().lower() in {"right", "true", "sound", "valid", "perfect", "false"}
            and not said
            and not denied
        ):
            return none
    if denied:
        polarity = _flip(polarity)
    return polarity, _kind(clause, before, bool(opening)), match.span()


def _ends(after: str) -> bool:
    return re.fullmatch(r"(?:\s(?:here|again|now|overall|too|as well|in the end))?[\s\W]*", after) is not None


def _judged(before: str, after: str) -> bool:
    """Whether "correct answer" is said of the solution ("that is the correct answer") and not beside it."""
    if re.match(r"\s*(?:is|are|was|would|should|of|comes|can|must|will|has|to|being|for|是|为|应)", after):
        return False
    return COPULA.search(before) is not None or (not before.strip(" \t\n*\"'") and _ends(after))


def _kind(clause: str, before: str, opening: bool) -> str:
    if opening:
        return "opening"
    verb = SUBJECT_VERB.search(clause)
    subject = clause[: verb.start()] if verb else before
    if PART.search(subject) and not re.search(
        r"\b(?:final|latest|answer|solution|all|every|each)\b"
        r"|答案|都",
        subject,
        re.I,
    ):
        return "part"
    return "statement"


def _of_fault(clause: str, fault: re.Match[str]) -> tuple[Polarity, str, Span]:
    before = clause[: fault.start()]
    if NEGATION.search(before[-40:]) or re.match(r"-free\b", clause[fault.end() :], re.I):
        return "correct", "fault", fault.span()
    if HABIT.search(clause) or ADVICE.search(before) or re.match(r"\s*(?:correct|fix|修正|改正)\b", before):
        return "none", "no_verdict", (0, 0)
    return "wrong", "fault", fault.span()


def _clauses(text: str, start: int, end: int) -> list[Span]:
    spans: list[Span] = []
    for match in CLAUSE.finditer(text, start, end):
        low = match.start()
        for joint in JOINT.finditer(text, match.start() + 1, match.end()):
            spans.append((low, joint.start()))
            low = joint.start()
        spans.append((low, match.end()))
    return spans


RANK = {"opening": 3, "statement": 3, "fault": 2, "part": 1}


def _prose(text: str, start: int, end: int) -> Found | None:
    """The last verdict on the whole solution; faults and parts count where there is none."""
    best: tuple[int, Found] | None = None
    part_wrong: Found | None = None
    condition = False
    first = True
    for low, high in _clauses(text, start, end):
        clause = text[low : min(high, low + _LONGEST)]
        if not clause.strip() or DISCOURSE.match(text, low, end):
            continue
        if condition:
            condition = clause.rstrip()[-1:] not in ".!?。！？\n"
            continue
        if re.match(r"\s*(?:if|suppose|assuming|如果|假如|若)\b", clause, re.I) and clause.rstrip().endswith(
            (",", "，")
        ):
            condition = False
            continue
        polarity, kind, word = _polarity(clause)
        if polarity == "none":
            first = first and not re.search(r"\w", clause)
            continue
        found = Found(polarity, kind, (low + word[0], low + word[1]))
        if kind == "part" and polarity == "wrong":
            part_wrong = found
        alone = kind == "opening" and first and not re.match(r"\W*nope\b", clause, re.I)
        rank = RANK[kind] + alone
        if (
            kind == "part"
            and polarity == "correct"
            and not re.search(
                r"\b(?:reasoning|logic|work|process|calculation|thinking)\b|推理|过程", clause, re.I
            )
        ):
            continue
        if re.search(
            r"\b(?:at first|initially|at a glance|seems?|looks?|appears?)\b|乍看|看起来|看似", clause, re.I
        ):
            rank = min(rank, 2)
        if best is None or rank >= best[0] or (best[1].rule == "opening" and rank == 3 and _turns(text, low)):
            best = (rank, found)
        first = False
    if best is None or (best[0] == 1 and best[1].verdict == "correct" and part_wrong):
        return part_wrong or (best[1] if best else None)
    return best[1]


def _turns(text: str, at: int) -> bool:
    return (
        re.search(r"(?:however|but|wait|actually|但是?|然而|不过)[\s,]*$", text[max(0, at - 16) : at], re.I)
        is not None
        or re.match(r"\s*(?:however|but|wait|actually|但|然而|不过)", text[at : at + 16], re.I) is not None
    )


def _labelled(text: str, start: int, end: int) -> Found | None:
    last: Found | None = None
    for match in LABEL.finditer(text, start, end):
        stop = text.find("\n", match.end(), end)
        stop = stop if stop >= 0 else end
        stop = min(stop, match.end() + 300)
        found = label_value(text, match.end(), stop)
        if found is not None:
            lead = match.start() + len(match.group()) - len(match.group().lstrip(" \t\n\"'[#>*-"))
            last = Found(found.verdict, "label", found.span, (lead, found.span[1]))
    return last


def label_value(text: str, start: int, stop: int) -> Found | None:
    """The verdict that fills a label's slot."""
    value = text[start:stop]
    if BOTH.match(value) or re.match(
        r"[\s\W]*(?:unclear|unknown|uncertain|n/?a|none|不确定|未知|无法)", value, re.I
    ):
        return None
    spans = _clauses(text, start, stop)
    tick = TICK.match(text, start)
    if tick:
        return Found("correct" if tick["yes"] else "wrong", "label", tick.span())
    for number, (low, high) in enumerate(spans):
        clause = text[low:high]
        polarity, _, word = _polarity(clause)
        if polarity != "none" and number == 0:
            return Found(polarity, "label", (low, low + word[1]))
        if number == 0 and not clause.rstrip().endswith(("?", "？")):
            bare = NEG.match(clause.lstrip(" \"'[<(*")) or POS.match(clause.lstrip(" \"'[<(*"))
            if bare and not HYPOTHESIS.search(clause) and not PUT_RIGHT.match(clause):
                offset = low + len(clause) - len(clause.lstrip(" \"'[<(*"))
                verdict: Polarity = "wrong" if NEG.match(bare.group()) else "correct"
                return Found(verdict, "label", (low, offset + bare.end()))
            for pattern, answer in ((NO, "wrong"), (YES, "correct")):
                yes = pattern.match(clause)
                if yes and re.fullmatch(r"[\s\W]*", clause[yes.end() :]):
                    return Found("wrong" if answer == "wrong" else "correct", "label", (low, low + yes.end()))
    return _prose(text, start, stop)


_KEYS = {
    "verdict",
    "correctness",
    "correct",
    "is_correct",
    "iscorrect",
    "judgment",
    "judgement",
    "assessment",
    "evaluation",
    "判断",
    "结论",
    "正确性",
    "correctness_of_the_latest_solution",
}


def json_verdict(text: str) -> tuple[Found, Object] | None:
    """The verdict in the last JSON object that has one, and that object."""
    if "{" not in text:
        return None
    for found in reversed(objects(text)):
        for key, value in found.pairs:
            if re.sub(r"[\s-]+", "_", key.strip().casefold()) not in _KEYS:
                continue
            polarity: Polarity = "none"
            if isinstance(value, bool):
                polarity = "correct" if value else "wrong"
            elif isinstance(value, str):
                read = label_value(value, 0, len(value))
                polarity = read.verdict if read else "none"
            return Found(polarity, "json", found.span), found
    return None


def before_clause(text: str, word: Span) -> str:
    """Everything before the clause that holds a verdict's word."""
    for low, high in _clauses(text, 0, min(len(text), word[1] + 200)):
        if low <= word[0] < high:
            return text[:low]
    return text[: word[0]]


def clause_end(text: str, word: Span) -> int:
    """Where that clause ends."""
    for low, high in _clauses(text, 0, min(len(text), word[1] + 200)):
        if low <= word[0] < high:
            return high
    return word[1]


def find(text: str) -> Found | None:
    """The verdict in folded text without reasoning."""
    in_json = json_verdict(text)
    if in_json is not None:
        return in_json[0] if in_json[0].verdict != "none" else None
    for (start, end), _ in segments(text, by_tutor=True):
        labels = LABEL.search(text, start, end)
        found = _labelled(text, start, end)
        if found is None and labels is not None and not _prose(text, start, labels.start()):
            rest = text.find("\n", labels.end(), end)
            value = text[labels.end() : rest if rest >= 0 else end].strip()
            if value:
                return None  # the slot was filled with something that is no verdict
        found = found or _answered(text, start, end) or _prose(text, start, end)
        if found is not None:
            return found
    tick = TICK.match(text)
    return Found("correct" if tick["yes"] else "wrong", "opening", tick.span()) if tick else None


def _answered(text: str, start: int, end: int) -> Found | None:
    match = QUESTION.search(text, start, end)
    if match is None:
        return None
    word = (match["yes"] or match["zh"]).lower()
    asked_wrong = match.group().lower().startswith("wrong")
    yes = word in {"yes", "yep", "是", "对"}
    return Found("correct" if yes != asked_wrong else "wrong", "question_answered", match.span())


def prepared(text: str) -> tuple[Folded, bool]:
    """Folded visible text, and whether a reasoning block never closes."""
    visible, _, unclosed = visible_spans(text)
    return fold(text, visible), unclosed


def parse_verdict(text: str | None) -> Verdict:
    """Read whether a teacher calls the latest solution correct.

    A JSON field or a label ("Correctness of the latest solution: ...") decides, the last one if there are
    several; else an answered question, else what the prose states of the solution, last statement first.

    Declared policies:
        * A statement about the answer or solution outranks one about the reasoning or a step. A step that is
          right says nothing of the whole; a step that is wrong makes the solution wrong.
        * "Partially correct" is no verdict (`none`); "almost correct" and "not quite right" are `wrong`.
        * Questions, conditions ("if", "would be wrong to", "check whether") and advice ("avoid mistakes",
          "correct the sign") are no verdicts. Praise alone is none either.
        * "On the right track", "the right approach" and habits ("errors often occur in ...") are none; "Right,
          let's look ..." only goes on talking. "I would mark this as wrong" is a verdict.
        * "The correct answer is 36" says what is right, not whether the solution is: `none` by itself.

    Args:
        text: the reply; reasoning blocks in it are not read.

    Returns:
        Verdict, rule and span.
    """
    if text is None or not text.strip():
        return Verdict("none", "empty", None)
    folded, unclosed = prepared(text)
    if unclosed:
        return Verdict("none", "unclosed_reasoning", None)
    found = find(folded.text)
    if found is None:
        return Verdict("none", "no_verdict", None)
    return Verdict(found.verdict, found.rule, folded.original(found.span))
