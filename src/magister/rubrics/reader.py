"""Reads a scenario file of any dialect, and says which one it is and how that was told."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from magister.rubrics import dialect_a, dialect_b, superset
from magister.rubrics._common import Parts
from magister.rubrics._sections import Section
from magister.rubrics.findings import Findings, ScenarioError
from magister.rubrics.scenario import Dialect, Scenario
from magister.rubrics.yaml_lines import Node, parse_yaml, read_yaml

MAX_NAME = 80
_READERS: dict[Dialect, Callable[[Parts, Section], None]] = {
    "a": dialect_a.read,
    "b": dialect_b.read,
    "magister": superset.read,
}
NAMES: dict[Dialect, str] = {"a": "Elmes 0.1", "b": "Elmes 1.0", "magister": "Magister"}
"""Names of the dialects, for people."""


_ENDINGS = re.compile(r"(?:\.ya?ml)?(?:\.example)?$")


class Reading(NamedTuple):
    """What a file came to.

    Attributes:
        scenario: the scenario; None where the file has an error.
        findings: what was noted on the way.
        tree: the file's values with their lines.
    """

    scenario: Scenario | None
    findings: Findings
    tree: Node


def _inside(node: Node, *path: str) -> list[tuple[str, int]]:
    """Keys that stand at a path, with their lines; `*` is any key, or any item of a list."""
    here = [node]
    for step in path[:-1]:
        following: list[Node] = []
        for one in here:
            if isinstance(one.value, dict):
                following += [child for key, child in one.value.items() if step in ("*", key)]
            elif isinstance(one.value, list) and step == "*":
                following += one.value
        here = following
    last = path[-1]
    return [
        (last, one.keys[last])
        for one in here
        if isinstance(one.value, dict) and last in one.value and last in one.keys
    ]


# Keys that one of the two dialects has and the other has not.
_MARKS: dict[Dialect, tuple[tuple[str, ...], ...]] = {
    "a": (
        ("models", "*", "api_base"),
        ("agents", "*", "prompt"),
        ("evaluation", "format"),
        ("evaluation", "model"),
        ("evaluation", "prompt"),
    ),
    "b": (
        ("models", "*", "base_url"),
        ("agents", "*", "system_prompt"),
        ("evaluation", "judge_model"),
        ("evaluation", "fields"),
        ("mcps",),
    ),
}


def tell_dialect(tree: Node, file: str) -> tuple[Dialect, str]:
    """Say which dialect a file is written in.

    Args:
        tree: its values.
        file: its name, for messages.

    Returns:
        The dialect, and the rule that matched.

    Raises:
        ScenarioError: it is none, or the marks of two contradict one another.
    """
    findings = Findings(file)
    if not isinstance(tree.value, dict):
        findings.error("wrong_type", tree.line, f"a scenario is a mapping, found {tree.kind}", "See the docs")
        raise ScenarioError(findings.errors)
    if "magister" in tree.value:
        return "magister", "the key `magister`"
    found: dict[Dialect, list[tuple[str, int]]] = {
        dialect: [(".".join(path), line) for path in paths for _, line in _inside(tree, *path)]
        for dialect, paths in _MARKS.items()
    }
    counts = {dialect: len({mark for mark, _ in marks}) for dialect, marks in found.items()}
    if counts["a"] == counts["b"]:
        seen = "; ".join(
            f"{NAMES[dialect]}: `{marks[0][0]}` on line {marks[0][1]}"
            for dialect, marks in found.items()
            if marks
        )
        findings.error(
            "dialect",
            1,
            f"which dialect this is cannot be told ({seen or 'no key of any stands in it'})",
            "Expected is a scenario of Elmes 0.1 (`agents.*.prompt`, `evaluation.format`), of Elmes 1.0 "
            "(`agents.*.system_prompt`, `evaluation.fields`), or `magister: 1` at the top",
        )
        raise ScenarioError(findings.errors)
    dialect: Dialect = "a" if counts["a"] > counts["b"] else "b"
    marks = sorted({mark for mark, _ in found[dialect]})
    return dialect, f"the keys {', '.join(f'`{mark}`' for mark in marks)}"


def _check_name(parts: Parts) -> None:
    """A scenario's name stands in ids and names folders."""
    name = parts.name
    if not name.strip() or not name.isprintable() or re.search(r"[/\\#\s]", name) or len(name) > MAX_NAME:
        parts.findings.error(
            "name",
            1,
            f"the scenario is called {name[:80]!r}",
            f"Give it a name without spaces, `/` and `#`, of up to {MAX_NAME} characters (`name:`, or the file's)",
        )


def read_tree(tree: Node, file: str) -> Reading:
    """Read a scenario from the values of its file.

    Args:
        tree: the values.
        file: its name; without its ending it names a scenario that does not name itself.
    """
    findings = Findings(file)
    try:
        dialect, rule = tell_dialect(tree, file)
        parts = Parts(_ENDINGS.sub("", Path(file).name) or "scenario", dialect, rule, findings)
        _READERS[dialect](parts, Section("", tree, findings))
        _check_name(parts)
        return Reading(parts.finish(), findings, tree)
    except ScenarioError as error:
        findings.found += [one for one in error.findings if one not in findings.found]
        return Reading(None, findings, tree)


def read_scenario(path: Path) -> Scenario:
    """Read a scenario file.

    Raises:
        ScenarioError: it cannot be run; says why, and the line of each mistake.
    """
    return _whole(read_tree(read_yaml(path), path.as_posix()))


def parse_scenario(text: str, file: str = "scenario.yaml") -> Scenario:
    """Read the text of a scenario file.

    Args:
        text: its content.
        file: its name, for messages.

    Raises:
        ScenarioError: it cannot be run; says why, and the line of each mistake.
    """
    return _whole(read_tree(parse_yaml(text.encode(), file), file))


def _whole(reading: Reading) -> Scenario:
    if reading.scenario is None:
        raise ScenarioError(reading.findings.errors)
    return reading.scenario
