"""Reading sections of a scenario file: typed values, and every mistake noted with its line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from magister.rubrics.findings import Findings, suggestion
from magister.rubrics.scenario import Position
from magister.rubrics.yaml_lines import Node

Scalar = TypeVar("Scalar", int, float, bool, str)


class Section:
    """A mapping of the file, read key by key.

    Attributes:
        name: where it stands in the file (`agents.teacher`), for messages.
        node: the mapping.
        findings: where mistakes are noted.
    """

    def __init__(self, name: str, node: Node, findings: Findings) -> None:
        self.name = name
        self.node = node
        self.findings = findings
        self._mapping: dict[str, Node] = node.value if isinstance(node.value, dict) else {}
        self._read: set[str] = set()

    @property
    def at(self) -> Position:
        """Where it begins."""
        return Position(self.findings.file, self.node.line)

    def position(self, key: str) -> Position:
        """Where a key stands."""
        return Position(self.findings.file, self.line(key))

    def line(self, key: str) -> int:
        """The line of a key; the section's own where there is none."""
        return self.node.keys.get(key, self.node.line)

    def __contains__(self, key: str) -> bool:
        return key in self._mapping

    def keys(self) -> list[str]:
        """Its keys, in the file's order."""
        return list(self._mapping)

    def path(self, key: str) -> str:
        """A key with the section before it."""
        return f"{self.name}.{key}" if self.name else key

    def ignore(self, *keys: str) -> None:
        """Mark keys that are known and not used."""
        self._read.update(keys)

    def get(self, key: str, *, required: bool = False) -> Node | None:
        """The node of a key; None where it is missing or says nothing."""
        self._read.add(key)
        node = self._mapping.get(key)
        if node is not None and node.value is not None:
            return node
        if required:
            self.findings.error(
                "missing_key",
                self.line(key),
                f"{self.path(key)} is missing" if node is None else f"{self.path(key)} says nothing",
                f"Add `{key}:`",
            )
        return None

    def wrong(self, key: str, node: Node, expected: str, *, show: bool = True) -> None:
        """Note a value of the wrong kind."""
        seen = node.kind
        if show and not isinstance(node.value, dict | list):
            seen = f"{node.kind} ({node.text[:40]!r})"
        self.findings.error(
            "wrong_type",
            node.line,
            f"{self.path(key)}: expected {expected}, found {seen}",
            "Correct the value",
        )

    def text(self, key: str, *, required: bool = False, show: bool = True) -> str | None:
        """A text; numbers and truth values are taken as they are written."""
        node = self.get(key, required=required)
        if node is None:
            return None
        if isinstance(node.value, dict | list):
            self.wrong(key, node, "a text", show=show)
            return None
        return node.text

    def whole(self, key: str, low: int, high: int) -> int | None:
        """A whole number within limits."""
        node = self.get(key)
        if node is None:
            return None
        if isinstance(node.value, bool) or not isinstance(node.value, int) or not low <= node.value <= high:
            self.wrong(key, node, f"a whole number from {low} to {high}")
            return None
        return node.value

    def number(self, key: str) -> float | None:
        """A number."""
        node = self.get(key)
        if node is None:
            return None
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            self.wrong(key, node, "a number")
            return None
        return float(node.value)

    def flag(self, key: str) -> bool | None:
        """True or false."""
        node = self.get(key)
        if node is None:
            return None
        if not isinstance(node.value, bool):
            self.wrong(key, node, "true or false")
            return None
        return node.value

    def choice(self, key: str, allowed: tuple[str, ...]) -> str | None:
        """One of several words."""
        value = self.text(key)
        if value is None or value in allowed:
            return value
        node = self._mapping[key]
        self.wrong(key, node, f"one of {', '.join(allowed)}{suggestion(value, allowed)}")
        return None

    def section(self, key: str, *, required: bool = False) -> Section | None:
        """A mapping."""
        node = self.get(key, required=required)
        if node is None:
            return None
        if not isinstance(node.value, dict):
            self.wrong(key, node, "a mapping (`name: value` lines)")
            return None
        return Section(self.path(key), node, self.findings)

    def sections(self) -> Iterator[tuple[str, Section]]:
        """Its values, which are mappings each."""
        for key, node in self._mapping.items():
            self._read.add(key)
            if isinstance(node.value, dict):
                yield key, Section(self.path(key), node, self.findings)
            else:
                self.wrong(key, node, "a mapping (`name: value` lines)")

    def items(self, key: str, *, required: bool = False) -> list[Node]:
        """A list."""
        node = self.get(key, required=required)
        if node is None:
            return []
        if not isinstance(node.value, list):
            self.wrong(key, node, "a list (lines that begin with `-`)")
            return []
        return node.value

    def mappings(self, key: str, *, required: bool = False) -> list[Section]:
        """A list of mappings."""
        found = []
        for number, node in enumerate(self.items(key, required=required), start=1):
            if isinstance(node.value, dict):
                found.append(Section(f"{self.path(key)}[{number}]", node, self.findings))
            else:
                self.wrong(f"{key}[{number}]", node, "a mapping (`name: value` lines)")
        return found

    def finish(self, misplaced: dict[str, str] | None = None) -> None:
        """Note the keys that nobody has read.

        Args:
            misplaced: of keys that belong elsewhere, where.
        """
        for key in self._mapping:
            if key in self._read:
                continue
            where = (misplaced or {}).get(key)
            if where is not None:
                self.findings.add(
                    "warning",
                    "misplaced_key",
                    self.line(key),
                    f"{self.path(key)} is not read here",
                    where,
                )
            else:
                known = suggestion(key, self._read)
                self.findings.add(
                    "warning",
                    "unknown_key",
                    self.line(key),
                    f"{self.path(key)} is no key of a scenario{known} and is not read",
                    "Correct its name, or remove it",
                )
