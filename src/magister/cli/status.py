"""`magister status`: how far a project is."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magister.cli._printing import Format, echo, print_rows
from magister.display import counted

if TYPE_CHECKING:
    from magister.audit.status import ModuleStatus

EXAMPLE = "Example: magister status --json"
_NAMED = 3


def status_command(
    as_json: Annotated[bool, typer.Option("--json", help="Everything, for programs.")] = False,
) -> None:
    """Say of each module what is there, what models have answered, and what is stale or missing. Changes nothing."""
    from magister.audit.status import project_status

    found = project_status(Path())
    if as_json:
        typer.echo(json.dumps(asdict(found), ensure_ascii=False, indent=1, sort_keys=True))
        return
    print_rows([_files(each) for each in found.modules], Format.text)
    typer.echo()
    print_rows([_calls(each) for each in found.modules if each.requests or each.responses], Format.text)
    typer.echo()
    for each in found.modules:
        for what, paths in (
            ("missing", each.missing),
            ("stale", each.stale),
            ("cannot be read", each.unreadable),
        ):
            if paths:
                more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
                echo(f"{each.module}, {what}: {', '.join(paths[:_NAMED])}{more}")
    for note in found.notes:
        echo(note)
    echo(_summary(found.modules))


def _files(status: ModuleStatus) -> dict[str, Any]:
    recorded = {True: "as it is", False: "otherwise", None: "unknown"}[status.recorded]
    return {
        "module": status.module,
        "files": status.files,
        "rows": status.rows,
        "missing": _count(status.missing),
        "stale": _count(status.stale),
        "in dvc.lock": recorded,
    }


def _calls(status: ModuleStatus) -> dict[str, Any]:
    return {
        "module": status.module,
        "requests": status.requests,
        "responses": status.responses,
        "errors": status.errors,
        "truncated": status.truncated,
        "tokens in": status.tokens_in,
        "out": status.tokens_out,
        "cost": "unknown" if status.cost is None else status.cost,
    }


def _count(paths: list[str] | None) -> str:
    return "unknown" if paths is None else str(len(paths))


def _summary(modules: list[ModuleStatus]) -> str:
    missing = sum(len(each.missing or ()) for each in modules)
    stale = sum(len(each.stale or ()) for each in modules)
    if missing or stale:
        return (
            f"{counted(missing, 'file')} missing, {counted(stale, 'file')} stale: `snakemake --dry-run` says why, "
            "`snakemake --cores all` makes them."
        )
    if any(each.missing is None or each.stale is None for each in modules):
        return "What is stale cannot be told for every module (unknown)."
    if any(each.recorded is not True for each in modules):
        return "Everything is current; dvc.lock does not record all of it as it is: `snakemake --cores all` records it."
    return "Everything is current and recorded. `magister verify` holds it to its records."
