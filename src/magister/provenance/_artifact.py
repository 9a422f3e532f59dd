"""The one writer of artifacts: contract checked, rows sorted, lineage embedded, file replaced atomically."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from magister.contracts.schemas import Contract
from magister.errors import UserError
from magister.provenance._lineage import METADATA_KEY, SIDECAR_SUFFIX, Lineage


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside the target, flush to disk, rename: a reader sees the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        write(part)
        with part.open("rb+") as stream:
            os.fsync(stream.fileno())
        part.replace(path)
    except OSError as error:
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
    missing = [name for name in contract.schema.names if name not in table.column_names]
    unknown = [name for name in table.column_names if name not in contract.schema.names]
    if missing or unknown:
        raise UserError(f"table {contract.name!r}: missing columns {missing}, unknown columns {unknown}")
    try:
        table = table.select(contract.schema.names).cast(contract.schema)
    except (pa.ArrowInvalid, ValueError) as error:
        raise UserError(f"table {contract.name!r}: {error}") from None
    for column in contract.schema:
        if not column.nullable and table[column.name].null_count:
            raise UserError(
                f"table {contract.name!r}: {table[column.name].null_count} null(s) in {column.name!r}"
            )
    table = table.sort_by([(name, "ascending") for name in contract.key]).combine_chunks()
    groups = table.group_by(list(contract.key)).aggregate([([], "count_all")])
    if groups.num_rows != table.num_rows:
        repeated = groups.filter(pa.compute.greater(groups["count_all"], 1)).slice(0, 3).to_pylist()
        raise UserError(f"table {contract.name!r}: repeated keys, first: {repeated}")
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
