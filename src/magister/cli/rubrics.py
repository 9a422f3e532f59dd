"""`magister rubrics`: scenarios, and the dialogues that are scored by rubrics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from magister.cli._printing import Format, FormatOption, echo, print_rows
from magister.display import counted

app = typer.Typer(no_args_is_help=True, help="Scenarios: who talks to whom, on which tasks, scored how.")


@app.command("lint", epilog="Example: magister rubrics lint data/scenarios")
def rubrics_lint(
    files: Annotated[list[Path], typer.Argument(help="Scenario files, or folders of them.")],
    form: FormatOption = Format.text,
) -> None:
    """Say what is wrong with scenario files, with lines. Exit code 1 if anything but notes was found."""
    from magister.errors import UserError
    from magister.rubrics.lint import lint_files, scenario_files

    missing = [path for path in files if not path.exists()]
    if missing:
        raise UserError(f"no such file: {', '.join(map(str, missing))}")
    paths = scenario_files(files)
    if not paths:
        raise UserError(f"no .yaml or .yml file in {', '.join(map(str, files))}")
    found = lint_files(paths)
    if form is Format.text:
        for one in found:
            echo(f"{one.at}: {one.severity} {one.code}: {one.message}. {one.advice}.")
        counts = [
            counted(sum(one.severity == severity for one in found), severity)
            for severity in ("error", "warning", "note")
        ]
        echo(f"{counted(len(paths), 'file')}: {', '.join(counts)}")
    else:
        rows = [
            {
                "file": one.at.file,
                "line": one.at.line,
                "severity": one.severity,
                "code": one.code,
                "message": one.message,
                "advice": one.advice,
            }
            for one in found
        ]
        print_rows(rows, form)
    if any(one.severity != "note" for one in found):
        raise typer.Exit(1)
