"""An audit: find a number of a board, and everything that it comes from."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from magister.audit import arena, mastery, rubrics, teaching
from magister.audit.card import Card, Cell, Facts
from magister.audit.choosing import nearest
from magister.audit.project import Project
from magister.audit.sources import sources_of
from magister.audit.trail import read_trail
from magister.errors import UserError

Finder = Callable[[Project, str, Mapping[str, str], int], Facts]
BOARDS: dict[str, tuple[str, Finder]] = {
    "teaching": (teaching.BOARD, teaching.find),
    "arena": (arena.BOARD, arena.find),
    "mastery": (mastery.BOARD, mastery.find),
    "rubrics": (rubrics.BOARD, rubrics.find),
}
"""File and finder of each board."""
TOP = 10
"""How many movers a card shows."""


def audit(root: Path, board: str, model: str, asked: Mapping[str, str], top: int = TOP) -> Card:
    """Audit a number.

    Args:
        root: the project's folder.
        board: one of `BOARDS`.
        model: whose number.
        asked: which one: `metric`, and any of `in`, `arm`, `slice`, `round` and `annotators`.
        top: how many of what moves it most to show.

    Returns:
        The card.

    Raises:
        UserError: there is no such board or number, several fit, or a file that it rests on is gone.
    """
    if board not in BOARDS:
        raise UserError(f"no board {board!r}. Expected one of {', '.join(nearest(list(BOARDS), board))}")
    file, find = BOARDS[board]
    if not (root / file).is_file():
        raise UserError(f"{file}: not there yet. Run: snakemake --cores all")
    project = Project(read_trail(root))
    if file not in project.trail.artifacts or project.trail.artifacts[file].problem:
        raise UserError(
            f"{file}: carries no lineage record, so that nothing can be said of where it comes from; make it again: "
            f"snakemake --cores all --force -- {file}"
        )
    found = find(project, model, asked, top)
    sources = sources_of(project, file, found.cell.table)
    gone = [one.path for one in sources if one.problem == "not here now"]
    warnings = [*found.warnings, *project.changed()]
    if found.again.agrees is False:
        warnings.append(
            f"worked out again from {found.again.rows} the number is {found.again.value}, and not {found.number.value}"
        )
    if gone:
        warnings.append(
            f"{len(gone)} of the files behind it are not here, the first {gone[0]}; magister restore fetches them"
        )
    own = vars(found) | {"warnings": tuple(warnings)}
    return Card(**own, sources=sources, commands=_commands(found.cell))


def _commands(cell: Cell) -> dict[str, str]:
    return {
        "audit": audit_command(cell),
        "rebuild": f"snakemake --cores all --force -- {cell.file}",
        "verify": f"magister verify {cell.file}",
    }


def audit_command(cell: Cell) -> str:
    """The command that shows the card of a number again, whatever else the boards will hold."""
    options = [word for name, value in cell.place.items() for word in (f"--{name}", value)]
    return shlex.join(["magister", "audit", cell.board, cell.model, cell.metric, *options])
