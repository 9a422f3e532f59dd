"""Whether every table keeps its contract: columns, types, order of rows, one row a key, vocabularies and ranges."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from magister.audit.checks import Check, shown
from magister.audit.findings import Finding
from magister.audit.places import contract_of, name_row
from magister.audit.scene import Scene
from magister.contracts._columns import row_codes
from magister.contracts.schemas import Contract

TABLES = "tables keep their contracts"


def check_tables(scene: Scene) -> Check:
    """Read every table once and hold it to its contract; other files to what their kind promises."""
    found: list[Finding] = []
    n = 0
    for path in sorted(scene.chosen):
        if path.endswith(".json"):
            found += _document(scene, path)
        if not path.endswith(".parquet"):
            continue
        n += 1
        try:
            with pq.ParquetFile(scene.root / path) as file:
                table = file.read()
        except (pa.ArrowException, OSError) as error:
            what = (str(error).splitlines() or [type(error).__name__])[0]
            found.append(Finding(path, "", TABLES, f"cannot be read: {what}", "a table"))
            continue
        contract = contract_of(table.schema)
        if contract is None:
            columns = ", ".join(table.column_names)
            found.append(Finding(path, "", TABLES, f"columns {shown(columns)}", "those of a contract"))
            continue
        found += [
            Finding(path, place, TABLES, seen, expected) for place, seen, expected in broken(table, contract)
        ]
    return Check(TABLES, n, "tables", found)


def _document(scene: Scene, path: str) -> list[Finding]:
    try:
        json.loads((scene.root / path).read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        return [Finding(path, "", TABLES, f"cannot be read: {shown(str(error))}", "a JSON document")]
    return []


def broken(table: pa.Table, contract: Contract) -> Iterator[tuple[str, str, str]]:
    """Places in which a table breaks its contract, the first of each kind.

    Args:
        table: with the contract's columns and types.
        contract: what it promises.

    Yields:
        Row by its key, what is seen, what is expected.
    """
    if not table.num_rows:
        if not contract.may_be_empty:
            yield "", "no rows", "at least one"
        return
    for field in contract.schema:
        if not field.nullable and table[field.name].null_count:
            at = int(np.flatnonzero(pc.is_null(table[field.name]).to_numpy())[0])
            yield f"{name_row(table, at, contract.key)}: {field.name}", "null", "a value"
    step = np.diff(row_codes(table, contract.key))
    if (step == 0).any():
        at = int(np.flatnonzero(step == 0)[0])
        yield name_row(table, at + 1, contract.key), "two rows in a row", "one row a key"
    if (step < 0).any():
        at = int(np.flatnonzero(step < 0)[0])
        row, before = (name_row(table, where, contract.key) for where in (at + 1, at))
        yield row, f"stands behind {before}", "rows sorted by their key"
    for name, words in contract.allowed.items():
        column = table[name]
        outside = pc.invert(
            pc.or_kleene(pc.is_in(column, pa.array(list(words), column.type)), pc.is_null(column))
        )
        yield from _first(table, contract, name, outside, f"one of {', '.join(words)}")
    for name, (low, high) in contract.ranges.items():
        column = table[name]
        inside = pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high))
        yield from _first(
            table, contract, name, pc.invert(pc.fill_null(inside, True)), f"{low:g} to {high:g}"
        )


def _first(
    table: pa.Table, contract: Contract, name: str, outside: pa.ChunkedArray, expected: str
) -> Iterator[tuple[str, str, str]]:
    where = np.flatnonzero(outside.to_numpy())
    if where.size:
        at = int(where[0])
        yield f"{name_row(table, at, contract.key)}: {name}", shown(table[name][at].as_py()), expected
