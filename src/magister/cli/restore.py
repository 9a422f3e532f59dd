"""`magister restore`: what DVC records, checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from magister.cli._printing import echo


def restore(
    remote: Annotated[
        str | None, typer.Option(help="Name of the DVC remote; the default one otherwise.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that were changed here.")] = False,
) -> None:
    """Fetch what `dvc.lock` records, check each file's lineage and say what is left to do (exit code 1 if anything)."""
    from magister.pipeline._restore import check, fetch

    root = Path()
    fetch(root, remote, force=force)
    found = check(root)
    for line in found.adoption.splitlines():
        echo(line)
    if found.jobs:
        jobs = ", ".join(f"{rule} ({count})" if count > 1 else rule for rule, count in found.jobs.items())
        echo(f"Left to do, with `snakemake --cores all`: {jobs}")
        raise typer.Exit(1)
    echo("Everything is as dvc.lock records it and current: nothing to do.")
