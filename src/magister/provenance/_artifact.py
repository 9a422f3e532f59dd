"""The one writer of artifacts: contract checked, rows sorted, lineage embedded, file replaced atomically."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from magister.contracts.schemas import Contract
from magister.errors import UserError
from magister.provenance._lineage import METADATA_KEY, SIDECAR_SUFFIX, Lineage


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside the target, flush to disk, rename: a reader sees the old file or the new one."""
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(part)
        with part.open("rb+") as stream:
            os.fsync(stream.fileno())
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise UserError(
            f"{path}: cannot be written: {error.strerror or error}. Free space or rights, then rerun"
        ) from None


def conform(table: pa.Table, contract: Contract) -> pa.Table:
    """Bring a table to its contract's columns, types and order of rows.

    Raises:
        UserError: a missing or unknown column, a value that does not fit its type, a null in a required
            column or a repeated key; the message names the column and the first rows.
    """
    title, names = f"table {contract.name!r}", contract.schema.names
    missing = [name for name in names if name not in table.column_names]
    unknown = [name for name in table.column_names if name not in names]
    repeated = sorted({name for name in names if table.column_names.count(name) > 1})
    if missing or unknown or repeated:
        problems = {"missing columns": missing, "unknown columns": unknown, "repeated columns": repeated}
        raise UserError(
            f"{title}: " + ", ".join(f"{what} {found}" for what, found in problems.items() if found)
        )
    columns = {}
    for field in contract.schema:
        try:
            columns[field.name] = table[field.name].cast(field.type)
        except (pa.ArrowException, ValueError) as error:
            raise UserError(f"{title}: column {field.name!r} does not fit {field.type}: {error}") from None
    table = pa.table(columns)
    for field in contract.schema:
        if not field.nullable and table[field.name].null_count:
            where = (
                table.filter(pc.is_null(table[field.name])).select(list(contract.key)).slice(0, 3).to_pylist()
            )
            count = table[field.name].null_count
            raise UserError(f"{title}: {count} null(s) in {field.name!r}, first rows: {where}")
    table = (
        table.cast(contract.schema).sort_by([(name, "ascending") for name in contract.key]).combine_chunks()
    )
    groups = table.group_by(list(contract.key)).aggregate([([], "count_all")])
    if groups.num_rows != table.num_rows:
        again = groups.filter(pc.greater(groups["count_all"], 1)).sort_by(
            [(name, "ascending") for name in contract.key]
        )
        raise UserError(
            f"{title}: repeated keys, first: {again.select(list(contract.key)).slice(0, 3).to_pylist()}"
        )
    return table


def write_table(path: Path, table: pa.Table, contract: Contract, lineage: Lineage) -> None:
    """Write a parquet artifact.

    Args:
        path: target; its folder is made.
        table: rows in any order.
        contract: what the table must be.
        lineage: record embedded in the schema metadata under `magister`.

    Raises:
        UserError: the table breaks its contract, or the file cannot be written.
    """
    table = conform(table, contract)
    table = table.replace_schema_metadata({METADATA_KEY: lineage.to_json().encode()})
    _replace(path, lambda part: pq.write_table(table, part, compression="zstd", store_schema=True))


def write_sidecar(path: Path, lineage: Lineage) -> None:
    """Write the lineage of a file that cannot carry it inside."""
    target = path.with_name(path.name + SIDECAR_SUFFIX)
    _replace(target, lambda part: part.write_text(lineage.to_json() + "\n", encoding="utf-8"))


def write_json(path: Path, value: Any, lineage: Lineage) -> None:
    """Write a small document (sorted keys) and its lineage beside it."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    write_text(path, text, lineage)


def write_text(path: Path, text: str, lineage: Lineage) -> None:
    """Write a text file and its lineage beside it."""
    _replace(path, lambda part: part.write_text(text, encoding="utf-8"))
    write_sidecar(path, lineage)
