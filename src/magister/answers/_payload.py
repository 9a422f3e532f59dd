"""What stands in an answer slot: a letter, several, an option's text, or something that is no option."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ._options import LETTERS, Options
from ._text import Span

_REACH = 300

_OPENERS = re.compile(
    r"(?>[\s\"'$(\[{:=>~|*_,]|-\s|\\[(\[]|\\(?:boxed"
    r"|fbox|text(?:bf|rm|it|sf)?|math(?:rm|bf|sf|it)"
    r"|bf|displaystyle|left|quad|,|;|:)\b\s?\{?"
    r"|(?:(?:the|only|either|both|definitely|probably"
    r"|likely|clearly|therefore|surely|still|就是|是|应该"
    r"|为|选|也是)\b\s?|就是|是|应该是|为|选(?=[A-Za-z]))"
    r"|(?:correct |right |final |best )?(?:option|choice"
    r"|letter|answer|opción|opcion|option|lettre|réponse"
    r"|letra|buchstabe|variante?|вариант|буква)\b(?:\s(?:is"
    r"|choice|letter|labeled|labelled))?\s?[:#]?"
    r"|(?:la|el|le|die|der)\s(?=(?:(?:opción|opcion|option|letra|lettre|réponse|buchstabe|antwort)\s)?"
    r"[(\[\"']?(?-i:[A-Z])(?![\w'-]))"
    r"|(?:正确)?(?:选项|選択肢|选择|答案|第|字母)){0,24}+",
    re.I,
)
_LETTER = re.compile(
    r"([A-Z])(?![A-Za-z0-9_&+#^]|'[A-Za-z]|-[A-Za-z]"
    r"|\.[A-Za-z]\b(?!\w)|\s?(?:[+*^]|-(?!\s))\s?\w(?!\w*\))"
    r"|\s[+*]\s)"
)
_LOWER = re.compile(r"([a-z])(?=\s?[)\]}.:,;\"'$!<]|\s*$|\s*\n|\s?\\|\s+\()")
_NEXT = re.compile(
    r"[\"')\]}.$]{0,3}\s?(?:[,，/、;]\s?(?:and |or |& ?"
    r"|和|或)?|(?P<or>\bor\b|或者?)|\band\b|&|和|与|及|\band/or\b"
    r"|\n(?=[A-Z]\s*(?:\n|$)))\s?"
    r"(?:option |choice |选项)?[\"'(\[{$]{0,3}([A-Z])(?![A-Za-z0-9_&+#^-]|'[A-Za-z]|\.[A-Za-z]\b|\s?=)"
)
_RUN = re.compile(r"[A-Z]{2,26}(?![A-Za-z0-9_])")
_AFTER_ARTICLE = re.compile(  # on the same line: no article ends one
    r"[^\S\n\x1e]+(?!(?:because|since|as|so|is|was|are|and|or"
    r"|but|not|which|that|given|due|from|for|with|by"
    r"|in|at|on|here|"
    r"seems|looks|fits|makes|would|should|must|can|has"
    r"|wait|hmm|if|instead|rather|again|thanks|then"
    r"|option|choice|ok)\b)[^\W\d_A-Z]"
)
_PRONOUN = re.compile(
    r"\s+(?:think|believe|would|am|do|don't|did|have"
    r"|had|can|cannot|can't|guess|was|will|see|know"
    r"|need|got|first|should|say|chose|choose|made)\b"
    r"|'"
)
_NOT = re.compile(
    r"(?:not|never|neither|isn't|none of these are|不是"
    r"|不|并非|非|nicht|no es|не)(?![\w-])\s*(?!sure|certain"
    r"|known|given|enough)",
    re.I,
)
_NOT_ZH = re.compile(r"(?:不是|并非|不选|不能)")
_AFTER_WRONG = re.compile(
    r"[\"')\]}]{0,2}[^.;!?\n,，。]{0,12}?\s?(?:\b(?:is"
    r"|was|are|seems|looks|would be|must be)\s?(?:also "
    r"|clearly |definitely )?(?:not\b|n't\b|incorrect"
    r"|wrong|false|too |impossible|invalid)"
    r"|isn't|wasn't|can't|cannot|不对|不正确|是错|错误"
    r"|错的|有误|不行|不符合|also wrong|\((?:wrong|incorrect)\))",
    re.I,
)
_NO_OPTION = re.compile(
    r"(?:none|nothing|neither|no (?:option|answer|correct"
    r"|choice|idea|valid)|(?:i )?(?:do not|don't|cannot"
    r"|can't|could not|couldn't) (?:know|tell|say|determine"
    r"|be|decide|find)"
    r"|unknown|unclear|not (?:sure|known|given|enough"
    r"|listed|provided|available|certain|determinable"
    r"|in the|among)|n/?a\b|nan\b|null|undefined|undetermined"
    r"|cannot be|can't be"
    r"|uncertain|unsure|insufficient|impossible to|以上都不"
    r"|都不|没有(?:正确|答案)|不知道|不确定|无法确定|未知|无解|no (?:lo )?s[eé]\b"
    r"|weiß (?:ich )?nicht|je ne sais|не знаю)",
    re.I,
)
_PLACEHOLDER = re.compile(
    r"(?:<[^<>\n]{1,30}>|\[?(?:letter|your (?:answer|choice)|insert)\b|\$?LETTER\b|_{2,}|\.{3})", re.I
)
_ALL_NUMBER = re.compile(r"[-+$]?\d[\d.,/]*%?\s?(?:[.!}$\]]|$|\n)")
_SPLIT = re.compile(r"\s*(?:,|;|/|、|和|与|或)\s*(?:and |or )?|\s+(?:and|or|&)\s+", re.I)
_TEXT_AFTER = re.compile(
    r"[\"'}\]$*_]{0,3}(?P<strict>\s?[):\]、]{1,2}\s?|\s?[:=]\s?"
    r"|\s-{1,2}\s|\s?\(|\.?\)\s?)?(?P<loose>[.,]\s?"
    r"|\s)?(?:\\(?:text(?:bf)?|quad|,|;|\s)\s?\{?|[\s{\"'$*])*"
)
_OF_LATEX = re.compile(r"\\(?:boxed|fbox)|boxed")


@dataclass(frozen=True)
class Payload:
    """What an answer slot holds.

    Attributes:
        kind: `option`, `several`, `conflict`, `equal`, `none` (named, but no option), or `negated`.
        indices: the options named.
        span: where they stand in the folded text.
        either: whether the reply leaves the choice between them open ("A or B").
        by_value: whether the text of the option, not its letter, was read.
    """

    kind: str
    indices: tuple[int, ...]
    span: Span
    either: bool = False
    by_value: bool = False


def _slot_end(text: str, start: int, limit: int) -> int:
    """Where the slot's line ends, or the brace or quotation mark that was opened just before it."""
    end = limit
    for stop in ("\n", "\x00", "\x1e"):
        found = text.find(stop, start, end)
        end = found if found >= 0 else end
    for stop in ("</", "[/"):
        found = text.find(stop, start, end)
        end = found if found >= 0 else end
    return end


def _close(text: str, opened: str, start: int, end: int) -> int:
    if "{" in opened and _OF_LATEX.search(opened):
        depth = opened.count("{") - opened.count("}")
        for at in range(start, end):
            depth += (text[at] == "{") - (text[at] == "}")
            if depth <= 0:
                return at
    elif opened.rstrip().endswith('"'):
        quote = text.find('"', start, end)
        if quote >= 0:
            return quote
    return end


def read(
    text: str, at: int, options: Options, begin: int | None = None, letters_only: bool = False
) -> Payload | None:
    """Read the slot that opens at a position.

    Args:
        text: folded text.
        at: where the slot opens, after "answer is" or the like.
        options: the item's options.
        begin: start of the whole commitment, where an opening brace may already have been read.
        letters_only: whether prose after a verb such as "choose" may not mean an option out of range.

    Returns:
        The payload, or None where the slot holds prose.
    """
    opening = _OPENERS.match(text, at)
    assert opening is not None  # the pattern matches the empty string
    start = opening.end()
    opened = text[at if begin is None else begin : start]
    limit = min(len(text), start + _REACH)
    end = _slot_end(text, start, limit)
    end = _close(text, opened, start, end)
    if _NOT.match(text, start, end) or _NOT_ZH.match(text, start, end):
        return Payload("negated", (), (start, start))
    line = text[start:end]
    letter = _letters(text, start, end, options, opened)
    whole = options.match(line) or options.match(line.rstrip(" .!*$}])\\\"'"))
    if whole and (letter is None or letter.kind in {"none", "several"}):
        return _by_value(whole, (start, end))
    if letter is not None and letter.kind == "option" and len(whole) == 1 and whole[0] != letter.indices[0]:
        return Payload("conflict", (letter.indices[0], whole[0]), letter.span)
    if letter is not None:
        if letters_only and letter.kind == "none":
            return None
        return letter
    return _by_text(text, start, end, options, letters_only)


def slot_start(text: str, at: int) -> int:
    """Where the value of a slot that opens at a position begins."""
    opening = _OPENERS.match(text, at)
    return opening.end() if opening else at


def _by_value(found: tuple[int, ...], span: Span) -> Payload:
    return Payload("option" if len(found) == 1 else "equal", found, span, by_value=True)


def is_word(text: str, end: int, letter: str, opened: str = "") -> bool:
    """Whether a single capital letter is an article, a pronoun or another one-letter word, not a label."""
    named = re.search(r"(?:option|choice|letter|选项)\s?[\"'(\[]?$", opened, re.I)
    if named or text[end : end + 1] in {")", "]", "}"}:
        return False
    if letter == "I" and _PRONOUN.match(text, end):
        return True
    return letter in "AIOYEUАВСО" and _AFTER_ARTICLE.match(text, end) is not None


CYRILLIC = "АВСЕНКМОРТХ"
LOOK_ALIKES = str.maketrans(CYRILLIC, "ABCEHKMOPTX")


def _letters(text: str, start: int, end: int, options: Options, opened: str) -> Payload | None:
    char = text[start : start + 1]
    if char in CYRILLIC and char and not text[start + 1 : start + 2].isalnum():
        # A Cyrillic look-alike in an answer slot can only be a label; in prose it is a word of its own.
        if is_word(text, start + 1, char, opened):
            return None
        index = LETTERS.index(char.translate(LOOK_ALIKES))
        if index >= len(options.texts):
            return Payload("none", (), (start, start + 1))
        return _with_text(text, start + 1, end, options, index, start)
    match = _LETTER.match(text, start, len(text))
    if match is None:
        run = _RUN.match(text, start, end)
        if (
            run
            and len(set(run.group())) == len(run.group())
            and all(c in options.letters for c in run.group())
        ):
            return Payload("several", tuple(LETTERS.index(c) for c in run.group()), run.span())
        lower = _LOWER.match(text, start, end)
        if lower is None or lower.group(1).upper() not in options.letters:
            return None
        match = lower
    elif is_word(text, match.end(), match.group(1), opened):
        return None
    indices = [LETTERS.index(match.group(1).upper())]
    position, either = match.end(), False
    while (more := _NEXT.match(text, position)) and len(indices) < 26:
        if more.group(2) in "AI" and _AFTER_ARTICLE.match(text, more.end()):
            break
        either = either or bool(more.group("or"))
        indices.append(LETTERS.index(more.group(2)))
        position = more.end()
    span = (match.start(), position)
    if any(index >= len(options.texts) for index in indices):
        if len(indices) == 1 and re.match(r"\s[^\W\d_A-Z]", text[position : position + 2]):
            return None
        return Payload("none", (), span)
    if len(set(indices)) > 1:
        return Payload("several", tuple(dict.fromkeys(indices)), span, either)
    if _AFTER_WRONG.match(text, position, min(len(text), position + 40)):
        return Payload("negated", (), span)
    return _with_text(text, position, end, options, indices[0], match.start())


def _with_text(text: str, position: int, end: int, options: Options, index: int, start: int) -> Payload:
    """A letter, checked against the option text that may follow it."""
    after = _TEXT_AFTER.match(text, position, min(len(text), position + 40))
    begin = after.end() if after else position
    limit = _slot_end(text, begin, min(len(text), begin + _REACH))
    span = (start, position)
    if after is None or begin >= limit or not (after.group("strict") or after.group("loose")):
        return Payload("option", (index,), span)
    own = options.starts_with(text[begin:limit], index)
    rest = text[begin:limit]
    found: tuple[int, ...]
    if after.group("strict"):
        found, size = options.lookup(rest)
    else:
        sentence = re.search(r"[.!?](?=\s|$)|。", rest)
        cut = sentence.start() if sentence else len(rest)
        found, size = options.match(rest) or options.match(rest[:cut]), cut
    if own and (not found or index in found):
        return Payload("option", (index,), (start, begin + own))
    if not found:
        return Payload("option", (index,), span)
    if index in found:
        return Payload("option", (index,), (start, begin + len(rest[:size].rstrip(" .)}]$*\"'"))))
    return Payload("conflict", (index, *found), (start, begin + size))


_VALUE_THEN_LETTER = re.compile(r"\s?[(\[,-]\s?(?:option |choice )?([A-Z])\s?(?:[)\].]|$)")


def _by_text(text: str, start: int, end: int, options: Options, letters_only: bool) -> Payload | None:
    line = text[start:end]
    found, size = options.lookup(line)
    if found:
        stop = start + len(line[:size].rstrip(" .*$}\"'"))
        letter = _VALUE_THEN_LETTER.match(text, start + size, end)
        if letter and letter.group(1) in options.letters and LETTERS.index(letter.group(1)) not in found:
            return Payload("conflict", (LETTERS.index(letter.group(1)), *found), (start, letter.end()))
        parts = [options.match(part) for part in _SPLIT.split(line[:200].rstrip(" .!"))]
        several = tuple(dict.fromkeys(part[0] for part in parts if len(part) == 1))
        if len(several) > 1 and all(parts):
            return Payload("several", several, (start, end), " or " in line, by_value=True)
        return _by_value(found, (start, max(stop, start + 1)))
    letter = re.search(r"\(\s?(?:option |choice )?([A-Z])\s?\)[.!]?\s?$", line)
    if letter and letter.group(1) in options.letters:
        return Payload(
            "option", (LETTERS.index(letter.group(1)),), (start + letter.start(1), start + letter.end(1))
        )
    parts = [options.match(part) for part in _SPLIT.split(line[:200].rstrip(" .!"))]
    if len(parts) > 1 and all(parts):
        return Payload(
            "several",
            tuple(dict.fromkeys(part[0] for part in parts)),
            (start, end),
            " or " in line,
            by_value=True,
        )
    if letters_only:
        return None
    if _NO_OPTION.match(line) or _PLACEHOLDER.match(line) or _ALL_NUMBER.match(line):
        return Payload("none", (), (start, end))
    return None
