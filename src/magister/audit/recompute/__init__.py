"""Every board cell once more, from the files it was made from and by code that shares nothing with what made it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from magister.audit.findings import Finding
from magister.audit.recompute._ledger import Ledger
from magister.audit.recompute._project import Project
from magister.config.params import Params, load_params
from magister.errors import UserError

__all__ = ["MODULES", "Recomputed", "recompute_boards"]


@dataclass(frozen=True)
class Recomputed:
    """What a recomputation found.

    Attributes:
        findings: cells that do not come out the same, and files that are missing.
        counted: by module, cells that were compared with a number of our own.
        checks: by module and check, the same.
    """

    findings: list[Finding]
    counted: dict[str, int]
    checks: dict[str, dict[str, int]]


def _teaching(project: Project, params: Params) -> None:
    from magister.audit.recompute._teaching import recompute_teaching

    if params.teaching.leagues:
        recompute_teaching(project, params)


def _arena(project: Project, params: Params) -> None:
    from magister.audit.recompute._arena import recompute_arena

    if params.arena.leagues:
        recompute_arena(project, params)


def _diagnosis(project: Project, params: Params) -> None:
    from magister.audit.recompute._mastery import recompute_mastery

    if params.diagnosis.studies:
        recompute_mastery(project, params)


def _rubrics(project: Project, params: Params) -> None:
    from magister.audit.recompute._rubrics import recompute_rubrics

    if params.rubrics.sets:
        recompute_rubrics(project, params)


_RECOMPUTE: dict[str, Callable[[Project, Params], None]] = {
    "teaching": _teaching,
    "arena": _arena,
    "diagnosis": _diagnosis,
    "rubrics": _rubrics,
}
MODULES = tuple(_RECOMPUTE)
"""Modules whose boards are recomputed."""


def recompute_boards(root: Path, modules: Sequence[str] | None = None) -> Recomputed:
    """Recompute every number of the boards.

    Args:
        root: folder of a finished project.
        modules: names of `MODULES`; all by default. One whose section in `params.yaml` is empty is skipped.

    Returns:
        Findings and counts; no finding means that every cell came out the same.

    Raises:
        UserError: a module is unknown.
    """
    chosen = MODULES if modules is None else tuple(modules)
    for name in chosen:
        if name not in _RECOMPUTE:
            raise UserError(f"modules: {name!r} is none; expected some of {', '.join(MODULES)}")
    found = Recomputed([], {}, {})
    try:
        params = load_params(root / "params.yaml")
    except UserError as error:
        found.findings.append(Finding("params.yaml", "", "file", str(error), "parameters that can be read"))
        return found
    for name in chosen:
        ledger = Ledger(name)
        _RECOMPUTE[name](Project(root, ledger), params)
        # A file that several parts need is missing once.
        found.findings.extend(dict.fromkeys(ledger.findings))
        if ledger.cells:
            found.counted[name] = sum(ledger.cells.values())
            found.checks[name] = dict(sorted(ledger.cells.items()))
    return found
