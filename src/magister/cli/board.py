"""`magister board`: the boards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from magister.cli._printing import Format, FormatOption, print_rows, terminal_width
from magister.errors import UserError

app = typer.Typer(no_args_is_help=True, help="The boards.")


@app.command("teaching", epilog="Example: magister board teaching --format csv > board.csv")
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
        typer.echo(render_text(board, terminal_width()))
    else:
        print_rows(board.to_pylist(), form)
