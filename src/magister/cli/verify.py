"""`magister verify`: whether every number still follows from what is here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from magister.cli._printing import echo
from magister.display import counted

if TYPE_CHECKING:
    from magister.audit.verification import Verification

EXAMPLE = "Example: magister verify results/teaching.parquet"
_SHOWN = 20


def verify_command(
    target: Annotated[
        str | None, typer.Argument(help="A file, a module or a board, with all behind it; all by default.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Everything, for programs.")] = False,
) -> None:
    """Hold files, lineage, answers and tables to their records (exit code 1: one fails, 2: one cannot be checked)."""
    from magister.audit.verification import verify

    found = verify(Path(), target)
    if as_json:
        typer.echo(json.dumps(document(found), ensure_ascii=False, indent=1, sort_keys=True))
    else:
        _print(found)
    if found.exit_code:
        raise typer.Exit(found.exit_code)


def document(found: Verification) -> dict[str, object]:
    """A verification as JSON has it."""
    return {
        "target": found.target,
        "checks": [
            {"check": each.name, "n": each.n, "unit": each.unit, "failures": len(each.findings)}
            | {"unchecked": each.unchecked}
            for each in found.checks
        ],
        "findings": [
            {"path": each.path, "place": each.place, "check": each.check}
            | {"seen": each.seen, "expected": each.expected}
            for each in found.findings
        ],
        "exit_code": found.exit_code,
    }


def _print(found: Verification) -> None:
    for check in found.checks:
        if check.unchecked is not None:
            typer.echo(f"{check.name:<44}   cannot be checked")
            continue
        state = f"{len(check.findings)} FAIL" if check.findings else "ok"
        typer.echo(f"{check.name:<44} {check.n:>9} {check.unit:<10} {state}")
    findings = found.findings
    if findings:
        echo("")
    path = None
    for finding in findings[:_SHOWN]:
        if finding.path != path:
            path = finding.path
            echo(path)
        place = f"{finding.place}: " if finding.place else ""
        echo(f"  {finding.check}:")
        echo(f"    {place}seen {finding.seen}, expected {finding.expected}")
    if len(findings) > _SHOWN:
        echo(f"and {counted(len(findings) - _SHOWN, 'more place')}: --json names them all.")
    for check in found.unchecked:
        echo("")
        echo(f"{check.name}: cannot be checked: {check.unchecked}")
    echo("")
    echo(_summary(found))


def _summary(found: Verification) -> str:
    """What came out, and what to do."""
    if found.findings:
        files = len({finding.path for finding in found.findings})
        return (
            f"FAILED: {counted(len(found.findings), 'place')} in {counted(files, 'file')}. If a file was changed by "
            "mistake, `dvc checkout` puts back what was recorded, and git its sources. If parameters or code were "
            "changed on purpose, `snakemake --cores all` makes anew what depends on them and records it."
        )
    if found.unchecked:
        return "Nothing fails, but not everything could be checked: `snakemake --cores all` writes what is missing."
    return f"Verified: {'everything' if found.target is None else found.target} is as it was recorded."
