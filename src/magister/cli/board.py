"""`magister board`: the boards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magister.cli._printing import Format, FormatOption, print_rows, terminal_width
from magister.cli._tables import read_parquet
from magister.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from magister.contracts.schemas import Contract

app = typer.Typer(no_args_is_help=True, help="The boards.")


def _read(file: Path, contract: Contract, title: str) -> pa.Table:
    """A board's table."""
    board = read_parquet(file, "not there yet. Run: snakemake --cores all")
    missing = [name for name in contract.schema.names if name not in board.column_names]
    if missing:
        article = "an" if title[0] in "aeiou" else "a"
        raise UserError(f"{file}: not {article} {title} board: it lacks the column {missing[0]!r}")
    return board


def _documents(beside: Path) -> dict[str, Any]:
    """What stands beside a board."""
    import json

    try:
        documents: dict[str, Any] = json.loads(beside.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{beside}: not there yet. Run: snakemake --cores all") from None
    except ValueError as error:
        raise UserError(f"{beside}: damaged: {error}") from None
    return documents


@app.command("teaching", epilog="Example: magister board teaching --format csv > board.csv")
def board_teaching(
    file: Annotated[Path, typer.Option(help="The board's file.")] = Path("results/teaching.parquet"),
    form: FormatOption = Format.text,
) -> None:
    """Print the teaching board."""
    from magister.contracts.schemas import TEACHING_BOARD
    from magister.teaching.board import render_text

    board = _read(file, TEACHING_BOARD, "teaching")
    if form is Format.text:
        typer.echo(render_text(board, terminal_width()))
    else:
        print_rows(board.to_pylist(), form)


@app.command("arena", epilog="Example: magister board arena --format csv > arena.csv")
def board_arena(
    file: Annotated[Path, typer.Option(help="The board's file.")] = Path("results/arena.parquet"),
    beside: Annotated[
        Path, typer.Option(help="What stands beside it: votes, selection lift, annotators.")
    ] = Path("results/arena_beside.json"),
    form: FormatOption = Format.text,
) -> None:
    """Print the arena board."""
    from magister.arena._board_text import render_text
    from magister.contracts.arena_tables import ARENA_BOARD

    board = _read(file, ARENA_BOARD, "arena")
    if form is not Format.text:
        print_rows(board.to_pylist(), form)
        return
    documents = _documents(beside)
    typer.echo(render_text(board, documents, terminal_width()))


@app.command("mastery", epilog="Example: magister board mastery --format csv > mastery.csv")
def board_mastery(
    file: Annotated[Path, typer.Option(help="The board's file.")] = Path("results/mastery.parquet"),
    beside: Annotated[
        Path, typer.Option(help="What stands beside it: verdicts, controls, attributes.")
    ] = Path("results/mastery_beside.json"),
    form: FormatOption = Format.text,
) -> None:
    """Print the mastery board."""
    from magister.contracts.diagnosis_tables import MASTERY_BOARD
    from magister.diagnosis._board_text import render_text

    board = _read(file, MASTERY_BOARD, "mastery")
    if form is not Format.text:
        print_rows(board.to_pylist(), form)
        return
    typer.echo(render_text(board, _documents(beside), terminal_width()))


@app.command("rubrics", epilog="Example: magister board rubrics --format csv > rubrics.csv")
def board_rubrics(
    file: Annotated[Path, typer.Option(help="The board's file.")] = Path("results/rubrics.parquet"),
    beside: Annotated[
        Path, typer.Option(help="What stands beside it: agreement, suspect metrics, how rubrics came about.")
    ] = Path("results/rubrics_beside.json"),
    form: FormatOption = Format.text,
) -> None:
    """Print the rubrics' board."""
    from magister.contracts.rubrics_score_tables import RUBRICS_BOARD
    from magister.rubrics._board_text import render_text

    board = _read(file, RUBRICS_BOARD, "rubrics")
    if form is not Format.text:
        print_rows(board.to_pylist(), form)
        return
    typer.echo(render_text(board, _documents(beside), terminal_width()))


@app.command("all", epilog="Example: magister board all")
def board_all() -> None:
    """Print all boards that there are."""
    boards: dict[Path, Callable[[], None]] = {
        Path("results/teaching.parquet"): board_teaching,
        Path("results/arena.parquet"): board_arena,
        Path("results/mastery.parquet"): board_mastery,
        Path("results/rubrics.parquet"): board_rubrics,
    }
    there = [file for file in boards if file.is_file()]
    if not there:
        raise UserError(f"none of {', '.join(map(str, boards))} is there yet. Run: snakemake --cores all")
    for file in there:
        boards[file]()
