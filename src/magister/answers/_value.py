"""The value that a free-form reply commits to, and whether it is the one wanted."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ._canonical import canonical_value, is_number
from ._choice import without_reply
from ._reasoning import visible_spans
from ._refusal import refuses
from ._text import Rule, Span, fold, segments

_REACH = 400
_MAX_SLOTS = 200  # empty slots looked at from the end; a reply with more is noise

_SLOT = (
    r"(?<![\w-])(?:(?:final|correct|right|my|the) ){0,3}(?:answer"
    r"|ans|result|solution|final[_ ]answer)[*\"')\]]{0,3}\s{0,3}(?::="
    r"|[:=→]|->)\s*"
    r"|(?:正确|最终|最后)?(?:答案|结果|解答|答)[\"')\]]{0,2}\s?(?:[::=]|是|为)\s?:?\s*"
    r"|(?<!\w)(?:respuesta|r[eé]ponse|antwort|ответ"
    r"|resposta|risposta|答え|正解)[\"']?(?:\s?:|\s(?:es"
    r"|est|ist|lautet|é|è)\b|は)\s*"
)
_IS = (
    r"(?<![\w-])(?:answer|result|solution|total|value)\"?(?:\s(?:to"
    r"|for|of|in|that)\b[^.,;:!?\n]{0,60}?)?(?:,? (?:therefore"
    r"|thus|then|hence),?)?"
    r"\s+(?:is|are|was|equals|must be|should be|would be"
    r"|will be|becomes|comes to)\s*:?\s*(?P<neg>not\b"
    r"|n't\b)?"
)
VALUE_RULES: tuple[Rule, ...] = (
    Rule(
        "boxed", "LaTeX \\boxed{...}", r"\\?\bboxed\s?\{|\\fbox\s?\{", example="Thus \\boxed{\\frac{1}{2}}."
    ),
    Rule("hashes", "'#### 18' at the start of a line", r"(?:^|\n)\s?#{4}\s*", example="9 + 9 = 18\n#### 18"),
    Rule(
        "xml",
        "<answer>...</answer>",
        r"<\s?(?:final[_ ]?)?(?:answer|ans|result|答案)\s?>\s*",
        example="<answer>18</answer>",
    ),
    Rule(
        "answer_colon",
        "'Answer: 18', also as a JSON field and in other languages",
        _SLOT,
        example="Answer: 18 apples",
    ),
    Rule("answer_is", "'The answer is 18', 'the total is 18'", _IS, example="The total is 18."),
    Rule("bare", "the whole reply is a value or a few words", example="1/2"),
    Rule(
        "last_equation",
        "the right side of the equation that ends the reply",
        example="Each has 9, so 9 + 9 = 18",
    ),
    Rule("last_number", "the last number of the reply", example="They will need 18 of them"),
    Rule("empty", "no text", example=""),
    Rule(
        "no_value",
        "nothing in the reply is a value",
        example="Let us think about what is asked here before we begin to count.",
    ),
    Rule("unclosed_reasoning", "a reasoning block never closes", example="<think>It is 18"),
    Rule("refusal", "the model declines", example="I'm sorry, but I can't help with that."),
    Rule("call_failed", "there is no reply because the call failed", example="API_ERROR"),
)
_PATTERNS = [(rule.id, re.compile(rule.pattern, re.I)) for rule in VALUE_RULES if rule.pattern]

_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.\\])(?:(?<![A-Za-z0-9_)\]])[-+−]\s?)?[$€£¥]?(?:\d{1,3}(?:,\d{3})+(?!\d)"
    r"|\d+)(?:\.\d+)?(?:\s\d+/\d+|/\d+(?:\.\d+)?)?(?:[eE][-+]?\d{1,4})?\s?%?(?![A-Za-z0-9_^])"
    r"|(?:(?<![A-Za-z0-9_)\]])-\s?)?\\[dt]?frac\s?\{[^{}\n]{1,40}\}\s?\{[^{}\n]{1,40}\}"
    r"|(?<![A-Za-z0-9_.])(?:(?<![A-Za-z0-9_)\]])-)?[$€£¥]?(?:\d{1,3}(?:,\d{3})+"
    r"|\d+)(?:\.\d+)?(?=[A-Za-z一-鿿°²³])|(?<![\d.])\.\d+"
)
_BREAK = re.compile(r"\n|\x1e|[.!?](?=\s|$|[\"')*])|[。！？；;]|</|,\s*[\"'](?=\w)")
_TRAILING = re.compile(
    r"(?:,|\s)\s*(?:because|since|as|so|not|rather than|which|where"
    r"|and that|given|due|after|per|each|every|in total"
    r"|in all|altogether)\b.*$",
    re.I | re.S,
)
_UNKNOWN = re.compile(
    r"(?:unknown|not (?:sure|known|given)|(?:i )?(?:don't"
    r"|do not|cannot|can't) (?:know|say|tell|determine)"
    r"|n/?a$|none$|nan$|null$|不知道|无法确定)",
    re.I,
)
_PLACEHOLDER = re.compile(r"<[^<>\n]{1,30}>|\[[a-z ]{3,30}\]|_{2,}", re.I)
_SYMBOLIC = re.compile(r"(?:sqrt|pi|sin|cos|tan|log|ln|[a-z](?![a-z])|[^\Wa-z_]|[\W_])+")
# Words after a number that say what was counted ("72 clips altogether in April and May"), and those that go
# on with the value itself.
_GOES_ON = re.compile(
    r"(?:and|or|to|plus|minus|times|over|by|mod|modulo|remainder|divided|multiplied|squared|cubed|out|of \d|am|pm"
    r"|if|more than|less than|fewer than|not|ad|bc|bce|ce|th|st|nd|rd)\b|[b-zA-Z](?![A-Za-z])",
    re.I,
)
_OTHER = re.compile(
    r"(?<!\w)(?:in|per|for|after|every|each|within|during|from|at|on|with|last|first|next|all|both|than)"
    r"(?: the| all)? [$€£]?\d[\d,.]*",
    re.I,
)
_CHECK = re.compile(
    r"(?:[.!?。！？]\s|\n)[\s#*(]{0,8}(?:(?:to|let'?s|let me|we can|i can|now|quick|then|double)[\s-]+){0,3}"
    r"(?:(?:check|verify|verification|checking|verifying|proof)(?:\s(?:it|this|that|the answer|our answer|my answer))?"
    r"\s?[,:]|(?:检查|验证|验算|检验)[一下]*\s?[,:，：])",
    re.I,
)
_COMMITS = re.compile(
    r"=|\b(?:get|gets|got|gives?|so|thus|therefore|hence|total|makes?|left|answer|is|are|have|has)\b|是|得|共|为",
    re.I,
)
_TAKEN_BACK = re.compile(
    r"\b(?:wait|wrong|oops|actually|mistake|error|not|so|therefore|thus)\b|不对|错|所以", re.I
)
_LET_US = re.compile(r"(?:let'?s|let me|we|i|to|first|in order|it is|the|this)\b", re.I)
_DENIED = re.compile(r"(?:\b(?:not|never|isn't|cannot be|can't be)|不是|并非)\s*$", re.I)
_WRAP = " \t\"'*_`$"


@dataclass(frozen=True)
class Value:
    """What a free-form reply says.

    Attributes:
        status: `ok`, `no_answer`, `refusal`, `truncated` or `error`.
        answer: the value as written, or None unless `ok`.
        rule: id of the rule in `VALUE_RULES` that decided.
        span: where the value stands in the reply, or None.
    """

    status: str
    answer: str | None
    rule: str
    span: Span | None


def _braced(text: str, start: int) -> int:
    depth = 1
    for at in range(start, min(len(text), start + _REACH)):
        depth += (text[at] == "{") - (text[at] == "}")
        if not depth:
            return at
    return -1


def _trim(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    lead = len(piece) - len(piece.lstrip(_WRAP + "\n:"))
    tail = len(piece) - len(piece.rstrip(_WRAP + ".,;:!\n"))
    start, end = start + lead, max(start + lead, end - tail)
    for opening, closing in (("\\(", "\\)"), ("\\[", "\\]")):
        if text.startswith(opening, start):
            closed = text.find(closing, start, end)
            start, end = start + 2, closed if closed >= 0 else end
    return start, end


def _counted(text: str, start: int, end: int) -> Span:
    """A span narrowed to the number it opens with, where the rest says what was counted."""
    start, end = _trim(text, start, end)
    number = _NUMBER.match(text, start, end)
    if number is None or not text[number.end() : end].strip():
        return start, end
    head = number.group().rstrip()
    stop = start + len(head)
    scale = re.compile(r" (?:hundred|thousand|million|billion|trillion|dozen)\b", re.I).match(text, stop, end)
    stop = scale.end() if scale else stop
    rest = text[stop:end]
    aside = re.fullmatch(r"\s\(([^()]*)\)?", rest)
    if aside:
        same = canonical_value(aside[1]) == canonical_value(head) or re.search(r"[A-Za-z]{2}", aside[1])
        return (start, stop) if same else (start, end)
    if is_number(canonical_value(text[start:end])):
        return start, end
    words = re.match(r"(?:,)?\s+(?=[A-Za-z])", rest)
    if not words or _GOES_ON.match(rest, words.end()) or re.search(r"[=<>^\\±≈≤≥√+*]", rest):
        return start, end
    if re.search(r"\d", _OTHER.sub("", re.sub(r"\([^()]*\)?", "", rest))) or re.search(r"\bor\b", rest):
        return start, end
    return start, stop


def _before_check(text: str) -> str:
    """The reply up to where it goes on to check what it has already said."""
    check = _CHECK.search(text)
    if check is None or _TAKEN_BACK.search(text, check.end()):
        return text
    said = text[: check.start() + 1]
    last = re.split(r"[.!?]\s|[。！？\n]", said.rstrip(" .!?。！？\n"))[-1]
    if not _NUMBER.search(last):
        return text
    return said if _COMMITS.search(last) or is_number(canonical_value(last)) else text


def _slot(text: str, start: int) -> Span | None:
    """The value in an answer slot: the rest of the sentence, narrowed to a number where it holds one."""
    boxed = re.compile(r"[\s$*(\\\[]{0,8}\\boxed\s?\{").match(text, start)
    if boxed:
        end = _braced(text, boxed.end())
        return (boxed.end(), end) if end > 0 else None
    lead = re.compile(r"[\s*$\"'`\[{]*").match(text, start, start + 40)
    begin = lead.end() if lead else start
    quote = text[begin - 1 : begin]
    stop = _BREAK.search(text, begin, begin + _REACH)
    end = stop.start() if stop else min(len(text), begin + _REACH)
    if quote in {'"', "'"}:
        closed = text.find(quote, begin, end)
        end = closed if closed >= 0 else end
    if "{" not in text[begin:end] and "}" in text[begin:end]:
        end = text.find("}", begin, end)
    if not text[begin:end].strip() or _PLACEHOLDER.match(text, begin, end):
        return None
    piece = text[begin:end]
    if _LET_US.match(piece) and not re.search(r"\d", piece) and len(piece.split()) > 6:
        return None
    short = _TRAILING.sub("", piece)
    for candidate in (piece.partition(" (")[0], piece, short):
        if "=" not in candidate and is_number(canonical_value(candidate)):
            return _trim(text, begin, begin + len(candidate))
    equals = short.rfind("=")
    if equals >= 0 and short[equals + 1 :].strip():
        return _counted(text, begin + equals + 1, begin + len(short))
    numbers = [match.span() for match in _NUMBER.finditer(short)]
    letters = re.sub(r"\\[a-z]+|[^A-Za-z一-鿿]", "", short)
    if len(numbers) == 1 and len(letters) > 2 and not re.search(r"\bor\b|\bnot\b|或|≈|±|\\pm|[\^√]", short):
        return begin + numbers[0][0], begin + numbers[0][1]
    return _counted(text, begin, begin + len(short))


def _committed(text: str) -> tuple[str, Span] | None:
    slots = [
        (match.end(), rule)
        for rule, pattern in _PATTERNS
        for match in pattern.finditer(text)
        if not match.groupdict().get("neg")
    ]
    # The last slot that holds something; one that opens inside another one's value is the same commitment.
    for start, rule in sorted(slots, reverse=True)[:_MAX_SLOTS]:
        if rule == "boxed":
            end = _braced(text, start)
            span = (start, end) if end > 0 else None
        else:
            span = _slot(text, start)
        if span and text[span[0] : span[1]].strip():
            return rule, span
    return None


def _fallback(text: str) -> tuple[str, Span] | None:
    text = _before_check(text)
    begin, end = _trim(text, 0, len(text))
    whole = text[begin:end]
    canonical = canonical_value(whole) if len(whole) <= 200 else ""
    if (
        whole
        and "=" not in whole
        and not re.search(r"[一-鿿]", whole)
        and "\n" not in whole
        and (is_number(canonical) or _SYMBOLIC.fullmatch(canonical))
    ):
        return "bare", (begin, end)
    equation = re.search(r"=\s*((?:[^=\n.!?]|\.(?=\d)){1,120})[\s.!*$)]*$", text[-200:])
    if equation:
        offset = max(0, len(text) - 200)
        return "last_equation", _counted(text, offset + equation.start(1), offset + equation.end(1))
    last = None
    for match in _NUMBER.finditer(text):
        last = match
    if last is not None and not _DENIED.search(text[: last.start()]):
        return "last_number", _trim(text, *last.span())
    if (
        whole
        and not _PLACEHOLDER.search(whole)
        and len(whole.split()) <= 6
        and "\n" not in whole
        and len(whole) <= 80
    ):
        return "bare", (begin, end)
    return None


def extract_value(text: str | None, finish_reason: str | None = None) -> Value:
    """Read the value that a free-form reply commits to.

    The last answer slot wins (`\\boxed`, `####`, `<answer>`, "answer:", "the answer is"); without one a reply
    that is nothing but a value, the equation that ends it, or its last number. Text that the model goes on to
    invent after its answer, and reasoning blocks, are not read.
    Of "= 72 clips altogether in April" the number is the value, as long as no second quantity follows ("5 feet 3
    inches" stays whole). A closing check ("12. Check: 12*2=24") is not read unless it takes the value back.

    Args:
        text: the reply, or None where there is none.
        finish_reason: as the engine gave it; a reply cut at its length limit commits only in a slot.

    Returns:
        Status, value as written, rule and span.
    """
    missing = without_reply(text, finish_reason)
    if missing is not None:
        return Value(missing.status, None, missing.rule, None)
    assert text is not None
    truncated = finish_reason in {"length", "max_tokens", "model_length"}
    visible, _, unclosed = visible_spans(text)
    if unclosed:
        return Value("truncated" if truncated else "no_answer", None, "unclosed_reasoning", None)
    folded = fold(text, visible)
    found: tuple[str, Span] | None = None
    for (start, end), _ in segments(folded.text):
        part = _committed(folded.text[start:end])
        if part is not None:
            found = (part[0], (part[1][0] + start, part[1][1] + start))
            break
    if found is None and refuses(folded.text):
        return Value("refusal", None, "refusal", None)
    if found is None and not truncated:
        for (start, end), _ in segments(folded.text):
            part = _fallback(folded.text[start:end])
            if part is not None:
                found = (part[0], (part[1][0] + start, part[1][1] + start))
                break
    if found is None or (truncated and not folded.text[found[1][1] :].strip()):
        return Value("truncated" if truncated else "no_answer", None, "no_value", None)
    rule, span = found
    answer = folded.text[span[0] : span[1]].strip()
    if not answer or _UNKNOWN.match(answer):
        return Value("no_answer", None, "no_value", folded.original(span))
    return Value("ok", answer, rule, folded.original(span))


def equal_values(gold: str, pred: str) -> bool:
    """Whether a prediction means the gold value: same number, expression or normalised text.

    Exact: rational arithmetic without tolerance, so 1/2^99 is not 1/2^98 and 2\\pi is not 6.28. `pred` may be
    a whole reply, of which the last committed value counts; a prediction that is a value as it stands (a
    number, tuple, expression) is not searched for others, so that "5" is not found in "25" or "(2,1)".

    The policies of `canonical_value` hold: 20% = 20 and not 0.2; "3,5" is a list and not 3.5; "(3)" is 3 and
    not -3; units and currency do not count. An empty string equals nothing.

    Args:
        gold: the right value.
        pred: a value or a whole reply.

    Returns:
        True where both mean the same.
    """
    wanted = canonical_value(gold)
    if not wanted or not pred.strip():
        return False
    given = canonical_value(pred)
    if given == wanted:
        return True
    if not re.search(r"[^\W\d_]{2}|=|####", re.sub(r"\\[a-zA-Z]+|boxed", "", given)) and "boxed" not in pred:
        return False  # already a value of its own
    value = extract_value(pred)
    if value.answer is None:
        return False
    return canonical_value(value.answer) == wanted
