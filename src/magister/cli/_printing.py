"""How commands print: as text for people, as JSON or CSV for programs."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from magister.display import visible, wrap
from magister.errors import UserError


class Format(StrEnum):
    """How a command prints."""

    text = "text"
    json = "json"
    csv = "csv"


ParamsOption = Annotated[Path, typer.Option(help="The parameter file.")]
FormatOption = Annotated[Format, typer.Option("--format", help="text for people, json or csv for programs.")]


def print_rows(rows: list[dict[str, Any]], form: Format) -> None:
    """Print rows as a table, as a JSON list or as CSV.

    Programs get texts as they are; a terminal never does.

    Args:
        rows: with the same columns each; nested values stand as JSON in a CSV cell.
        form: how.
    """
    if form is Format.json:
        _put(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        return
    if form is Format.csv:
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(rows[0] if rows else [])
        writer.writerows([_csv_cell(value) for value in row.values()] for row in rows)
        _put(text.getvalue())
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in rows[0] if rows else []:
        table.add_column(name, overflow="fold")
    for row in rows:
        # Text of models and servers is data: no markup in it is obeyed.
        table.add_row(*(_plain(value) for value in row.values()))
    Console(markup=False, highlight=False).print(table)


def _put(text: str) -> None:
    typer.echo(visible(text) if sys.stdout.isatty() else text, nl=False)


def _plain(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return f"{value:.2f}" if isinstance(value, float) else visible(str(value)).replace("\n", "\\n")


def _csv_cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def terminal_width() -> int:
    """Columns of the terminal; 80 where there is none."""
    return max(20, shutil.get_terminal_size((80, 24)).columns)


def echo(text: str, *, err: bool = False) -> None:
    """Print a line, folded to the terminal's width, to the standard output or error."""
    width = terminal_width()
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    typer.echo("\n".join(wrap(visible(text), width, indent)), err=err)


def refuse_existing(option: str, *paths: Path) -> None:
    """Keep a command from writing over a file of the user's.

    Args:
        option: name of the option that names them, for the message.
        paths: files to be written.

    Raises:
        UserError: one is there already.
    """
    for path in paths:
        if path.exists():
            raise UserError(f"{option}: {path} is there already; choose another name, or remove it first")
