"""JSON as models write it: read what is meant, never run it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

_MAX_DEPTH = 40
_SPACE = re.compile(r"(?:[\s\ufeff\u200b]|//[^\n]*|/\*(?:[^*]|\*(?!/)){0,2000}\*/|#[^\n]*)*+")
_SCALAR = re.compile(r"[^\s,\]}，:{\[\"'“”]+")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "none": None}
_QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "＂": "＂"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}


@dataclass(frozen=True)
class Number:
    """A number as written, so that nothing is rounded or overflows on the way."""

    text: str
    at_end: bool = False


@dataclass(frozen=True)
class Bare:
    """A word that is no JSON value, such as NaN or an unquoted text."""

    text: str


@dataclass
class Object:
    """An object with its pairs in order, doubles kept.

    Attributes:
        pairs: keys and values.
        cut: whether the text ended inside a value, so that the last pair is not to be trusted.
        closed: whether the closing brace was there.
        span: where it stands.
    """

    pairs: list[tuple[str, Any]] = field(default_factory=list)
    cut: bool = False
    closed: bool = False
    span: tuple[int, int] = (0, 0)


class _Cut(Exception):
    """The text ended inside a value."""


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def peek(self) -> str:
        self.space()
        return self.text[self.at : self.at + 1]

    def value(self, depth: int = 0) -> Any:
        char = self.peek()
        if not char:
            raise _Cut
        if depth > _MAX_DEPTH:
            raise ValueError("nested too deeply")
        if char == "{":
            return self.object(depth)
        if char == "[":
            return self.array(depth)
        if char in _QUOTES:
            return self.string()
        match = _SCALAR.match(self.text, self.at)
        if match is None:
            raise ValueError("not JSON")
        self.at = match.end()
        token = match.group()
        if _NUMBER.fullmatch(token):
            return Number(token, at_end=self.at >= len(self.text))
        word = token.lower()
        return _WORDS[word] if word in _WORDS else Bare(token)

    def string(self) -> str:
        closing = _QUOTES[self.text[self.at]]
        parts: list[str] = []
        at = self.at + 1
        while at < len(self.text):
            char = self.text[at]
            if char == "\\":
                escape = self.text[at + 1 : at + 2]
                if escape == "u" and re.fullmatch(r"[0-9a-fA-F]{4}", self.text[at + 2 : at + 6]):
                    parts.append(chr(int(self.text[at + 2 : at + 6], 16)))
                    at += 6
                    continue
                parts.append(_ESCAPES.get(escape, "\\" + escape))
                at += 2
            elif char == closing:
                self.at = at + 1
                return "".join(parts)
            else:
                parts.append(char)
                at += 1
        self.at = len(self.text)
        raise _Cut

    def object(self, depth: int) -> Object:
        found = Object(span=(self.at, self.at))
        start = self.at
        self.at += 1
        try:
            while True:
                char = self.peek()
                if char in {",", "，"}:
                    self.at += 1
                    continue
                if char == "}":
                    self.at += 1
                    found.closed = True
                    break
                if not char:
                    break  # the closing brace alone is missing
                if char in _QUOTES:
                    key = self.string()
                else:
                    match = re.compile(r"[^\W\d][\w -]{0,60}").match(self.text, self.at)
                    if match is None:
                        raise ValueError("not a key")
                    key, self.at = match.group(), match.end()
                if not self.peek():
                    raise _Cut
                if self.peek() not in {":", "："}:
                    raise ValueError("no colon")
                self.at += 1
                value = self.value(depth + 1)
                found.pairs.append((key, value))
                if isinstance(value, Object) and value.cut:
                    raise _Cut
                if self.peek() not in {",", "，", "}", ""}:
                    raise ValueError("no comma")
        except _Cut:
            found.cut = True
        found.span = (start, self.at)
        return found

    def array(self, depth: int) -> list[Any]:
        self.at += 1
        values: list[Any] = []
        while True:
            char = self.peek()
            if char in {",", "，"}:
                self.at += 1
            elif char == "]":
                self.at += 1
                return values
            elif not char:
                if not any(isinstance(value, Object) for value in values):
                    raise _Cut
                return values
            else:
                values.append(self.value(depth + 1))


def objects(text: str) -> list[Object]:
    """The outermost objects in a text, those of a list included; text around them is skipped.

    Args:
        text: a reply without its reasoning.

    Returns:
        The objects in order. What cannot be read as one is left out.
    """
    found: list[Object] = []
    at = 0
    failures = 0
    while failures < 50:
        match = re.compile(r"[{\[]").search(text, at)
        if match is None:
            break
        reader = _Reader(text)
        reader.at = match.start()
        try:
            value = reader.value()
        except (_Cut, ValueError):
            failures += 1
            at = match.start() + 1
            continue
        found += [
            item for item in (value if isinstance(value, list) else [value]) if isinstance(item, Object)
        ]
        at = max(reader.at, match.start() + 1)
    return found
