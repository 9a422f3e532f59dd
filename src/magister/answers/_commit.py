"""Commitments in a reply's sentences: answer slots and statements, and whether they are meant."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ._choice_rules import EXPLICIT, PATTERNS
from ._options import LETTERS, Options
from ._payload import Payload, is_word, read
from ._text import Span, sentence_bounds


@dataclass(frozen=True)
class Commit:
    """One place where a reply commits to something.

    Attributes:
        rule: id of the rule that found it.
        payload: what is committed to.
        start: where it stands in the folded text.
    """

    rule: str
    payload: Payload
    start: int


HYPOTHESIS = re.compile(
    r"\b(?:if|suppose|supposing|assum\w+|whether|unless"
    r"|imagine|were it|let's say|even though|although"
    r"|in case)\b(?![^,\n]*(?:,|\bthen\b))"
    r"|(?:如果|假设|若|假如|要是|是否)(?![^,，\n]*[,，])",
    re.I,
)
_DENIED = re.compile(
    r"(?:\b(?:not|never|n't|cannot|doubt|neither|nor"
    r"|no way|rather than|instead of|avoid|wouldn't"
    r"|rule out|ruled out|eliminate)\b|n't|不|别|勿|并非"
    r"|非|没有)"
    r"(?:\s?(?:think|believe|say|mean|sure|certain|true"
    r"|that|if|whether|to|the|be|just|simply|would|going"
    r"|能|应该|应|可以|要|想|会|是|再|认为))*\s*$",
    re.I,
)
_OTHERS = re.compile(
    r"(?:\b(?:previous|earlier|first|initial|original"
    r"|old|former|last|prior|wrong|incorrect|his|her"
    r"|their|your|student'?s?|teacher'?s?|second|second-best|next|worst|runner-up|another|other"
    r"|common|tempting|trap)\s+"
    r"(?:\w+\s+)?|\b(?:you|they|he|she|people|students?"
    r"|teacher|tutor|feedback|some(?:one)?|many|others)\s+(?:might "
    r"|may |could |would |have |had |also |first )?"
    r"(?:say|says|said|think|thought|claims?|claimed"
    r"|argued?|answered|chose|choose|pick|picked|suggest(?:s"
    r"|ed)?|told me)\b(?:(?!,\s?(?:but|so|yet|however)\b)[^.\n]){0,24}"
    r"|\b(?:one|you|they|someone|might|may|could|would be tempted to"
    r"|tempted to|at first|initially|originally|previously)\s(?:\w+\s)?"
    r"|(?:之前|原来|上一次|开始时?|起初)(?:我)?的?)$",
    re.I,
)


_REPORTED = re.compile(
    r"(?P<who>[\w'’]+)\s(?:(?:often|also|still|usually|always|may|might|would|will|wrongly|mistakenly)\s){0,2}"
    r"(?:say|says|said|think|thinks|thought|believes?|believed|claims?|claimed|argues?|insists?|insisted"
    r"|suggests?|suggested|reckons?|guesse[sd]|choose|chooses|chose|picks?|picked)\b[^.,;:\n]{0,24}$"
    r"|(?P<zh>(?:有人|有些人|有的人|很多人|许多人|人们|别人|大家|学生|同学|老师|教师|提示|小明|(?<!其)他|她)"
    r"[^,，。;；\n]{0,12}$|(?:误|易错|错)(?:会|地)?$)",
    re.I,
)
_MANY = re.compile(
    r"\b(?:many|most|some|few|several|people|students?|others|everyone|he|she|they|you)\s"
    r"(?:\w+\s){0,2}(?:would|might|may|will|often|usually)?\s?$",
    re.I,
)
_OWN = {"i", "we", "i'd", "i've", "we've", "and", "then", "now", "also", "still", "to", "would", "it", "that"}
_WITHHELD = re.compile(
    r"\b(?:everything|everyone|all|any|anything|every \w+)\s(?:\w+\s)?"
    r"(?:but|except|other than|apart from|besides)\s(?:for\s)?$"
    r"|\b(?:hardly|scarcely|barely|nobody|no[- ]one|rarely|seldom|few)\b[^.,;\n]*$"
    r"|\b(?:refuse|decline|hesitate|reluctant|unwilling|afraid|fail|unable|hard|difficult)(?:d|ed)?\b(?:\s\w+)?\sto\s"
    r"(?:\w+\s)?(?:that\s)?$"
    r"|(?:很难|难以|难说|不敢|不愿|拒绝|未必|不一定|不见得)[^,，。\n]{0,6}$",
    re.I,
)
_RESTRICTED = re.compile(
    r"\W{0,3}(?:(?:only\s)?(?:if|unless|provided|assuming|in case)\b|only\s(?:when|where|for|in)\b)"
    r"|[^.\n]{0,40}\bbut\s(?:it\s|that\s|actually\s)?(?:isn't|is not|is wrong|wrong|not)\b",
    re.I,
)


def _reported(before: str, rule: str) -> bool:
    """Whether a statement is somebody else's."""
    found = _REPORTED.search(before)
    if found is not None and (found["zh"] or found["who"].lower() not in _OWN):
        return True
    return rule == "select" and _MANY.search(before) is not None


_JOINED = re.compile(
    r"(?:[A-Z][\"')\]]?,?\s(?:and|or|nor|&)|[A-Z],)\s?(?:only\s)?$"
    r"|(?<![\w'])[A-Z][\"')\]]?\s(?:also\s|both\s)?(?:fits?|works?|match(?:es)?|holds?|suits?|satisf(?:y|ies))\b"
)


_NAMES = re.compile(  # what has a letter for a name of its own
    r"\b(?:plan|vitamin|team|type|group|class|grade|hepatitis|section|part|point|figure|case|appendix|block|room"
    r"|level|side|person|student|company|country|city|box|train|car|bag|step|line|town|player|method|model|angle)\s$",
    re.I,
)


def _asserted(text: str, match: re.Match[str], rule: str, payload: Payload) -> bool:
    """Whether the words around a match mean it: no question, condition, denial or somebody else's answer."""
    start = match.start() + len(match.group()) - len(match.group().lstrip())
    begin, end = sentence_bounds(text, start, max(payload.span[1], match.end()), 160)
    before = text[begin:start]
    slot = rule in {
        "answer_colon",
        "boxed",
        "xml",
        "hashes",
        "answer_heading",
        "answer_word",
        "question_answer",
    }
    if rule not in {"boxed", "xml", "hashes"} and _OTHERS.search(before):
        return False
    if not slot and (_reported(before, rule) or _WITHHELD.search(before)):
        return False
    if rule in {"fits", "option_correct"} and _NAMES.search(before):
        return False
    if rule == "fits" and _JOINED.search(before):
        return False
    if rule == "option_correct" and _RESTRICTED.match(text[match.end() : end]):
        return False
    if slot:
        return not (rule == "boxed" and _DENIED.search(before))
    if _DENIED.search(before[-40:]) or HYPOTHESIS.search(before):
        return False
    stop = text[payload.span[1] : end]
    return not (stop.rstrip().endswith("?") and rule not in EXPLICIT) and not (
        stop.rstrip(" )\"'").endswith("?")
    )


_WEAK_VERB = re.compile(r"(?:could|might|may|can) be", re.I)
_NEGATED_VERB = re.compile(r"(?:isn't|wasn't|can't be|cannot be)", re.I)
_OTHER_LETTER = re.compile(r"(?<![\w'])[A-Z](?![\w'])")


def _statement(match: re.Match[str], rule: str, options: Options) -> Payload | None:
    """Rules whose pattern holds the letters itself."""
    groups = match.groupdict()
    names = ("first", "second") if "first" in groups else ("letter",)
    letters = [groups[name].upper() for name in names]
    if any(letter not in options.letters for letter in letters):
        return None
    span = (match.start(names[0]), match.end(names[-1]))
    indices = tuple(LETTERS.index(letter) for letter in letters)
    if len(set(indices)) > 1:
        either = (
            groups["joint"].lower() in {"or", "/"}
            or groups["joint"].startswith("或")
            or "between" in match.group().lower()
        )
        return Payload("several", indices, span, either)
    gap = (groups.get("gap") or "").strip(" .:,)*")
    if gap:
        found = options.match(gap)
        if found and indices[0] not in found:
            return Payload("conflict", (*indices, *found), span)
        if not found and (
            _OTHER_LETTER.search(gap) or re.search(r"\b(?:not|if|n't|is|are|because)\b|不", gap, re.I)
        ):
            return None
    elif groups.get("letter") == "I" and not groups.get("word"):
        return None
    return Payload("option", indices, span)


_LETTER = re.compile(
    r"(?<![A-Za-z0-9_'-])[A-Z](?![A-Za-z0-9_'])|\b(?:option|choice|answer|letter)\s[(\[]?[a-z](?![a-z0-9_'])"
    r"|(?<=[\s(\[\"'])[a-z](?=[)\]\"']{0,2}[ \t]*[.!]?[ \t]*(?:$|\n))"
)
_FOREIGN_WORDS = (
    "respuesta", "réponse", "reponse", "antwort", "lösung", "resposta", "risposta", "opci", "odpowied",
    "antwoord", "cevap", "jawaban", "svar",
)  # fmt: skip


def _windows(text: str, options: Options) -> list[Span]:
    """The surroundings of every capital letter that may be a label; statements are looked for there."""
    spans: list[Span] = []
    for match in _LETTER.finditer(text):
        lower = match.group().islower()
        letter = match.group()[-1].upper()
        if letter not in options.letters or (not lower and is_word(text, match.end(), letter)):
            continue
        start = max(0, match.start() - 80)
        end = text.find("\n", match.end(), match.end() + 160)
        end = end if end >= 0 else min(len(text), match.end() + 160)
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


def statements(text: str, options: Options) -> list[Commit]:
    """Every commitment that a rule with a pattern finds, in no order."""
    lowered = text.lower()
    found: list[Commit] = []
    everything = [(0, len(text))]
    windows = _windows(text, options)
    for rule, pattern in PATTERNS.items():
        if rule not in EXPLICIT:
            spans = windows
        elif (
            (rule == "boxed" and "box" not in lowered)
            or (rule == "xml" and "<" not in text and "[" not in text)
            or (
                rule == "other_answer"
                and text.isascii()
                and not any(word in lowered for word in _FOREIGN_WORDS)
            )
            or (
                rule in {"answer_heading", "answer_word"}
                and "ans" not in lowered
                and "option" not in lowered
                and "choice" not in lowered
            )
            or (rule == "question_answer" and "?" not in text)
        ):
            continue
        else:
            spans = everything
        if rule.startswith("zh_") and text.isascii():
            continue
        for start, end in spans:
            for match in pattern.finditer(text, start, end):
                payload = _resolve(text, match, rule, options)
                if (
                    payload is not None
                    and payload.kind != "negated"
                    and _asserted(text, match, rule, payload)
                ):
                    found.append(Commit(rule, payload, payload.span[0]))
    return found


_INSTEAD = re.compile(r"\s[^.;!?\n]{1,40}?,?\sbut(?: rather)?\s")


def _resolve(text: str, match: re.Match[str], rule: str, options: Options) -> Payload | None:
    groups = match.groupdict()
    if "letter" in groups or "first" in groups:
        return _statement(match, rule, options)
    if (
        groups.get("neg")
        or groups.get("zhneg")
        or groups.get("oneg")
        or (groups.get("verb") and _NEGATED_VERB.match(groups["verb"]))
    ):
        instead = _INSTEAD.match(text, match.end()) if rule == "answer_is" else None
        found = read(text, instead.end(), options) if instead else None
        return found if found is not None and found.kind == "option" else None
    payload = read(text, match.end(), options, match.start(), letters_only=rule not in EXPLICIT)
    if payload is None:
        return None
    hedged = groups.get("verb") and _WEAK_VERB.match(groups["verb"])
    if hedged and payload.kind != "several":
        return None
    if (
        payload.kind == "none"
        and rule == "answer_is"
        and text[payload.span[0] : payload.span[1]][:1].islower()
        and payload.by_value
    ):
        return None
    return payload
