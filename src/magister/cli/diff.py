"""`magister diff`: which cells of the boards changed between two runs, and what each change began with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magister.cli._printing import echo
from magister.display import counted

if TYPE_CHECKING:
    from magister.audit.diff import Change, Diff

EXAMPLE = "Example: magister diff HEAD~1 HEAD"


def diff(
    old: Annotated[str, typer.Argument(help="A git revision, or a folder with a run.")] = "HEAD",
    new: Annotated[str, typer.Argument(help="Another one; the working folder by default.")] = ".",
    most: Annotated[int, typer.Option(help="Cells to show of each cause.", min=1)] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
) -> None:
    """Compare the boards of two runs, and name the first artifact behind each changed cell that differs, and why.

    Exit code 0, whatever has changed; 2 where a run cannot be read.
    """
    from magister.audit.diff import diff as compare
    from magister.audit.snapshot import take_snapshot

    root = Path()
    found = compare(take_snapshot(root, old), take_snapshot(root, new))
    if as_json:
        typer.echo(json.dumps(_document(found), indent=1, sort_keys=True, ensure_ascii=False))
        return
    for line in _lines(found, most):
        echo(line)


def _document(found: Diff) -> dict[str, Any]:
    return {
        "old": found.old,
        "new": found.new,
        "cells": found.cells,
        "absent": found.absent,
        "changes": [
            {
                "board": change.cell.board,
                "key": list(change.cell.key),
                "metric": change.cell.metric,
                "old": change.old and change.old._asdict(),
                "new": change.new and change.new._asdict(),
                "difference": change.difference,
                "shift": change.shift,
                "first": change.reason.first,
                "causes": [cause._asdict() for cause in change.reason.causes],
                "also": [{"path": path, **cause._asdict()} for path, cause in change.reason.also],
            }
            for change in found.changes
        ],
    }


def _lines(found: Diff, most: int) -> Iterator[str]:
    yield f"From {found.old} to {found.new}:"
    for board, total in found.cells.items():
        mine = [change for change in found.changes if change.cell.board == board]
        added = sum(change.old is None for change in mine)
        removed = sum(change.new is None for change in mine)
        yield (
            f"  {board:<9} {counted(total, 'cell')}: {len(mine) - added - removed} changed, {added} added, "
            f"{removed} removed"
        )
    if found.absent:
        yield f"  in neither: {', '.join(found.absent)}"
    groups: dict[str, list[Change]] = {}
    for change in found.changes:
        groups.setdefault(json.dumps(asdict(change.reason), sort_keys=True), []).append(change)
    for some in sorted(groups.values(), key=len, reverse=True):
        reason = some[0].reason
        yield ""
        yield f"{counted(len(some), 'cell')}, first in {reason.first}:"
        for cause in reason.causes:
            yield f"  {cause.kind}: {cause.what}"
        for path, cause in reason.also:
            yield f"  also {cause.kind}: {cause.what}, in {path}"
        # What has moved most goes first.
        some.sort(key=lambda change: (-abs(change.shift or 0.0), change.cell))
        for change in some[:most]:
            yield f"    {_cell(change)}"
        if len(some) > most:
            yield f"    and {counted(len(some) - most, 'more cell')}: see --most or --json"
    if not found.changes:
        yield "No cell has changed."


def _cell(change: Change) -> str:
    where = " ".join([change.cell.board, *change.cell.key, change.cell.metric])
    if change.old is None:
        return f"{where}: added, {_number(change.new.value if change.new else None)}"
    if change.new is None:
        return f"{where}: removed, was {_number(change.old.value)}"
    moved = f"{where}: {_number(change.old.value)} -> {_number(change.new.value)}"
    if change.difference:
        moved += f" ({change.difference:+.4g}"
        unit = "sd" if change.cell.board == "mastery" else "of half the interval"
        moved += f", {abs(change.shift):.2f} {unit})" if change.shift is not None else ")"
    elif change.old.status != change.new.status:
        moved += f" ({change.old.status or 'no status'} -> {change.new.status or 'no status'})"
    else:
        moved += " (its interval)"
    return moved


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"
