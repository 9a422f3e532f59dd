"""The packages that a project names, in the versions of its lock file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

from magister.errors import UserError

_PINNED = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[^]]*\])?==(?P<version>[^\s;\\]+)\s*(?:;(?P<marker>[^\\]*))?"
)


class Package(NamedTuple):
    """A pinned package.

    Attributes:
        name: normalised (PEP 503).
        version: as pinned.
        marker: where the pin holds (PEP 508); empty where it holds everywhere.
    """

    name: str
    version: str
    marker: str


def normalised(name: str) -> str:
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lock: str) -> Iterator[Package]:
    """The pins of a lock file of pip's, in its order."""
    for line in lock.splitlines():
        if found := _PINNED.match(line):
            yield Package(normalised(found["name"]), found["version"], (found["marker"] or "").strip())


def _project(pyproject: str) -> dict[str, Any]:
    try:
        project = tomllib.loads(pyproject).get("project", {})
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"pyproject.toml: not valid TOML: {error}") from None
    return project if isinstance(project, dict) else {}


def project_license(pyproject: str) -> str:
    """The licence that a project names for itself.

    Args:
        pyproject: text of `pyproject.toml`.

    Raises:
        UserError: it is no valid TOML, or names none.
    """
    named = _project(pyproject).get("license")
    if not isinstance(named, str) or not named:
        raise UserError("pyproject.toml: names no licence. Name it: --license Apache-2.0")
    return named


def direct_packages(pyproject: str, lock: str) -> list[Package]:
    """The packages that the project itself asks for, as they are pinned.

    Args:
        pyproject: text of `pyproject.toml`.
        lock: text of `requirements/run.lock`.

    Returns:
        Sorted; a package whose pin depends on the platform or on Python comes once for each pin.

    Raises:
        UserError: the project is no valid TOML, or a package is not pinned.
    """
    asked = _project(pyproject).get("dependencies", [])
    names = {
        normalised(re.split(r"[\s\[<>=!~;@(]", dependency.strip(), maxsplit=1)[0]) for dependency in asked
    }
    found = sorted(pin for pin in pins(lock) if pin.name in names)
    missing = sorted(names - {pin.name for pin in found})
    if missing:
        raise UserError(
            f"requirements/run.lock: no pin for {', '.join(missing)}, which pyproject.toml asks for. Run: make lock"
        )
    return found
