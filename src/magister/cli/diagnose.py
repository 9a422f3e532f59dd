"""`magister diagnose`: which attributes models master, from a user's own responses."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magister.cli._printing import Format, FormatOption, echo, print_rows, refuse_existing
from magister.errors import CheckFailed, UserError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from magister.diagnosis.matrix import ResponseMatrix
    from magister.diagnosis.matrix_files import ResponseFile
    from magister.diagnosis.study import Believed, Profiles

EXAMPLE = "Example: magister diagnose responses.csv --q q.csv --out diagnosis"


class Layout(StrEnum):
    """What rows and columns are."""

    auto = "auto"
    item_by_model = "item_by_model"
    model_by_item = "model_by_item"
    long = "long"


class Logs(StrEnum):
    """Logs of other tools."""

    lm_eval = "lm_eval"
    inspect = "inspect"


class Empty(StrEnum):
    """What an empty cell says."""

    unparsed = "unparsed"
    missing = "missing"


class Unparsed(StrEnum):
    """What a reply that cannot be read counts as."""

    wrong = "wrong"
    missing = "missing"


class Belief(StrEnum):
    """How a given Q-matrix is believed in."""

    point = "point"
    fixed = "fixed"


class Method(StrEnum):
    """How profiles are fitted."""

    saem = "saem"
    exact_em = "exact_em"


class Screened(StrEnum):
    """What becomes of flagged models and items."""

    drop = "drop"
    keep = "keep"
    only = "only"


def diagnose(
    responses: Annotated[
        list[Path], typer.Argument(help="A .csv, .jsonl, .json or .parquet file; or logs, with --logs.")
    ],
    q: Annotated[
        Path | None, typer.Option("--q", help="Q-matrix: a row per item, a column per attribute, 0 and 1.")
    ] = None,
    text: Annotated[
        Path | None, typer.Option(help="Items: item_id and text, or question and solution.")
    ] = None,
    vectors: Annotated[
        Path | None, typer.Option(help="Vectors of the items, .npy; hashed words without.")
    ] = None,
    ids: Annotated[Path | None, typer.Option(help="Item ids of the rows of --vectors, .txt.")] = None,
    attributes: Annotated[
        list[int] | None, typer.Option("--attributes", "-k", help="Numbers of attributes to try. Repeatable.")
    ] = None,
    layout: Annotated[Layout, typer.Option(help="What rows and columns are.")] = Layout.auto,
    column: Annotated[
        list[str] | None, typer.Option(help="ROLE=NAME: the column of a role. Repeatable.")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="A column to leave out. Repeatable.")] = None,
    empty: Annotated[Empty, typer.Option(help="An empty cell.")] = Empty.unparsed,
    unparsed: Annotated[Unparsed, typer.Option(help="An unreadable reply counts as.")] = Unparsed.wrong,
    logs: Annotated[Logs | None, typer.Option(help="The files are logs of this tool.")] = None,
    measure: Annotated[str | None, typer.Option(help="The logs' measure of right and wrong.")] = None,
    screening: Annotated[
        Screened, typer.Option(help="Flagged models and items; only: screen, fit nothing.")
    ] = Screened.drop,
    min_models: Annotated[int, typer.Option(min=1, help="Fewest models of an item.")] = 2,
    min_items: Annotated[int, typer.Option(min=1, help="Fewest items of a model.")] = 2,
    belief: Annotated[Belief, typer.Option(help="Whether responses may correct --q.")] = Belief.point,
    p_star: Annotated[float, typer.Option(help="Prior of an entry of --q.")] = 0.8,
    method: Annotated[Method, typer.Option(help="exact_em: --q as it is, up to 12.")] = Method.saem,
    chains: Annotated[int, typer.Option(min=1, help="Chains of SAEM.")] = 4,
    sweeps: Annotated[int, typer.Option(min=200, help="Most sweeps of a chain.")] = 5000,
    placebos: Annotated[int, typer.Option(min=0, help="Shuffled priors; a verdict needs 19.")] = 19,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is drawn.")] = 0,
    rejected: Annotated[
        Path | None, typer.Option(help="Write bad cells here (.csv) and go on; errors otherwise.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A new folder for all tables.")] = None,
    form: FormatOption = Format.text,
) -> None:
    """Say which attributes models master, with the controls that speak for or against it.

    Rows are items (column item_id), models (column model), or single
    responses (model, item_id, correct). Responses are 1, 0, true, false;
    an empty cell is a reply that could not be read, NA is no reply.
    Attributes are those of --q, or made from the items' texts.
    """
    _check_options(q, text, belief, method, attributes, p_star, screening)
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"--out {out}: this is there already; choose another name, or remove it first")
    if rejected is not None:
        refuse_existing("--rejected", rejected)
    if logs is None:
        found = _read_file(responses, layout, column or [], ignore or [], empty, unparsed)
    else:
        found = _read_logs(responses, logs, measure, unparsed)
    if rejected is None:
        found.check()
    elif found.rejected.num_rows:
        _write_csv(rejected, found.rejected)
    lines, matrix, screened = _screened(found, unparsed, screening, min_models, min_items)
    quiet = form is not Format.text
    where = ", ".join(map(str, responses[:3])) + (" ..." if len(responses) > 3 else "")
    for line in [f"{where}: {lines[0]}", *lines[1:]]:
        echo(line, err=quiet)
    tables = _grid_tables(found, screened)
    if screening is Screened.only:
        _write_tables(out, tables, None)
        if quiet:
            print_rows(screened.to_pylist(), form)
        _end(found, rejected)
        return
    believed = _believed(found, matrix, q, text, belief, p_star, vectors, ids, attributes, seed)
    from magister.cli._profiles import print_profiles
    from magister.diagnosis.study import FitOptions, fit_profiles

    for note in believed.notes:
        echo(f"{note}.", err=quiet)
    options = FitOptions(method=method.value, chains=chains, sweeps=sweeps, placebos=placebos, seed=seed)
    # Large studies take minutes.
    echo(f"Fitting; then {placebos + 3} fits for the controls ...", err=True)
    profiles = fit_profiles(matrix, believed, options)
    # Before anything is printed: a reader of the pipe may stop early.
    _write_tables(out, tables | dict(profiles.tables), profiles)
    for line in _verdict(profiles):
        echo(line, err=quiet)
    if quiet:
        print_rows(profiles.tables["mastery"].to_pylist(), form)
    else:
        print_profiles(profiles.tables, matrix.models)
    _end(found, rejected)


def _check_options(
    q: Path | None,
    text: Path | None,
    belief: Belief,
    method: Method,
    attributes: list[int] | None,
    p_star: float,
    screening: Screened,
) -> None:
    if q is not None and text is not None:
        raise UserError("--q and --text: give one of them; attributes are either given or made from texts")
    if q is None and method is Method.exact_em and screening is not Screened.only:
        raise UserError("--method exact_em takes a Q-matrix as it is: give it with --q")
    if q is not None and attributes:
        raise UserError("--attributes is for attributes made from texts; --q has its own")
    if q is None and belief is Belief.fixed:
        raise UserError("--belief fixed is for a Q-matrix: give it with --q")
    if not 0.5 <= p_star < 1:
        raise UserError(f"--p-star {p_star}: expected a probability from 0.5 to below 1")


def _read_file(
    paths: list[Path],
    layout: Layout,
    column: list[str],
    ignore: list[str],
    empty: Empty,
    unparsed: Unparsed,
) -> ResponseFile:
    from magister.diagnosis.matrix_files import MatrixForm, read_matrix

    if len(paths) > 1:
        raise UserError(f"{len(paths)} files of responses; expected one, or logs of a model each with --logs")
    columns = {}
    for pair in column:
        role, mark, name = pair.partition("=")
        if not mark or not role or not name:
            raise UserError(f"--column {pair!r}: expected ROLE=NAME")
        columns[role] = name
    form = MatrixForm(layout.value, columns, tuple(ignore), empty.value, unparsed.value)
    return read_matrix(paths[0], form)


def _read_logs(paths: list[Path], logs: Logs, measure: str | None, unparsed: Unparsed) -> ResponseFile:
    from magister.diagnosis.log_files import LogForm, read_logs

    return read_logs(paths, LogForm(logs.value, measure=measure, unparsed=unparsed.value))


def _screened(
    found: ResponseFile, unparsed: Unparsed, screening: Screened, min_models: int, min_items: int
) -> tuple[list[str], ResponseMatrix, pa.Table]:
    """What is there, and what stays; with what there is to say of it."""
    from magister.diagnosis.responses import ABSENT, UNPARSED, known_matrix
    from magister.diagnosis.screening import DROPPED, ScreeningOptions, apply_screening, describe, screen

    grid = found.grid
    cells = grid.correct.size
    policy = "count as wrong" if unparsed is Unparsed.wrong else "are left out"
    lines = [
        f"{len(grid.models)} models x {len(grid.items)} items: {cells - grid.count(ABSENT) - grid.count(UNPARSED)} of "
        f"{cells} responses read, {grid.count(UNPARSED)} unparsed ({policy}), {grid.count(ABSENT)} missing (unknown).",
        *(f"{note}." for note in found.notes),
    ]
    drop = () if screening is Screened.keep else DROPPED
    screened = screen(grid, ScreeningOptions(min_models=min_models, min_items=min_items, drop=drop))
    lines += [f"Screening: {line}." for line in describe(screened)]
    known = known_matrix(grid)
    if screening is Screened.only:
        return lines, known.matrix, screened
    matrix = apply_screening(known.matrix, screened)
    if matrix.correct.shape != grid.correct.shape:
        lines.append(f"Fitted: {len(matrix.models)} models x {len(matrix.items)} items.")
    return lines, matrix, screened


def _believed(
    found: ResponseFile,
    matrix: ResponseMatrix,
    q: Path | None,
    text: Path | None,
    belief: Belief,
    p_star: float,
    vectors: Path | None,
    ids: Path | None,
    attributes: list[int] | None,
    seed: int,
) -> Believed:
    from magister.diagnosis.study import given_prior, text_prior

    if q is not None:
        from magister.diagnosis.q_files import read_q

        return given_prior(read_q(q, found.grid.items), belief.value, p_star)
    from magister.diagnosis.item_files import read_items, texts_of

    items = found.items if text is None else read_items(text)
    if items is None:
        raise UserError(
            "no attributes: give a Q-matrix with --q, or the items' texts with --text (or --screening only)"
        )
    chosen = texts_of(items, matrix.items, str(text or "items"))
    values, note = _vectors(chosen, vectors, ids)
    believed = text_prior(chosen, values, attributes or None, seed)
    return replace(believed, notes=(note, *believed.notes))


def _vectors(items: pa.Table, path: Path | None, ids: Path | None) -> tuple[NDArray[np.floating[Any]], str]:
    """Vectors of some items, in their order, and where they are from."""
    import numpy as np
    import pyarrow.compute as pc

    if path is None:
        from magister.config.embedders import EmbedderConfig
        from magister.embeddings import Vectors, create_embedder, embed_texts, embedder_fingerprint

        config = EmbedderConfig(engine="hashed")
        source = Vectors(embedder_fingerprint("hashed", config), lambda: create_embedder("hashed", config))
        embedded = embed_texts(items["text"].to_pylist(), source)
        return embedded.vectors, "vectors: hashed words; --vectors takes those of a sentence model"
    from magister.cli._arena_files import read_vectors

    known = read_vectors(path, "items", ids)
    places = pc.index_in(items["item_id"].combine_chunks(), value_set=known.ids)
    if places.null_count:
        lost = items["item_id"].filter(pc.is_null(places))
        raise UserError(f"{path}: {len(lost)} items have no vector, first {lost[0].as_py()!r}")
    return np.asarray(known.values)[places.to_numpy()], f"vectors: {path}"


def _verdict(profiles: Profiles) -> list[str]:
    said = {
        "supported": "Profiles are supported by the controls",
        "not_supported": "PROFILES ARE NOT SUPPORTED by the controls",
        "undetermined": "The controls do not tell whether profiles are supported",
    }
    return [
        *(f"{note}." for note in profiles.notes),
        f"{said[profiles.support]}:",
        *(f"- {reason}." for reason in profiles.reasons),
    ]


def _grid_tables(found: ResponseFile, screened: pa.Table) -> dict[str, pa.Table]:
    from magister.diagnosis.responses import grid_table

    return {
        "response_matrix": grid_table(found.grid),
        "responses_rejected": found.rejected,
        "screening": screened,
    }


def _write_tables(out: Path | None, tables: dict[str, pa.Table], profiles: Profiles | None) -> None:
    from pyarrow import csv
    from pyarrow import parquet as pq

    from magister.provenance import inert

    if out is None:
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            pq.write_table(table, out / f"{name}.parquet")
            csv.write_csv(inert(_flat(table)), out / f"{name}.csv")
        if profiles is not None:
            text = json.dumps(profiles.document, sort_keys=True, ensure_ascii=False, indent=1) + "\n"
            (out / "verdict.json").write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"--out {out}: cannot be written: {error.strerror or error}") from None
    echo(f"Written: {len(tables)} tables in {out}", err=True)


def _flat(table: pa.Table) -> pa.Table:
    """Lists as texts: a cell of a .csv file has no room for more."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for at, field in enumerate(table.schema):
        if pa.types.is_list(field.type):
            joined = pc.binary_join(table[field.name], "; ")
            table = table.set_column(at, pa.field(field.name, pa.string()), joined)
    return table


def _write_csv(path: Path, table: pa.Table) -> None:
    from pyarrow import csv

    from magister.provenance import inert

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        csv.write_csv(inert(table), path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None


def _end(found: ResponseFile, rejected: Path | None) -> None:
    count = found.rejected.num_rows
    if count:
        raise CheckFailed(f"{count} cell(s) or row(s) are no responses and count as missing; see {rejected}")
