"""Everything that `magister verify` holds, in one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from magister.audit.answers import REQUESTS, RESPONSES, check_requests, check_responses
from magister.audit.chain import (
    ASKED,
    CODE,
    INPUTS,
    LOCKED,
    RECORDS,
    check_asked,
    check_code,
    check_inputs,
    check_lock,
    check_records,
)
from magister.audit.checks import Check
from magister.audit.contents import CONTENT, FOLDERS, check_contents, check_folders
from magister.audit.findings import Finding
from magister.audit.promises import TABLES, check_tables
from magister.audit.recompute import MODULES, recompute_boards
from magister.audit.scene import Scene, read_scene
from magister.errors import UserError

BOARDS = "every cell of the boards, worked out again"


@dataclass(frozen=True)
class Verification:
    """What was held and what was found.

    Attributes:
        target: what was to be verified; None for everything.
        checks: in the order in which they were made.
    """

    target: str | None
    checks: list[Check]

    @property
    def findings(self) -> list[Finding]:
        """Every place where a check fails, sorted by file and place."""
        found = {finding for check in self.checks for finding in check.findings}
        return sorted(found, key=lambda each: (each.path, each.check, each.place))

    @property
    def unchecked(self) -> list[Check]:
        """Checks that could not be made."""
        return [check for check in self.checks if check.unchecked is not None]

    @property
    def exit_code(self) -> int:
        """0 where all holds, 1 where something fails, 2 where something could not be checked."""
        return 1 if self.findings else 2 if self.unchecked else 0


def check_boards(scene: Scene) -> Check:
    """Work every cell of the boards out again, from votes, trajectories and responses."""
    chosen = [name for name in MODULES if scene.boards is None or name in scene.boards]
    found = recompute_boards(scene.root, chosen)
    return Check(BOARDS, sum(found.counted.values()), "cells", found.findings)


CHECKS: dict[str, Callable[[Scene], Check]] = {
    CONTENT: check_contents,
    FOLDERS: check_folders,
    RECORDS: check_records,
    INPUTS: check_inputs,
    CODE: check_code,
    LOCKED: check_lock,
    ASKED: check_asked,
    REQUESTS: check_requests,
    RESPONSES: check_responses,
    TABLES: check_tables,
    BOARDS: check_boards,
}
"""What is held, in this order, by name."""


def verify(root: Path, target: str | None = None) -> Verification:
    """Hold a project, or a part of it and everything behind it, to its records.

    Args:
        root: the project's folder. Nothing in it is changed.
        target: a file, a module or a board; everything by default.

    Raises:
        UserError: nothing was ever made, or there is no such target.
    """
    return run_checks(read_scene(root, target), target)


def run_checks(scene: Scene, target: str | None) -> Verification:
    """Make every check.

    Args:
        scene: what was read of the project.
        target: what it was read for.
    """
    return Verification(target, [_made(name, check, scene) for name, check in CHECKS.items()])


def _made(name: str, check: Callable[[Scene], Check], scene: Scene) -> Check:
    """The result of a check; one that a damaged record stops says so."""
    try:
        return check(scene)
    except UserError as error:
        return Check(name, 0, "", unchecked=str(error))
