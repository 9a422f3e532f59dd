"""The `magister` command."""

from __future__ import annotations

import csv
import errno
import json
import os
import shutil
import sys
import textwrap
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from magister.errors import UserError


class Format(StrEnum):
    """How a command prints."""

    text = "text"
    json = "json"
    csv = "csv"


app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Rates language models and keeps every number traceable to the transcripts behind it.",
)
models_app = typer.Typer(no_args_is_help=True, help="The configured models.")
items_app = typer.Typer(no_args_is_help=True, help="Items: questions with options and key.")
board_app = typer.Typer(no_args_is_help=True, help="The boards.")
app.add_typer(models_app, name="models")
app.add_typer(items_app, name="items")
app.add_typer(board_app, name="board")

ParamsOption = Annotated[Path, typer.Option(help="The parameter file.")]
FormatOption = Annotated[Format, typer.Option("--format", help="text for people, json or csv for programs.")]


def _print_rows(rows: list[dict[str, Any]], form: Format) -> None:
    if form is Format.json:
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    if form is Format.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(rows[0] if rows else [])
        writer.writerows([_csv_cell(value) for value in row.values()] for row in rows)
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


def _plain(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return f"{value:.2f}" if isinstance(value, float) else _visible(str(value)).replace("\n", "\\n")


def _csv_cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def _visible(text: str) -> str:
    """Text of models, servers and files with what would steer a terminal written out (`\\x1b`)."""
    return "".join(char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text)


def _echo(text: str) -> None:
    """Print a line, folded to the terminal's width."""
    width = max(20, shutil.get_terminal_size((80, 24)).columns)
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    folded = textwrap.wrap(_visible(text), width, subsequent_indent=indent, drop_whitespace=True)
    typer.echo("\n".join(folded))


@models_app.command("check", epilog="Example: magister models check --only smol-plain")
def models_check(
    params: ParamsOption = Path("params.yaml"),
    only: Annotated[list[str] | None, typer.Option(help="Check this model alone; may be repeated.")] = None,
    form: FormatOption = Format.text,
) -> None:
    """Ask each configured model one tiny question. Exit code 1 if one does not answer."""
    from magister.config.base import LocalFile
    from magister.config.params import load_params
    from magister.llm import check_models

    models = load_params(params).models
    unknown = sorted(set(only or []) - set(models))
    if unknown:
        raise UserError(f"{params}: no model {', '.join(unknown)}; known: {', '.join(sorted(models))}")
    chosen = {name: model for name, model in models.items() if not only or name in only}
    weights = {}
    for name, model in chosen.items():
        if isinstance(model.weights, LocalFile):
            weights[name] = Path(model.weights.path)
        elif model.weights is not None:
            path = Path("data/raw/models") / Path(model.weights.member).name
            if not path.is_file():
                raise UserError(f"{path}: not fetched yet. Run: snakemake --cores 1 {path.as_posix()}")
            weights[name] = path
    results = check_models(chosen, weights=weights)
    _print_rows([asdict(result) for result in results], form)
    if not all(result.ok for result in results):
        raise typer.Exit(1)


@items_app.command(
    "check", epilog="Example: magister items check questions.csv --question q --options a,b,c,d --answer key"
)
def items_check(
    file: Annotated[Path, typer.Argument(help="A .jsonl, .json, .csv or .parquet file.")],
    question: Annotated[str, typer.Option(help="Column of the question.")] = "question",
    answer: Annotated[str, typer.Option(help="Column of the right answer.")] = "answer",
    options: Annotated[
        str | None, typer.Option(help="Column of the options, or several columns with commas.")
    ] = None,
    passage: Annotated[str | None, typer.Option(help="Column of a passage.")] = None,
    source_format: Annotated[
        str, typer.Option("--source-format", help="auto, gsm8k, mmlu or teach2eval.")
    ] = "auto",
    form: FormatOption = Format.text,
) -> None:
    """Pass a file through the data gate and say what was rejected and why. Exit code 1 if a row was."""
    from pydantic import ValidationError

    from magister.config.items import ColumnMap, Dataset
    from magister.items import check_items

    names = options.split(",") if options else None
    columns = ColumnMap(
        question=question,
        answer=answer,
        passage=passage,
        options=names[0] if names and len(names) == 1 else names,
    )
    try:
        dataset = Dataset.model_validate(
            {"kind": "file", "path": str(file), "format": source_format, "columns": columns}
        )
    except ValidationError as error:
        raise UserError(f"--source-format: {error.errors()[0]['msg']}") from None
    report = check_items(file, dataset)
    if form is Format.text:
        _print_report(report.as_dict())
    else:
        _print_rows([report.as_dict()], form)
    if report.rejected:
        raise typer.Exit(1)


def _print_report(report: dict[str, Any]) -> None:
    _echo(f"{report['dataset']}: {report['n_rows']} rows, {report['n_accepted']} accepted")
    for name in ("rejected", "flags", "keys", "options"):
        if report[name]:
            counts = ", ".join(f"{key}: {count}" for key, count in report[name].items())
            _echo(f"  {name}: {counts}")
    for reason, examples in report["examples"].items():
        for example in examples:
            _echo(f"  {reason}: {example}")


@board_app.command("teaching", epilog="Example: magister board teaching --format csv > board.csv")
def board_teaching(
    file: Annotated[Path, typer.Option(help="The board's file.")] = Path("results/teaching.parquet"),
    form: FormatOption = Format.text,
) -> None:
    """Print the teaching board."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from magister.contracts.schemas import TEACHING_BOARD
    from magister.teaching.board import render_text

    if not file.is_file():
        raise UserError(f"{file}: not there yet. Run: snakemake --cores all")
    try:
        board = pq.read_table(file)
    except pa.ArrowInvalid as error:
        raise UserError(f"{file}: damaged, or no parquet file: {error}") from None
    missing = [name for name in TEACHING_BOARD.schema.names if name not in board.column_names]
    if missing:
        raise UserError(f"{file}: not a teaching board: it lacks the column {missing[0]!r}")
    if form is Format.text:
        typer.echo(render_text(board, shutil.get_terminal_size((80, 24)).columns))
    else:
        _print_rows(board.to_pylist(), form)


@app.command(epilog="Example: magister restore --remote archive")
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
        _echo(line)
    if found.jobs:
        jobs = ", ".join(f"{rule} ({count})" if count > 1 else rule for rule, count in found.jobs.items())
        _echo(f"Left to do, with `snakemake --cores all`: {jobs}")
        raise typer.Exit(1)
    _echo("Everything is as dvc.lock records it and current: nothing to do.")


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command; a mistake of the user's is one message and an exit code, never a traceback.

    Args:
        arguments: those of the process by default.
    """
    try:
        try:
            app(arguments)
        finally:
            sys.stdout.flush()
    except UserError as error:
        print(_visible(f"magister: {error}"), file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        if error.errno == errno.EPIPE:
            # The reader of the pipe has gone (`magister ... | head`): what is left goes nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        if error.filename is None:
            raise
        print(_visible(f"magister: {error.filename}: {error.strerror}"), file=sys.stderr)
        sys.exit(UserError.exit_code)
    sys.exit(0)
