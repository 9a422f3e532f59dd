"""YAML with line numbers, for files that strangers wrote.

Values are what YAML 1.2 says: `true` and `false` alone are truth values, dates and `12:30` are text. Repeated keys,
tags and documents after the first are refused. Anchors are shared, not copied; a file that would grow through them
beyond a limit is refused, as is one that nests too deep.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from magister.rubrics.findings import Finding, ScenarioError
from magister.rubrics.scenario import Position

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 40
MAX_VALUES = 200_000

# libyaml's parser is ten times as fast; the events are the same.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?|[0-9]+[eE][-+]?[0-9]{1,3})")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands.

    Attributes:
        value: a mapping or a list of nodes, or what a scalar means.
        line: of its first character, from 1.
        text: a scalar's text, as it is before it is taken for a number; empty for mappings and lists.
        style: `|`, `>`, `"`, `'`; None for plain scalars, mappings and lists.
        size: values in it, itself included, anchors counted as often as they are used.
        keys: of a mapping, the line of each key.
    """

    value: dict[str, Node] | list[Node] | str | int | float | bool | None
    line: int
    text: str = ""
    style: str | None = None
    size: int = 1
    keys: dict[str, int] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """What it is, in words for messages."""
        names = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
        return names.get(type(self.value), "a number")

    def plain(self) -> Any:
        """The value without its lines."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def scalars(self) -> Iterator[Node]:
        """All scalars in it, in order."""
        if isinstance(self.value, dict):
            for node in self.value.values():
                yield from node.scalars()
        elif isinstance(self.value, list):
            for node in self.value:
                yield from node.scalars()
        else:
            yield self


def _refuse(code: str, file: str, line: int, message: str, advice: str) -> ScenarioError:
    return ScenarioError([Finding(code, "error", Position(file, line), message, advice)])


def read_yaml(path: Path) -> Node:
    """Read a file.

    Raises:
        ScenarioError: it is missing, too large, not UTF-8 or not YAML; says the line.
    """
    file = path.as_posix()
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise _refuse("missing_file", file, 1, "no such file", "Check the path") from None
    except OSError as error:
        raise _refuse(
            "missing_file", file, 1, f"cannot be read: {error.strerror}", "Check the path and its rights"
        ) from None
    return parse_yaml(data, file)


def parse_yaml(data: bytes, file: str) -> Node:
    """Read the content of a file.

    Args:
        data: its bytes.
        file: its name, for messages.

    Raises:
        ScenarioError: see `read_yaml`.
    """
    if len(data) > MAX_BYTES:
        raise _refuse(
            "too_large",
            file,
            1,
            f"more than {MAX_BYTES // 2**20} MiB",
            "A scenario is a page or two of text: split its tasks over several files",
        )
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise _refuse("encoding", file, 1, "the file is UTF-16", "Save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise _refuse(
            "encoding", file, line, f"not UTF-8: byte 0x{data[error.start]:02x}", "Save the file as UTF-8"
        ) from None
    try:
        return _Builder(file).build(text)
    except yaml.reader.ReaderError as error:
        line = text[: error.position if isinstance(error.position, int) else 0].count("\n") + 1
        raise _refuse("yaml", file, line, f"invalid YAML: {error.reason}", "Remove the character") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        context = f" {error.context}" if error.context else ""
        raise _refuse(
            "yaml",
            file,
            mark.line + 1 if mark is not None else 1,
            f"invalid YAML{context}: {error.problem}",
            "Look at this line and the one before it: indentation, a missing quote, a `:` or `#` in unquoted text",
        ) from None
    except yaml.YAMLError as error:
        raise _refuse("yaml", file, 1, f"invalid YAML: {error}", "Correct it") from None


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end has not come."""

    line: int
    anchor: str | None
    mapping: dict[str, Node] | None
    items: list[Node]
    key: str | None = None
    size: int = 1
    keys: dict[str, int] = field(default_factory=dict)
    merged: list[Node] = field(default_factory=list)


class _Builder:
    """Builds nodes from events, without recursion."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._anchors: dict[str, Node] = {}
        self._stack: list[_Open] = []
        self._root: Node | None = None
        self._values = 0

    def build(self, text: str) -> Node:
        documents = 0
        for event in yaml.parse(text, Loader=_Loader):
            line = 1 if event.start_mark is None else event.start_mark.line + 1
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self._refused(line, "a second document begins", "Put each scenario into a file")
            elif isinstance(event, yaml.AliasEvent):
                self._alias(str(event.anchor), line)
            elif isinstance(event, yaml.ScalarEvent):
                self._add(self._scalar(event, line), event.anchor, line)
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                self._open(event, line)
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                self._close()
        if self._root is None:
            raise self._refused(1, "the file is empty", "A scenario begins with `agents:` and `directions:`")
        return self._root

    def _refused(self, line: int, message: str, advice: str) -> ScenarioError:
        return _refuse("yaml", self._file, line, message, advice)

    def _count(self, values: int, line: int) -> None:
        self._values += values
        if self._values > MAX_VALUES:
            raise self._refused(
                line, f"more than {MAX_VALUES} values, counted as often as anchors repeat them", "Write less"
            )

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> Node:
        self._count(1, line)
        text, style = event.value, event.style if event.style in ("|", ">", '"', "'") else None
        if event.tag not in (None, "!", f"{_TAG}str"):
            raise self._refused(line, f"the tag {event.tag!r}", "Write the value without a tag")
        if _SURROGATE.search(text):
            raise self._refused(line, "half a surrogate pair", "Write the character itself")
        plain = style is None and event.tag is None
        return Node(_meaning(text) if plain else text, line, text, style)

    def _open(self, event: Any, line: int) -> None:
        mapping = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in (None, "!", f"{_TAG}{'map' if mapping else 'seq'}"):
            raise self._refused(line, f"the tag {event.tag!r}", "Write the value without a tag")
        if len(self._stack) >= MAX_DEPTH:
            raise self._refused(line, f"more than {MAX_DEPTH} levels deep", "Write it flatter")
        if self._stack and self._stack[-1].mapping is not None and self._stack[-1].key is None:
            raise self._refused(line, "a key that is no text", "Quote it, if `{` or `[` belongs to a text")
        self._count(1, line)
        self._stack.append(_Open(line, event.anchor, {} if mapping else None, []))

    def _close(self) -> None:
        done = self._stack.pop()
        if done.mapping is None:
            node = Node(done.items, done.line, size=done.size)
        else:
            mapping, keys = done.mapping, done.keys
            for other in done.merged:
                assert isinstance(other.value, dict)
                mapping, keys = {**other.value, **mapping}, {**other.keys, **keys}
            node = Node(mapping, done.line, size=done.size, keys=keys)
        self._place(node, done.anchor)

    def _alias(self, anchor: str, line: int) -> None:
        if anchor not in self._anchors:
            raise self._refused(
                line, f"the alias *{anchor} has no anchor that ends before it", "Put &anchors before *aliases"
            )
        node = self._anchors[anchor]
        self._count(node.size, line)
        self._add(node, None, line)

    def _add(self, node: Node, anchor: str | None, line: int) -> None:
        """A scalar or an alias: a key where a key is due, else a value."""
        top = self._stack[-1] if self._stack else None
        if top is None or top.mapping is None or top.key is not None:
            self._place(node, anchor)
            return
        if isinstance(node.value, dict | list):
            raise self._refused(line, "a key that is no text", "Write the key as text")
        key = node.text
        if key in top.mapping:
            raise self._refused(
                line,
                f"the key {key!r} stands twice, first on line {top.keys[key]}",
                "Keep one of them",
            )
        top.key = key
        if key != "<<":
            top.keys[key] = line
        if anchor is not None:
            self._anchors[anchor] = node

    def _place(self, node: Node, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = node
        if not self._stack:
            self._root = node
            return
        top = self._stack[-1]
        top.size += node.size
        if top.mapping is None:
            top.items.append(node)
            return
        key, top.key = top.key, None
        assert key is not None
        if key != "<<":
            top.mapping[key] = node
            return
        several = node.value if isinstance(node.value, list) else [node]
        if not all(isinstance(one.value, dict) for one in several):
            raise self._refused(node.line, "`<<` merges something that is no mapping", "Name a mapping")
        top.merged += several


def _meaning(text: str) -> str | int | float | bool | None:
    """What an unquoted scalar is."""
    if text in _NULLS:
        return None
    if text in _TRUTH:
        return _TRUTH[text]
    # Longer runs of digits are identifiers; Python refuses to read the longest.
    if len(text) <= 18 and _INT.fullmatch(text):
        return int(text)
    if len(text) <= 40 and _FLOAT.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text
