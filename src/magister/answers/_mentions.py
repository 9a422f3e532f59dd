"""Mentions of options in prose: letters used as choices, restated lists, values and texts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ._canonical import canonical_value
from ._options import LETTERS, Options
from ._payload import CYRILLIC, LOOK_ALIKES, is_word
from ._text import Span

_WORD = (
    r"(?:options?|choices?|answer choices?|letters?|statements?"
    r"|选项|選択肢|opción|opciones|lettre|buchstabe|вариант)"
)
_LEAD = (
    rf"(?:{_WORD}|answers?|ans|solution|response|respuesta|réponse|antwort|ответ|答案|答|解答|正解|选择?|boxed)"
    r"(?:[\"'*_\])}]{0,3}\s{0,3}(?:[:=→]|->|-)|\s(?:is"
    r"|was|are|must be|should be|would be|could be|might be"
    r"|be)(?:n't| not)?|是|为|選|选|は)?"
)
_LIST = (
    r"(?:[\s\"'*)\]}]{0,3}(?:[,/、;&或和与]|\b(?:or|and|not)\b){1,2}\s?[\"'*(\[]{0,3}"
    r"[A-Z](?![A-Za-z0-9_'])[)\]]?){0,25}"
)
# A letter after a word that makes it a choice; after a verb of choosing; before a predicate; as a label.
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?i:(?<![A-Za-z]){_LEAD}[\s\"'*_$(\[{{:\\]{{0,8}}(?:(?:text"
        rf"|mathrm|textbf|boxed)\{{)?(?:(?:the )?{_WORD}\s?)?[\"'*(\[]{{0,3}})(?P<letter"
        rf"s>[A-Z](?![A-Za-z0-9_'+^])[)\]]?{_LIST})",
        r"(?i:\b(?:choos(?:e|ing)|chose|pick(?:ed|ing)?"
        r"|select(?:ed|ing)?|go(?:ing)? with|went with"
        r"|opt(?:ed)? for|prefer|guess|eliminate|reject"
        r"|rule out|exclude|either|between|both|neither"
        r"|nor|not|than|leaves|leaving|only|it's|it is"
        rf"|isn't|wasn't|so|thus|therefore|hence|is)[,:]?\s[\"'*(\[]{{0,3}})(?P<letters>"
        rf"[A-Z](?![A-Za-z0-9_'+^])[)\]]?{_LIST})(?!\s?[=+*/^<>-]"
        r"|\s(?i:equals|plus|minus|times))",
        rf"(?:(?<=[\n.!?;:,。，；：！？\x1e])|^)[\s\"'*_>#$\\({{\[-]{{0,6}}(?P<letters>[A-Z](?![A-Za-z"
        rf"0-9_'+^]){_LIST})(?=\s?[\"'*)\]}}$\\]*\s*(?:$|\n|[.!?。！？]\s*(?:$"
        r"|\n)|\x1e|\x00))",
        rf"(?<![A-Za-z0-9_'.\\^-])[(\[]?(?P<letters>[A-Z](?![A-Za-z0-9_'+^])[)\]]?{_LIST}"
        r")(?=\s(?i:is|are|was|were|seems?|looks?|must"
        r"|would|could|can't|cannot|can|has to|fits?"
        r"|works?|and [A-Z] are|too|gives|says|matches"
        r"|isn't|wasn't|doesn't|does not)\b(?!\s?[=]))",
        r"(?<![A-Za-z0-9_'.\\^-])(?P<letters>[A-Z](?:选项"
        rf"|项)?{_LIST})(?=\s?(?:也|都|才|太|完全|肯定|应该)?(?:是正确"
        r"|是对|是错|正确|错误|不对|不正确|对的|错的|符合|不符合|对(?![于应])"
        r"|错))",
        r"(?<![_'\\^])(?<!\b[a-zP])(?<!\bsin)(?<!\bcos)(?<!\btan)(?<!\blog)"
        r"[(\[][ \t]{0,3}(?P<letters>[A-Z])[ \t]{0,3}[)\]]",
        r"(?:(?<=[\n\s,;:。，；：\"'*])|^)(?P<letters>[A-Z](?:\)|\]|\.(?=\s)|\s?:(?=\s)|、))(?=\s{0,2}\S|\s*$)",
    )
)
# A letter that closes a bracket is a label whatever follows it, unless it stands in a formula there.
_LABEL = re.compile(r"(?<![A-Za-z0-9_'\\^(\[])(?P<letters>[A-Z]\))")
_IN_FORMULA = re.compile(
    r"\b(?:[a-zP]|sin|cos|tan|log)\((?:(?:[A-Za-z]|[\d.]{1,9})\s?[-+,*/^=]\s?){0,9}$"
    r"|\([^()\n]{0,60}(?:(?<![A-Za-z])[A-Za-z]|\d)\s?[-+*/^=]\s?$"
)
# In lower case, or as a Cyrillic look-alike, only behind a word for it at the end of its clause, or alone.
_SLOT = re.compile(
    rf"(?:(?i:(?<![A-Za-z]){_LEAD}[\s\"'*_$(\[{{:\\]{{1,8}}(?:(?:text|mathrm|textbf|boxed)\{{)?"
    rf"(?:(?:the )?{_WORD}\s?)?[\"'*(\[]{{0,3}})|\A[^\w-]{{0,12}})"
    rf"(?P<letters>[a-z{CYRILLIC}])(?=[\"'*)\]}}$\\]{{0,4}}\s*(?:$|[\n.,;:!?)\]}}]))"
)
_SINGLE = re.compile(r"(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9])")


def _in_formula(text: str, at: int) -> bool:
    line = max(text.rfind("\n", max(0, at - 90), at) + 1, at - 90, 0)
    return _IN_FORMULA.search(text, line, at) is not None


def letters(text: str, options: Options) -> Iterator[tuple[Span, str]]:
    """Option letters that stand as choices.

    Args:
        text: folded text.
        options: the item's options.

    Yields:
        The span to remove (letters with their brackets and joining words) and the letters named.
    """
    for match in _LABEL.finditer(text):
        if match["letters"][0] in options.letters and not _in_formula(text, match.start()):
            yield match.span("letters"), match["letters"][0]
    for match in _SLOT.finditer(text):
        letter = match["letters"].translate(LOOK_ALIKES).upper()
        if letter in options.letters:
            yield match.span("letters"), letter
    for number, pattern in enumerate(_PATTERNS):
        for match in pattern.finditer(text):
            span = match.span("letters")
            named = [found.group() for found in _SINGLE.finditer(text, *span)]
            if not named or named[0] not in options.letters:
                continue
            end = span[0] + 1
            if text[end : end + 1] == ")" and _in_formula(text, span[0]):
                continue
            if len(named) == 1 and is_word(text, end, named[0]) and text[end : end + 1] not in {")", "]"}:
                continue
            if named[0] == "I" and (number in {1, 3} or re.match(r"\s[a-z]", text[end : end + 2])):
                continue
            if (
                named[0] == "A"
                and number == 6
                and text[end : end + 1] not in {")", "]"}
                and not re.match(r"[.:、]", text[end:])
            ):
                continue
            yield span, "".join(letter for letter in named if letter in options.letters)


NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.])(?:(?<![A-Za-z0-9_)\]])-)?(?:\d{1,3}(?:,\d{3})+(?!\d)"
    r"|\d+)(?:\.\d+)?(?:\s\d+/\d+|/\d+(?:\.\d+)?)?(?:\^\(?\{?-?\d+\}?\)?)?(?![\w^]"
    r"|\.\d)"
    r"|(?:(?<![A-Za-z0-9_)\]])-\s?)?\\[dt]?frac\s?(?:\{[^{}\n]{1,40}\}\s?\{[^{}\n]{1,40}\}|\d\d)|[½⅓⅔¼¾⅛]"
    r"|(?<![A-Za-z0-9_.])(?:(?<![A-Za-z0-9_)\]])-)?\d+(?:\.\d+)?(?=\s?(?:%"
    r"|[°一-鿿]|(?:cm|mm|km|kg|ml|m|g)\b))|(?<![A-Za-z0-9_.])\.\d+"
)
_MATH = re.compile(
    r"\$([^$\n]{1,120})\$|\\\(([^\n]{1,120}?)\\\)|(?<!\S)([^\s,;]{0,60}[\d^√π=+*/\\()][^\s,;]{0,60})"
)
_ORDINAL = re.compile(
    r"(?:\b(?:steps?|lines?|part|problem|question|equation"
    r"|section|row|paragraph|sentence|round)\s?\(?|第\s?"
    r"|步骤\s?)$",
    re.I,
)
_WORDED = re.compile(
    r"\b(?:minus |negative )?(?:(?:twenty|thirty|forty"
    r"|fifty|sixty|seventy|eighty|ninety)(?:[- ](?:one"
    r"|two|three|four|five|six|seven|eight|nine))?"
    r"|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    r"|eighteen|nineteen)\b",
    re.I,
)


def values(text: str) -> Iterator[tuple[Span, str]]:
    """Numbers and formulas in prose with their canonical value.

    "One" and "two" are not read as numbers, nor is the number of a step, line or list entry.
    """
    for match in NUMBER.finditer(text):
        start, end = match.span()
        if _ORDINAL.search(text[max(0, start - 16) : start]):
            continue
        line = text.rfind("\n", 0, start) + 1
        if not text[line:start].strip(" \t#*-(") and re.match(r"[.)](?:\s|$)", text[end : end + 2]):
            continue
        yield (start, end), canonical_value(match.group())
    for match in _MATH.finditer(text):
        group = next(index for index in (1, 2, 3) if match.group(index) is not None)
        piece = match.group(group)
        lead = len(piece) - len(piece.lstrip("\"'"))
        stripped = piece.strip("\"'").rstrip(".!?:*")
        start = match.start(group) + lead
        if _ORDINAL.search(text[max(0, start - 16) : start]) or re.search(
            r"[\w)}]\s?[-+*×·÷=]|\\times|\\cdot", stripped
        ):
            continue  # work to be done states no result; one side of an equation is found as a number
        yield (start, start + len(stripped)), canonical_value(stripped)
    for match in _WORDED.finditer(text):
        yield match.span(), canonical_value(match.group())


def phrases(text: str, wanted: str) -> Iterator[Span]:
    """Whole-word occurrences of a text, whatever its case and spacing."""
    words = wanted.split()
    if not words or len(wanted) > 2000:
        return
    body = r"\s+".join(re.escape(word) for word in words)
    left = r"(?<![^\W_])" if words[0][0].isascii() else ""
    right = r"(?![^\W_])" if words[-1][-1].isascii() else ""
    for match in re.finditer(left + body + right, text, re.I):
        yield match.span()


def index_of(letter: str) -> int:
    """The option that a letter stands for."""
    return LETTERS.index(letter)
