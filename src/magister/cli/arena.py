"""`magister arena`: sheets for people, and what they say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from magister.cli._printing import echo, refuse_existing
from magister.cli._tables import read_parquet
from magister.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

    from magister.contracts.schemas import Contract

app = typer.Typer(no_args_is_help=True, help="Arena: sheets that people fill in.")


def _table(path: Path, contract: Contract) -> pa.Table:
    """A parquet file with the columns of a contract."""
    table = read_parquet(path)
    names = contract.schema.names
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise UserError(
            f"{path}: no column {', '.join(missing)}: this is no table {contract.name!r}; "
            f"found: {', '.join(table.column_names)}"
        )
    return table.select(names)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None


@app.command("export", epilog="Example: magister arena export data/arena/main/sheet.parquet --out ann.csv")
def arena_export(
    sheet: Annotated[Path, typer.Argument(help="The sheet, a parquet file.")],
    out: Annotated[
        Path, typer.Option(help="Where to: a .csv or .jsonl file, best named after its annotator.")
    ],
) -> None:
    """Write a blind sheet for people: fill in `winner` (1, 2, tie or both_bad) and import the file."""
    from magister.arena.people import export_csv, export_jsonl
    from magister.contracts.arena_tables import SHEET

    if out.suffix not in (".csv", ".jsonl"):
        raise UserError(f"--out {out}: expected a name that ends in .csv or .jsonl")
    if out.exists():
        raise UserError(f"--out {out}: this file is there already, perhaps filled in; choose another name")
    table = _table(sheet, SHEET)
    _write(out, export_csv(table) if out.suffix == ".csv" else export_jsonl(table))
    echo(f"{out}: {table.num_rows} comparisons. Fill in winner: 1, 2, tie or both_bad.")


@app.command(
    "import", epilog="Example: magister arena import ann.csv bo.csv --key sheet_key.parquet --out votes.csv"
)
def arena_import(
    files: Annotated[list[Path], typer.Argument(help="Filled sheets, .csv or .jsonl.")],
    key: Annotated[Path, typer.Option(help="The key of the sheet, a parquet file.")],
    out: Annotated[Path, typer.Option(help="Where to: a .parquet or .csv file.")],
) -> None:
    """Read filled sheets as votes. Exit code 1, and nothing written, if a row has to be mended."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv
    from pyarrow import parquet as pq

    from magister.arena.people import Sheet, import_sheets
    from magister.contracts.arena_tables import SHEET_KEY
    from magister.items import read_rows

    if out.suffix not in (".parquet", ".csv"):
        raise UserError(f"--out {out}: expected a name that ends in .parquet or .csv")
    refuse_existing("--out", out)
    hidden = _table(key, SHEET_KEY)
    sheets = []
    for file in files:
        if file.suffix.lower() not in (".csv", ".jsonl"):
            raise UserError(f"{file}: expected a .csv or .jsonl file, as exported")
        rows, broken = read_rows(file)
        sheets.append(
            Sheet(str(file), rows, [(row.number, row.detail, row.raw) for row in broken], annotator=file.stem)
        )
    found = import_sheets(sheets, hidden)
    found.check()
    table = found.votes
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.suffix == ".parquet":
            pq.write_table(table, out)
        else:
            at = table.column_names.index("request_ids")
            joined = pc.binary_join(table["request_ids"], " ")
            csv.write_csv(table.set_column(at, pa.field("request_ids", pa.string()), joined), out)
    except OSError as error:
        raise UserError(f"{out}: cannot be written: {error.strerror or error}") from None
    for annotator, count in sorted(Counter(table["annotator"].to_pylist()).items()):
        echo(f"{annotator}: {count} of {hidden.num_rows} comparisons judged")
    for reason, count in found.counts.items():
        echo(f"{reason}: {count} row(s)")
    echo(f"Written: {out}")
