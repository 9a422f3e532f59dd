"""Judge replies: the fields that a schema asks for, or why there are none."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ._json import Bare, Number, Object, objects
from ._reasoning import strip_reasoning
from ._refusal import is_refusal

_NUMBER = re.compile(r"[-+]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,3})?")
_TYPE = re.compile(
    r"(?P<name>int|integer|float|number|str|string|bool|boolean|list|dict|object|enum|any)"
    r"(?:\s*(?:(?P<low>-?\d+(?:\.\d+)?)\s*(?:\.\.|-"
    r"|to)\s*(?P<high>-?\d+(?:\.\d+)?)|\[[a-z]+\]|[: ]\s*(?P<names>.+)))?(?P<optional>\s"
    r"*\?)?",
    re.I,
)


@dataclass(frozen=True)
class JudgeReply:
    """What a judge's JSON says.

    Attributes:
        status: `ok`, `invalid`, `ambiguous`, `truncated`, `no_answer` or `refusal`.
        values: the schema's fields with their types, empty unless `ok`.
    """

    status: str
    values: dict[str, Any] = field(default_factory=dict)


class _Invalid(ValueError):
    """A value is not of its field's type."""


def _number(value: Any) -> Fraction:
    text = value.text if isinstance(value, Number) else value
    if isinstance(text, bool) or not isinstance(text, str):
        raise _Invalid
    match = _NUMBER.fullmatch(unicodedata.normalize("NFKC", text).strip())
    if match is None:
        raise _Invalid
    return Fraction(match.group())


def _plain(value: Any) -> Any:
    """A parsed value without this module's own types."""
    if isinstance(value, Object):
        return {key: _plain(item) for key, item in value.pairs}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, Number):
        number = _number(value)
        return int(number) if number.denominator == 1 else float(number)
    if isinstance(value, Bare):
        raise _Invalid
    return value


def _typed(value: Any, kind: str) -> Any:
    spec = _TYPE.fullmatch(kind.strip())
    if spec is None and "|" in kind:
        name, names = "enum", kind
    elif spec is None:
        raise ValueError(
            f"Unknown type {kind!r} in a judge schema. Known: int, float, str, bool, li"
            "st, dict, enum (a|b), with a range as 'int 1..5'."
        )
    else:
        name, names = spec["name"].lower(), spec["names"] or ""
    if name == "any":
        return _plain(value)
    if name in {"int", "integer", "float", "number"}:
        number = _number(value)
        if name.startswith("int") and number.denominator != 1:
            raise _Invalid
        if spec and spec["low"] and not Fraction(spec["low"]) <= number <= Fraction(spec["high"]):
            raise _Invalid
        return int(number) if name.startswith("int") else float(number)
    if name in {"bool", "boolean"}:
        if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
            return value.strip().lower() == "true"
        if not isinstance(value, bool):
            raise _Invalid
        return value
    if name in {"list", "dict", "object"}:
        if not isinstance(value, list if name == "list" else Object):
            raise _Invalid
        return _plain(value)
    if not isinstance(value, str):
        raise _Invalid
    if name == "enum":
        for choice in names.split("|"):
            if choice.strip().casefold() == value.strip().casefold():
                return choice.strip()
        raise _Invalid
    return value


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", unicodedata.normalize("NFKC", name).strip().casefold())


def _cut_number(value: Any, kind: str) -> bool:
    """Whether a number at the very end of the text might have gone on."""
    if not (isinstance(value, Number) and value.at_end):
        return False
    spec = _TYPE.fullmatch(kind.strip())
    if spec is None or not spec["high"] or not spec["name"].lower().startswith("int"):
        return True
    return 10 * _number(value) <= Fraction(spec["high"])


def _read(found: Object, schema: dict[str, str]) -> JudgeReply:
    given: dict[str, list[Any]] = {}
    for key, value in found.pairs:
        given.setdefault(_key(key), []).append(value)
    values: dict[str, Any] = {}
    for name, kind in schema.items():
        candidates = given.get(_key(name), [])
        if not candidates:
            if kind.strip().endswith("?"):
                continue
            return JudgeReply("invalid" if found.closed else "truncated")
        try:
            read = [_typed(value, kind) for value in candidates]
        except _Invalid:
            last = candidates[-1] is found.pairs[-1][1]
            return JudgeReply(
                "truncated" if found.cut and last and isinstance(candidates[-1], Object) else "invalid"
            )
        if any(value != read[0] for value in read):
            return JudgeReply("ambiguous")
        if _cut_number(candidates[-1], kind):
            return JudgeReply("truncated")
        values[name] = read[0]
    return JudgeReply("ok", values)


def parse_judge_reply(text: str | None, schema: dict[str, str]) -> JudgeReply:
    """Read the JSON object that a judge was asked for.

    Declared policies:
        * Fences, text around the object, comments, trailing commas, single or typographic quotes, Python's
          True and None are read. A missing closing brace is mended where every field is complete; a reply cut
          inside a field is `truncated`.
        * Keys are compared without case, spaces or hyphens; fields that the schema does not name are dropped.
        * A whole number may be written "4" or 4.0. "4/5", 4.5, true, null and NaN are no int: `invalid`.
        * Two objects (or two values for one key) that say different things are `ambiguous`; neither wins.
        * The object must stand at the top, or alone in a list; one inside another object is `invalid`.
        * JSON in a reasoning block is not read.

    Args:
        text: the reply.
        schema: field name to type: `int 1..5`, `float 0..1`, `str`, `bool`, `list`, `dict`, `a|b|c`; a `?` at
            the end makes the field optional.

    Returns:
        Status and values.

    Raises:
        ValueError: the schema names an unknown type.
    """
    for kind in schema.values():
        if _TYPE.fullmatch(kind.strip()) is None and "|" not in kind:
            _typed("", kind)
    if text is None or not text.strip(" \t\r\n\ufeff"):
        return JudgeReply("no_answer")
    stripped = strip_reasoning(text)
    if stripped.status == "truncated":
        return JudgeReply("truncated")
    body = re.sub(r"```[A-Za-z]*", " ", stripped.text)
    if not body.strip():
        return JudgeReply("no_answer")
    wanted = {_key(name) for name in schema}
    found = objects(body)
    relevant = [item for item in found if any(_key(key) in wanted for key, _ in item.pairs)]
    if not relevant:
        if found and not all(item.closed for item in found):
            return JudgeReply("truncated")
        if not found and is_refusal(text):
            return JudgeReply("refusal")
        if not found and re.search(r"\{[^{}]{0,200}$", body):
            return JudgeReply("truncated")
        return JudgeReply("invalid")
    replies = [_read(item, schema) for item in relevant]
    if len(replies) == 1 or all(reply == replies[0] for reply in replies):
        return replies[0]
    return JudgeReply("ambiguous")
