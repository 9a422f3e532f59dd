"""`magister score-teaching`: a user's own trajectories, rated outside any pipeline."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from magister.cli._printing import Format, FormatOption, echo, print_rows, terminal_width
from magister.cli._tables import read_parquet
from magister.display import counted
from magister.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

    from magister.teaching._record_columns import Columns

EXAMPLE = "Example: magister score-teaching trajectories.csv --zero-shot own_answers.csv --out rated/mine"


class Policy(StrEnum):
    """What a reply without an answer is."""

    wrong = "wrong"
    drop = "drop"


def read_columns(path: Path) -> Columns:
    """Read a .csv, .jsonl or .parquet file as texts.

    Raises:
        UserError: the file cannot be read, or a row of it.
    """

    from magister.items import read_rows
    from magister.teaching._record_columns import Columns, as_texts, cast_texts

    if path.suffix.lower() == ".parquet":
        table = read_parquet(path)
        return Columns(cast_texts(table, str(path)), str(path), range(1, table.num_rows + 1))
    pairs, broken = read_rows(path)
    if broken:
        raise UserError(
            f"{path}: {len(broken)} row(s) cannot be read; row {broken[0].number}: {broken[0].detail}"
        )
    numbers = [number for number, _ in pairs]
    return Columns(as_texts([row for _, row in pairs], str(path), numbers), str(path), numbers)


def written_paths(out: Path) -> list[Path]:
    """The files that `write_metrics` writes: .parquet and .csv.

    Args:
        out: path, with or without the suffix of one of them.
    """
    if out.suffix in (".parquet", ".csv"):
        out = out.with_suffix("")
    return [out.with_name(f"{out.name}.{suffix}") for suffix in ("parquet", "csv")]


def write_metrics(metrics: pa.Table, out: Path) -> list[Path]:
    """Write a table as parquet and as CSV, this with an apostrophe before texts that a spreadsheet would run.

    Args:
        metrics: the table.
        out: path, with or without the suffix of one of them.

    Raises:
        UserError: the folder cannot be written to.
    """
    from pyarrow import csv
    from pyarrow import parquet as pq

    from magister.provenance import inert

    paths = written_paths(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(metrics, paths[0])
        csv.write_csv(inert(metrics), paths[1])
    except OSError as error:
        raise UserError(f"{out}: cannot be written: {error.strerror or error}") from None
    return paths


def score_teaching(
    file: Annotated[Path, typer.Argument(help="A .parquet, .csv or .jsonl file, a row per answer.")],
    zero_shot: Annotated[
        Path | None, typer.Option(help="Teachers' own answers (teacher, item_id, correct), for AA.")
    ] = None,
    policy: Annotated[Policy, typer.Option(help="What a reply without an answer is.")] = Policy.wrong,
    resamples: Annotated[int, typer.Option(min=0, help="Bootstrap resamples; 0: no intervals.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the resampling.")] = 0,
    level: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.95,
    out: Annotated[
        Path | None, typer.Option(help="Write all metrics to this path, as .parquet and .csv.")
    ] = None,
    form: FormatOption = Format.text,
) -> None:
    """Rate teachers by your own trajectories: CA, JA, GA and RA, and AA with --zero-shot.

    Columns: teacher, student, item_id, round (0: before any teaching) and
    correct (0 or 1). Used where they are there: league, arm, dataset, domain,
    cluster_id, band, n_options, needs_options, options_in_question, multi,
    status, verdict, guide_status, leak.
    """
    from magister.contracts.schemas import STANDINGS
    from magister.teaching.board import render_text, teaching_board
    from magister.teaching.metrics import teaching_metrics
    from magister.teaching.records import complete_records, complete_zero_shot, without_judging
    from magister.teaching.standings import standings

    columns = read_columns(file)
    records = complete_records(columns, file.stem)
    notes = [f"{file}: {counted(len(columns), 'row')}.", *records.notes]
    own = None
    if zero_shot is not None:
        answers = complete_zero_shot(read_columns(zero_shot), records.table)
        own, notes = answers.table, notes + answers.notes
    metrics = teaching_metrics(
        records.table, own, policy=policy.value, resamples=resamples, level=level, seed=seed
    )
    metrics = without_judging(metrics, records.unjudged)
    ranked = STANDINGS.schema.empty_table()
    if resamples:
        ranked, _ = standings(
            records.table, own, policy=policy.value, resamples=resamples, level=level, seed=seed
        )
    board = teaching_board(metrics, ranked)
    if out is not None:
        notes += [f"Written: {path}" for path in write_metrics(metrics, out)]
    for note in notes:
        echo(note, err=form is not Format.text)
    if form is Format.text:
        typer.echo()
        typer.echo(render_text(board, terminal_width()))
    else:
        print_rows(board.to_pylist(), form)
