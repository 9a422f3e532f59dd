"""`magister items`: questions with options and key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from magister.cli._printing import Format, FormatOption, echo, print_rows
from magister.display import counted
from magister.errors import UserError

app = typer.Typer(no_args_is_help=True, help="Items: questions with options and key.")


@app.command(
    "check", epilog="Example: magister items check questions.csv --question q --options a,b,c,d --answer key"
)
def items_check(
    file: Annotated[Path, typer.Argument(help="A .jsonl, .json, .csv, .parquet or (inspect) .eval file.")],
    question: Annotated[str, typer.Option(help="Column of the question.")] = "question",
    answer: Annotated[str, typer.Option(help="Column of the right answer.")] = "answer",
    options: Annotated[
        str | None, typer.Option(help="Column of the options, or several columns with commas.")
    ] = None,
    passage: Annotated[str | None, typer.Option(help="Column of a passage.")] = None,
    source_format: Annotated[
        str, typer.Option("--source-format", help="auto, gsm8k, mmlu, teach2eval, lm_eval or inspect.")
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
        print_rows([report.as_dict()], form)
    if report.rejected:
        raise typer.Exit(1)


def _print_report(report: dict[str, Any]) -> None:
    echo(f"{report['dataset']}: {counted(report['n_rows'], 'row')}, {report['n_accepted']} accepted")
    n_open = report["n_drawn"] - report["n_choice"]
    if n_open:
        echo(
            f"  no options were read for {counted(n_open, 'row')}, so they are open questions: options come from "
            "--options, else from a column `options`"
        )
    if report["unused"]:
        echo(f"  columns not used: {', '.join(report['unused'])}")
    for name in ("rejected", "folded", "flags", "keys", "options"):
        if report[name]:
            counts = ", ".join(f"{key}: {count}" for key, count in report[name].items())
            echo(f"  {name}: {counts}")
    for reason, examples in report["examples"].items():
        for example in examples:
            echo(f"  {reason}: {example}")
