"""`magister rate`: a user's own votes, rated outside any pipeline."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magister.cli._printing import Format, FormatOption, echo, print_rows, refuse_existing, terminal_width
from magister.display import columns, ljust, shorten, visible
from magister.errors import CheckFailed, UserError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

EXAMPLE = "Example: magister rate votes.csv --column instruction=prompt_id --by scenario"


#: From so many votes random orders take long enough to be told beforehand.
_MANY_VOTES = 200_000
# Measured: a million votes in 1,000 orders.
_MINUTES_OF_A_GAME = 0.5 / 1e9


class System(StrEnum):
    """What to rate by."""

    both = "both"
    elo = "elo"
    bradley_terry = "bradley_terry"


class By(StrEnum):
    """What to rate on its own, beside all votes together."""

    none = "none"
    scenario = "scenario"


class TieModel(StrEnum):
    """How Bradley-Terry reads ties."""

    half = "half"
    davidson = "davidson"


class EloMethod(StrEnum):
    """How Elo does without an order of the votes."""

    mean_field = "mean_field"
    shuffle = "shuffle"


def rate(
    file: Annotated[Path, typer.Argument(help="A .csv, .jsonl, .json or .parquet file, a row per vote.")],
    column: Annotated[
        list[str] | None,
        typer.Option(help="ROLE=NAME: the column of a role where its name is another. Repeatable."),
    ] = None,
    system: Annotated[System, typer.Option(help="What to rate by.")] = System.both,
    by: Annotated[By, typer.Option(help="Rate every scenario on its own too.")] = By.none,
    ties: Annotated[TieModel, typer.Option(help="Ties in Bradley-Terry.")] = TieModel.half,
    elo: Annotated[EloMethod, typer.Option(help="Mean field, or 1000 random orders.")] = EloMethod.mean_field,
    resamples: Annotated[int, typer.Option(min=0, help="Bootstrap resamples; 0: none.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the resampling.")] = 0,
    level: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.95,
    rejected: Annotated[
        Path | None, typer.Option(help="Write the votes that do not count to this .csv, with reasons.")
    ] = None,
    form: FormatOption = Format.text,
) -> None:
    """Rate models by your own votes: Elo and Bradley-Terry, with intervals.

    Columns: model_a, model_b and winner (model_a, model_b, tie, tie (bothbad);
    or a, b, both_bad). Used where they are there: scenario, annotator,
    instruction (instruction_id), cluster (root_id), seconds. Votes that cannot
    be read are listed and left out, and the exit code is then 1.
    """
    import pyarrow as pa

    from magister.arena.bradley_terry import Likelihood
    from magister.arena.ratings import Settings, best_first, rate_votes, refuse_no_votes
    from magister.arena.vote_files import read_votes
    from magister.arena.votes import code_votes

    if rejected is not None:
        refuse_existing("--rejected", rejected)
    found = read_votes(file)
    try:
        votes = code_votes(found.table, columns=_columns(column or []), source=str(file), rows=found.rows)
    except UserError:
        _write(rejected, found.broken)
        raise
    left_out = pa.concat_tables([found.broken, votes.rejected])
    _write(rejected, left_out)
    if by is By.scenario and not votes.scenarios:
        raise UserError(
            f"{file}: --by scenario, and the votes have no scenario; name it: --column scenario=NAME"
        )
    settings = Settings(
        seed=seed,
        resamples=resamples,
        level=level,
        systems=("elo", "bradley_terry") if system is System.both else (system.value,),
        method=elo.value,
        likelihood=Likelihood(ties=ties.value),
    )
    refuse_no_votes(votes)
    if elo is EloMethod.shuffle and System.elo.value in settings.systems and len(votes) >= _MANY_VOTES:
        echo(
            f"Playing {len(votes):,} votes in {settings.orderings:,} random orders, which takes about "
            f"{max(1, round(len(votes) * settings.orderings * _MINUTES_OF_A_GAME))} minute(s) a scope; "
            "--elo mean_field gives the same within 2 points at once.",
            err=True,
        )
    ratings = rate_votes(votes, settings, by_scenario=by is By.scenario)
    frame = best_first(ratings.table)
    read_as = ", ".join(f"{role} from {name}" for role, name in votes.columns.items() if role != name)
    quiet = form is not Format.text
    echo(f"{file}: {votes.n_rows + found.broken.num_rows} rows, {len(votes)} votes count.", err=quiet)
    if read_as:
        echo(f"Read: {read_as}.", err=quiet)
    notes = [*ratings.notes, *_unreadable(found.broken)]
    for note in notes:
        echo(f"{note}.", err=quiet)
    if quiet:
        print_rows(_records(frame, notes), form)
    else:
        _print_tables(frame, settings.level)
    wrong = found.broken.num_rows + _wrong(votes.rejected)
    if wrong:
        where = f"see {rejected}" if rejected else "--rejected FILE lists them"
        raise CheckFailed(f"{file}: {wrong} row(s) are no votes and were left out; {where}")


def _columns(pairs: list[str]) -> dict[str, str]:
    from magister.arena.votes import COLUMNS

    out: dict[str, str] = {}
    for pair in pairs:
        role, mark, name = pair.partition("=")
        if not mark or role not in COLUMNS or not name:
            raise UserError(f"--column {pair!r}: expected ROLE=NAME with a role of {', '.join(COLUMNS)}")
        if role in out:
            raise UserError(
                f"--column: {role} is named twice, {out[role]!r} and {name!r}; give each role once"
            )
        out[role] = name
    return out


def _write(path: Path | None, rejected: pa.Table) -> None:
    from pyarrow import csv

    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        csv.write_csv(rejected, path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None


def _unreadable(broken: pa.Table) -> list[str]:
    from magister.arena.votes import describe_rejected

    return describe_rejected(broken)


def _wrong(rejected: pa.Table) -> int:
    from magister.arena.votes import is_wrong

    return sum(is_wrong(reason) for reason in rejected["reason"].to_pylist())


def _records(frame: pd.DataFrame, notes: list[str]) -> list[dict[str, Any]]:
    """Rows for programs: what is unknown is null, and `note` says what must be said beside all of them."""
    import pandas as pd

    rows = frame.astype(object).to_dict("records")
    said = {"note": "; ".join(notes)}
    return [
        {str(name): None if pd.isna(value) else value for name, value in row.items()} | said for row in rows
    ]


def _print_tables(frame: pd.DataFrame, level: float) -> None:
    """One table per scope, system and part of the league, within the terminal's width."""
    width = terminal_width()
    footnotes: dict[str, int] = {}
    for (scope, system, component), part in frame.groupby(["scope", "system", "component"], sort=False):
        title = {"elo": "Elo", "bradley_terry": "Bradley-Terry"}[str(system)]
        parts = frame.loc[(frame["scope"] == scope) & (frame["system"] == system), "component"].nunique()
        where = "" if parts == 1 else f", part {component} of {parts}"
        head = ("rank", "rating", f"{level:.0%} interval", "ranks", "group", "n", "W/T/L", "")
        rows = []
        for row in part.to_dict("records"):
            mark = ""
            if row["reason"]:
                mark = f"[{footnotes.setdefault(str(row['reason']), len(footnotes) + 1)}]"
            rows.append(
                (
                    _whole(row["rank"]),
                    _points(row["rating"]),
                    _span(row),
                    f"{_whole(row['rank_low'])}-{_whole(row['rank_high'])}",
                    str(row["group"]) or "-",
                    str(row["n"]),
                    f"{row['wins']}/{row['ties']}/{row['losses']}",
                    mark,
                )
            )
        widths = [max(len(cell) for cell in column) for column in zip(head, *rows, strict=True)]
        room = max(8, width - sum(widths) - len(widths))
        shown = [visible(str(name)) for name in part["model"]]
        short = shorten(shown, room)
        names = [short[name] for name in shown]
        name_width = max(map(columns, ["model", *names]))
        typer.echo(f"\n{visible(str(scope))}: {title}{where}")
        for name, cells in zip(["model", *names], [head, *rows], strict=True):
            aligned = " ".join(cell.rjust(size) for cell, size in zip(cells, widths, strict=True))
            typer.echo(f"{ljust(name, name_width)} {aligned}".rstrip())
    typer.echo()
    echo(
        "Models that share a letter are not told apart. Ranks: interval from resamples. W/T/L: wins, ties, losses."
    )
    for text, number in footnotes.items():
        echo(f"[{number}] {text}.")


def _whole(value: Any) -> str:
    import pandas as pd

    return "?" if pd.isna(value) else str(int(value))


def _points(value: float) -> str:
    return "-" if value != value else f"{value:.0f}"


def _span(row: dict[Any, Any]) -> str:
    """An interval; an end that is open or unknown is a question mark."""
    ends = ["?" if end != end else f"{end:.0f}" for end in (row["ci_low"], row["ci_high"])]
    return f"{ends[0]}..{ends[1]}"
