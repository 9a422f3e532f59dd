"""`magister select`: comparisons worth judging, from a user's own vectors or similarities."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magister.cli._arena_files import read_table, read_vectors
from magister.cli._printing import Format, FormatOption, echo, print_rows, refuse_existing
from magister.cli.score import write_metrics, written_paths
from magister.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from magister.arena.effort import Effort
    from magister.arena.similarity import Similarities

EXAMPLE = (
    "Example: magister select -m gpt=gpt.npy -m claude=claude.npy --instructions questions.npy --ids ids.txt"
)


class PenaltyKind(StrEnum):
    """How an instruction is held against earlier picks."""

    max = "max"
    mean = "mean"


def select_command(
    similarities: Annotated[
        Path | None,
        typer.Argument(help="Similarities: .csv, .jsonl or .parquet; or give --model."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="NAME=FILE.npy: vectors of a model's responses; once a model."),
    ] = None,
    instructions: Annotated[
        Path | None, typer.Option(help="Vectors of the instructions, a .npy file.")
    ] = None,
    ids: Annotated[
        Path | None,
        typer.Option(
            help="Instruction ids of rows: .txt, or column instruction_id. Else a file beside X.npy."
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", max=1_000_000, help="Comparisons of each pair.")] = 10,
    lam: Annotated[float, typer.Option("--lambda", help="Weight of likeness to earlier picks.")] = 1.0,
    penalty: Annotated[PenaltyKind, typer.Option(help="Likeness to earlier picks.")] = PenaltyKind.max,
    random_share: Annotated[float, typer.Option(help="Part drawn at random, 0 to 1.")] = 0.3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random part.")] = 0,
    scenario: Annotated[str, typer.Option(help="Name of the scenario.")] = "all",
    memory: Annotated[float, typer.Option(min=0.01, help="GiB of working memory.")] = 2.0,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads; all cores by default.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the selection to this path, as .parquet and .csv.")
    ] = None,
    form: FormatOption = Format.text,
) -> None:
    """Choose instructions on which each pair of models differs most.

    Similarities have the columns instruction_id, model_a, model_b and
    similarity (-1 to 1, empty where it is unknown), in any order.
    """
    from magister.arena.comparisons import Choice, choose_comparisons
    from magister.arena.effort import Effort

    if (similarities is None) == (not model):
        raise UserError("give either a file of similarities or --model NAME=FILE.npy for two or more models")
    if instructions is None:
        raise UserError(
            "--instructions FILE.npy is missing: vectors of the instructions keep the picks diverse"
        )
    if out is not None:
        refuse_existing("--out", *written_paths(out))
    questions = read_vectors(instructions, "instructions", ids)
    effort = Effort(int(memory * 2**30), threads)
    parts: Iterable[Similarities]
    if similarities is not None:
        columns, parts = _tabled(similarities, questions.ids)
    else:
        columns, parts = _from_vectors(model or [], ids, questions.ids, effort)
    choice = Choice(k, lam, penalty.value, random_share, seed)
    found = choose_comparisons(scenario, columns, parts, questions, choice, effort)
    notes = _notes(found.counts, len(columns))
    if out is not None:
        notes += [f"Written: {path}" for path in write_metrics(found.table, out)]
    for note in notes:
        echo(note, err=form is not Format.text)
    if form is not Format.text or out is None:
        rows = found.table.to_pylist()
        print_rows([_short(row) for row in rows] if form is Format.text else rows, form)


def _tabled(path: Path, known: pa.StringArray) -> tuple[pa.StringArray, list[Similarities]]:
    """Similarities of a file, for the instructions that have vectors."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from magister.arena.similarity_tables import tabled_similarities

    table = read_table(path, ("instruction_id", "model_a", "model_b"))
    try:
        columns, part = tabled_similarities(table)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    lost = columns.filter(pc.is_null(pc.index_in(columns, known)))
    if len(lost):
        raise UserError(
            f"{path}: {len(lost)} instruction(s) have no vector, first {lost[0].as_py()!r}; expected each among the "
            "rows of --instructions"
        )
    if not part.pairs:
        raise UserError(f"{path}: no rows; expected a row for each pair and instruction")
    return pa.array(columns), [part]


def _from_vectors(
    named: list[str], ids: Path | None, columns: pa.StringArray, effort: Effort
) -> tuple[pa.StringArray, Iterable[Similarities]]:
    from magister.arena.similarity import cosine_similarities

    models = []
    for text in named:
        name, equals, file = text.partition("=")
        path = Path(file) if equals else Path(text)
        models.append(read_vectors(path, name if equals else path.stem, ids))
    if len(models) < 2:
        raise UserError("one --model; expected two or more, a pair differs")
    return columns, cosine_similarities(models, columns, effort=effort)


def _notes(counts: pa.Table, instructions: int) -> list[str]:
    import pyarrow.compute as pc

    rows = counts.to_pylist()
    picked, drawn = (pc.sum(counts[name]).as_py() for name in ("discrepant", "random"))
    notes = [
        f"{len(rows)} pair(s), {instructions} instructions: {picked} comparisons by discrepancy, {drawn} at random."
    ]
    absent = max(row["without_vector"] for row in rows)
    if absent:
        notes.append(f"{absent} instruction(s) without a vector, or with one of length 0, cannot be chosen.")
    lacking = [row for row in rows if row["missing"]]
    if lacking:
        most = max(lacking, key=lambda row: (row["missing"], row["model_a"], row["model_b"]))
        notes.append(
            f"Without a similarity, so not chosen: up to {most['missing']} instructions of a pair ({most['model_a']}, "
            f"{most['model_b']}), some in {len(lacking)} pairs."
        )
    short = [row for row in rows if row["discrepant"] + row["random"] < row["wanted"]]
    if short:
        notes.append(
            f"{len(short)} pair(s) have fewer eligible instructions than the {short[0]['wanted']} wanted, first "
            f"{short[0]['model_a']} and {short[0]['model_b']} with {short[0]['eligible']}."
        )
    return notes


def _short(row: dict[str, Any]) -> dict[str, Any]:
    """What fits a terminal."""
    return {
        "model_a": row["model_a"],
        "model_b": row["model_b"],
        "arm": row["arm"],
        "rank": row["rank"],
        "instruction": row["instruction_id"],
        "similarity": row["similarity"],
        "objective": row["objective"],
        "p": f"{row['inclusion_probability']:.3g}",
    }
