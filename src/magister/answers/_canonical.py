"""Canonical values: one string for all the ways in which a number, expression or short text is written."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from functools import lru_cache

from . import _algebra

_MAX_VALUE = 6000  # longer texts are prose: only their whitespace and case are normalised
_CACHED = 200

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ", "0123456789+-=()n")
_SUPERSCRIPT = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ]+")
_VULGAR = re.compile(r"(\d?)([¼-¾⅐-⅞])")
_DASHES = str.maketrans(
    {
        "−": "-",
        "–": "-",
        "—": "-",
        "‐": "-",
        "‑": "-",
        "’": "'",
        "‘": "'",
        "“": '"',
        "”": '"',
        "«": '"',
        "»": '"',
    }
)
_WRAPPER = re.compile(
    r"\\(?:boxed|fbox|text(?:bf|rm|it|sf)?|mathrm|mathbf"
    r"|mathit|mathsf|mbox|emph|operatorname|textstyle"
    r"|textnormal)\*?\s?"
    r"\{([^{}]*)\}"
)
_BOXED = re.compile(r"\\?(?:boxed|fbox)\s?\{")
_LATEX_NOISE = re.compile(
    r"\\(?:left|right|displaystyle|bigl?|bigr|Bigl?"
    r"|Bigr|limits|quad|qquad|,|;|!|:)(?![a-zA-Z])|\\ "
    r"|\\[()\[\]]|\$+|~"
)
_DEGREE = re.compile(r"\^\s?\{?\s?\\(?:circ|degree)\s?\}?|\\degree|°")
_SPECIAL_NAMES = (
    (re.compile(r"\\[dtc]frac(?![a-zA-Z])"), r"\\frac"),
    (re.compile(r"\\(?:cdot|times|ast)(?![a-zA-Z])"), "*"),
    (re.compile(r"\\div(?![a-zA-Z])"), "/"),
    (re.compile(r"\\pm(?![a-zA-Z])"), "±"),
    (re.compile(r"\\(?:leq?|leqslant)(?![a-zA-Z])|<="), "≤"),
    (re.compile(r"\\(?:geq?|geqslant)(?![a-zA-Z])|>="), "≥"),
    (re.compile(r"\\(?:neq?)(?![a-zA-Z])|!="), "≠"),
    (re.compile(r"\\approx(?![a-zA-Z])"), "≈"),
    (re.compile(r"\\infty(?![a-zA-Z])"), "∞"),
    (re.compile(r"\\cup(?![a-zA-Z])"), "∪"),
    (re.compile(r"\\in(?![a-zA-Z])"), "∈"),
)
_GROUPED = re.compile(
    r"(?<![\d.,])\d{1,3}(?:(?:,|\{,\}|\\,|_|')\d{3})+(?![\d,]|\.\d+,)|(?<![\d.,])\d{1,3}(?: \d{3})+(?!\d)"
)
_CURRENCY = re.compile(
    r"(?:us|a|c|nz|hk)?\$|[€£¥₹₽₩]|(?:\b(?:usd|eur|gbp|rmb|cny|inr|rs\.?)(?= ?[-\d.]))", re.I
)
_SCALES = {
    "hundred": 10**2,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "dozen": 12,
}
_SCALES |= {"万": 10**4, "亿": 10**8, "千": 1000, "百": 100}
_NUMBER = r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)(?:/\d+)?"
_WITH_SCALE = re.compile(
    rf"({_NUMBER}) ?(hundred|thousand|million|billion|trillion|dozen|万|亿|千|百)(?![a-z])"
)
_NOT_UNITS = (
    r"and|or|to|than|more|less|fewer|at|least|most|not"
    r"|am|pm|bc|ad|bce|ce|plus|minus|over|by|times|if"
    r"|is|are|was|but"
    r"|mod|modulo|remainder|pi|sqrt|x|y|z|n|th|st|nd|rd|e|i|only|each"
)
_UNIT_WORD = rf"(?!(?:{_NOT_UNITS})\b)[a-zµ]{{2,20}}\.?"
_UNIT = re.compile(
    rf"({_NUMBER}|\S*\\frac\S*)(?: ?%| percent| per cent| ?℃| ?℉| degrees?(?: (?:celsius|fahrenheit))?"
    rf"| [mgshlnjwvk](?:\^\{{?[23]\}}?)?(?:/[a-z]{{1,3}})?"
    r"| ?(?:[mckd]?m|k?g|mg|m?l|s|h|km/h|m/s|mph|kph"
    r"|k?hz|k?w|k?j|kwh|oz|lbs?|ft|cm|mm|km|hrs?|mins?"
    rf"|secs?)(?:\^\{{?[23]\}}?)?"
    rf"(?:/(?:s|h|hr|min|kg|l)(?:\^\{{?2\}}?)?)?(?![a-z0-9])"
    rf"| {_UNIT_WORD}(?:\^\{{?[23]\}}?)?(?:[ /]{_UNIT_WORD}){{0,3}}(?:\^\{{?[23]\}}?)?"
    r"| ?(?:个|元|块|米|千米|公里|厘米|千克|公斤|克"
    r"|小时|分钟|秒|天|年|月|岁|人|只|支|本|倍|次|度|平方米|平方厘米"
    r"|立方米|美元|英里|円|人|個|本)+)\.?"
)
_MIXED = re.compile(r"([-+]?)(\d+) (\d+)/(\d+)")
_RANGE = re.compile(r"\d[\d.,]*%? ?- ?\d[\d.,]*%?|\d{1,4}([-/.])\d{1,2}\1\d{1,4}|\d+:\d+(?::\d+)*")
_LHS = re.compile(
    r"(?:\\?[a-z](?:_\{?\w{1,6}\}?)?'?|\\?[a-z]\s?\([a-z]\)"
    r"|(?:the )?[a-z]{3,20}(?: [a-z]{2,20}){0,3})\s?=\s?(?=[^=])"
)
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_WORDS = {word: value for value, word in enumerate(_ONES)}
_ROUND = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TENS = {word: 10 * value for value, word in enumerate(_ROUND, 2)}
_WORDS |= _TENS
_WORDS |= {
    f"{ten}-{word}": _TENS[ten] + value
    for ten in _TENS
    for word, value in list(_WORDS.items())
    if 0 < value < 10
}
_WORD_NUMBER = re.compile(
    r"((?:minus |negative )?)([a-z]+(?:[- ](?!hundred"
    r"|thousand|million|billion)[a-z]+)?)(?: (hundred"
    r"|thousand|million|billion))?"
)
_EDGES = "# \t\r\n\f\v.,;:!?。，；：！？、*_`\"'“”‘’"
_ARTICLE = re.compile(r"(?:(?:a|an|the) )+(?=[^\W\d_]{2}|\d)")


def _clean(text: str) -> str:
    """Characters, LaTeX and markup unified; lower case; single spaces."""
    text = _SUPERSCRIPT.sub(lambda m: "^(" + m.group().translate(_SUPERSCRIPTS) + ")", text)
    text = _VULGAR.sub(
        lambda m: (m[1] + " " if m[1] else "") + unicodedata.normalize("NFKC", m[2]).replace("⁄", "/"), text
    )
    text = unicodedata.normalize("NFKC", text).translate(_DASHES)
    text = (
        "".join(char for char in text if unicodedata.category(char) != "Cf") if not text.isascii() else text
    )
    text = re.sub(r"\s+", " ", text).strip()
    if "\\" in text or "$" in text or "boxed" in text:
        text = re.sub(r"\\(?=[%$#&{}])", "", text)
        for _ in range(6):
            stripped = _WRAPPER.sub(r" \1 ", text)
            if stripped == text:
                break
            text = stripped
        boxed = _BOXED.match(text)
        if boxed and text.endswith("}"):
            text = text[boxed.end() : -1]
        text = _DEGREE.sub(" degrees", text)
        for pattern, replacement in _SPECIAL_NAMES:
            text = pattern.sub(replacement, text)
        text = _CURRENCY.sub("", text) if re.search(r"\\?\$ ?[-\d.]", text) else text
        text = _LATEX_NOISE.sub(" ", text)
    text = re.sub(r"\s*\^\s*", "^", _DEGREE.sub(" degrees", text))
    return re.sub(r"\s+", " ", text).strip().casefold()


def _format(value: Fraction) -> str | None:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _algebra.MAX_BITS:
        return None
    return str(value)


def _number(text: str) -> str | None:
    """Numbers that are not written as an expression: mixed, scaled, with a unit, in words."""
    text = _GROUPED.sub(lambda m: re.sub(r"\D", "", m.group()), text)
    text = _CURRENCY.sub("", text).strip()
    for _ in range(4):
        scale = _WITH_SCALE.match(text)
        if scale:
            factor, rest = _SCALES[scale[2]], text[scale.end() :]
            try:
                value = Fraction(scale[1]) * factor
            except (ValueError, ZeroDivisionError):
                return None
            text = f"{value}{rest}" if _format(value) else text
        unit = _UNIT.fullmatch(text)
        if unit:
            text = unit[1]
        if not scale and not unit:
            break
    mixed = _MIXED.fullmatch(text)
    if mixed and len(text) < 100 and int(mixed[4]) and int(mixed[3]) < int(mixed[4]):
        value = int(mixed[2]) + Fraction(int(mixed[3]), int(mixed[4]))
        return str(-value if mixed[1] == "-" else value)
    words = _WORD_NUMBER.fullmatch(text)
    if words:
        spoken = _WORDS.get(words[2].replace(" ", "-"))
        if spoken is not None:
            spoken *= _SCALES.get(words[3] or "", 1)
            return str(-spoken if words[1] else spoken)
    return text if text != "" else None


def _split(text: str) -> list[str] | None:
    """Parts between top-level commas, or None where brackets do not balance."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += char in "([{"
        depth -= char in ")]}"
        if depth < 0:
            return None
        if char in ",;" and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return None if depth else [*parts, text[start:]]


def _expression(text: str) -> str | None:
    if not re.search(r"[\d^*/+=\\√π∞<>-]|^[a-z]$", text):
        return None
    text = re.sub(r"(?<=[\d.]) ?x ?(?=10 ?\^|10 ?\*\*)", "*", text)
    text = text.replace("**", "^").replace("×", "*").replace("·", "*").replace("÷", "/")
    sides = text.split("=")
    try:
        if len(sides) == 2:
            left, right = _algebra.parse(sides[0]), _algebra.parse(sides[1])
            if _algebra.number(left) is not None and left == right:
                return _algebra.render(right)
            difference = _algebra.parse(f"({sides[0]})-({sides[1]})")
            return _algebra.render(_algebra.scaled(difference)) + "=0"
        if len(sides) == 1:
            return _algebra.render(_algebra.parse(text))
    except (ValueError, ZeroDivisionError, OverflowError, RecursionError):
        return None
    return None


def _structure(text: str, depth: int) -> str | None:
    """Tuples, intervals, sets and bare lists, part by part."""
    if depth > 3 or len(text) < 2:
        return None
    opening, closing = text[0], text[-1]
    inner, wrapped = text, False
    if opening in "([{" and closing in ")]}":
        parts = _split(text[1:-1])
        if parts is None and (opening, closing) != ("(", ")"):
            return None
        if parts is not None:
            inner, wrapped = text[1:-1], True
    parts = _split(inner)
    if parts is None:
        return None
    if len(parts) == 1:
        if wrapped and (opening, closing) == ("(", ")"):
            return _value(inner.strip(), depth + 1)
        if not wrapped or opening == "(" or closing == ")":
            return None
    values = [_value(part.strip(), depth + 1) if part.strip() else "" for part in parts]
    if not wrapped and not all(re.search(r"\d|^[a-z]$", value) for value in values):
        return None  # prose with commas
    if wrapped and (opening, closing) == ("{", "}"):
        values = sorted(set(values))
    body = ",".join(values)
    return f"{opening}{body}{closing}" if wrapped else body


def _text(text: str) -> str:
    text = text.strip(_EDGES)
    text = _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text
    if re.search(r"[\d=<>≤≥±^]", text) and not re.search(r"[^\W\d_]{3}", text):
        text = re.sub(r"(?<![^\W_]) | (?![^\W_])", "", text)
    return text


def _value(text: str, depth: int = 0) -> str:
    text = text.strip(_EDGES.replace(".", "")).rstrip(".") if depth == 0 else text
    if not text:
        return ""
    if text.lstrip("-+") in {"infinity", "inf", "infinite"}:
        return "-∞" if text[0] == "-" else "∞"
    if _RANGE.fullmatch(text):
        return re.sub(r" ?- ?", "-", text)
    lhs = _LHS.match(text) if depth == 0 else None
    if lhs and "=" not in text[lhs.end() :] and not re.fullmatch(r"[\d.\s]+", lhs.group()):
        return _value(text[lhs.end() :], 1)
    number = _number(text)
    for candidate in dict.fromkeys((number or text, text)):
        found = _expression(candidate)
        if found is not None:
            return found
    structure = _structure(number or text, depth)
    return structure if structure is not None else _text(text)


def _canonical(text: str) -> str:
    if len(text) > _MAX_VALUE:
        return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text)).strip().casefold()
    value = _clean(text)
    # A second reading can only simplify further (an edge stripped, a unit gone): settle on the fixed point.
    for _ in range(4):
        again = _value(_clean(value))
        if again == value:
            break
        value = again
    return value


_cached = lru_cache(maxsize=8192)(_canonical)


def canonical_value(text: str) -> str:
    """One string for every way to write the same value.

    Numbers become exact rationals in lowest terms (`36`, `-1/2`), expressions a polynomial in a fixed order,
    everything else case-folded text. Two texts mean the same exactly if their canonical strings are equal.
    Nothing is evaluated as code; powers and digits beyond about 1200 digits stay as written.

    Declared policies:
        * Units, currency and the percent sign are dropped: 36 miles = 36 = $36, and 20% = 20 (so 20% is not
          0.2). Up to four words after a number are a unit.
        * `1,000`, `1 000`, `1_000` and `1{,}000` are one thousand; a comma with other than three digits after
          it separates a list, so `3,5` is a list and not 3.5.
        * `(3)` is 3, not the accountant's -3. `3-5`, `3:30` and `2020-01-05` are texts, not sums.
        * A name before an equals sign is dropped: `x = 5` is 5. Order matters in tuples, not in `{...}` sets.
        * No approximation: `2\\pi` is not 6.28 and 0.333 is not 1/3. `\\pm 5` is not 5.
        * English number words are numbers. Leading articles are dropped from texts.

    Args:
        text: a value, not a whole reply.

    Returns:
        The canonical string; applying the function again changes nothing.
    """
    return _cached(text) if len(text) <= _CACHED else _canonical(text)


def is_number(canonical: str) -> bool:
    """Whether a canonical string is a rational number."""
    return re.fullmatch(r"-?\d+(?:/\d+)?", canonical) is not None


def is_prose(canonical: str) -> bool:
    """Whether a canonical string is text rather than a number, expression, tuple, set or interval."""
    return re.search(
        r"[^\W\d_]{3}", re.sub(r"sqrt|theta|alpha|beta|sin|cos|tan|log", "", canonical)
    ) is not None or not re.search(r"[\d\W]|^.$", canonical)
