"""Gates: Great Expectations between the modules of the pipeline.

Suites are built from contracts, in Python, in a context that leaves nothing on disk. The engine takes a
hundredth of a second for an expectation, whatever the table, so a table is held to its row counts, its key and
the number of promises that its rows break; what does not hold is then expected on its own. What an engine for
expectations lets pass by design fails here: an empty table (a row count is always expected), NaN in a range
(floats must be finite), nulls in a closed vocabulary (required columns are checked for them) and a gate that
expects nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts._columns import row_codes
from magister.contracts._engine import frames
from magister.contracts._promises import (
    Expectation,
    Promises,
    RowCheck,
    RowCount,
    Spec,
    Suite,
    Tables,
    column_types,
    sound_columns,
    table_promises,
    type_mismatches,
)
from magister.contracts.schemas import Contract

__all__ = [
    "Expectation",
    "RowCheck",
    "RowCount",
    "Suite",
    "Tables",
    "describe_failures",
    "run_gate",
    "type_mismatches",
]

FIRST = 5
_TEXT = 120
_BROKEN = "(broken promises)"


@dataclass(frozen=True)
class _Subject:
    """A frame that one suite is run on.

    Attributes:
        table: name of the table in the report.
        frame: the pandas frame; row i stands for row i of `rows`.
        rows: the table that keys and values are read from.
        key: columns that name a row.
        specs: what is expected.
    """

    table: str
    frame: Any
    rows: pa.Table
    key: tuple[str, ...]
    specs: Sequence[Spec]


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _order(table: pa.Table, key: Sequence[str], sound: set[str]) -> NDArray[np.int64] | None:
    """Positions of the rows by key; None where they stand so already.

    Rows that share a key are put in order by everything else, so that a report does not depend on the order
    of the rows.
    """
    if not key:
        return None
    codes = row_codes(table, key)
    order = np.argsort(codes, kind="stable")
    if (np.diff(codes[order]) == 0).any():
        others = [f.name for f in table.schema if f.name in sound - {*key} and not _is_list(f.type)]
        order = np.argsort(row_codes(table, [*key, *others]), kind="stable")
    return None if (np.diff(order) == 1).all() else order


def _frame(table: pa.Table, by_value: set[str]) -> Any:
    """The table in pandas, in the types that are checked fastest.

    Ranges of narrow integers are checked one value at a time, and all values are hashed for every suite. Lists
    and texts outside `by_value`, of which only their presence is asked, stand as their lengths.
    """
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if _is_list(column.type):
            column = pc.list_value_length(column)
        elif pa.types.is_string(column.type):
            column = column.dictionary_encode() if name in by_value else pc.binary_length(column)
        if pa.types.is_integer(column.type):
            column = column.cast(pa.int64())
        columns[name] = column
    return pa.table(columns).to_pandas()


def _broken(made: Promises, rows: int) -> NDArray[np.int64]:
    """How many promises each row breaks."""
    count = np.zeros(rows, dtype=np.int64)
    for spec in made.single:
        if not spec.holds and spec.passed is not None:
            count += ~spec.passed
    return count


def _summary(name: str, contract: Contract, table: pa.Table, made: Promises) -> _Subject:
    """The table as a whole: as many rows as there must be, each with a key of its own, none that breaks a promise."""
    columns = [column for column in contract.key if column in sound_columns(contract, table)]
    frame = _frame(table.select(columns), {*columns})
    frame[_BROKEN] = _broken(made, table.num_rows)
    none = Spec(
        "expect_column_values_to_be_in_set", {"column": _BROKEN, "value_set": [0]}, "no broken promise"
    )
    return _Subject(name, frame, table, (), [*made.whole, none])


def _details(name: str, contract: Contract, table: pa.Table, made: Promises) -> list[_Subject]:
    """What does not hold, one expectation each, over rows in the order of their key."""
    sound = sound_columns(contract, table)
    key = tuple(column for column in contract.key if column in sound)
    order = _order(table, key, sound)
    rows = table if order is None else table.take(order)
    types = column_types(contract, table)
    type_rows = pa.table(
        {title: [row[i] for row in types] for i, title in enumerate(("column", "expected", "found"))}
    )
    listed, typed = made.layout
    failed = [spec for spec in (*made.whole, *made.single) if not spec.holds]
    rules = [spec for spec in failed if spec.check is not None]
    masks = {
        spec.check: spec.passed if order is None or spec.passed is None else spec.passed[order]
        for spec in rules
    }
    plain = [spec for spec in failed if spec.check is None]
    read = {column for spec in plain for column in spec.columns}
    subjects = [
        _Subject(name, type_rows.to_pandas(), type_rows, ("column",), [typed]),
        _Subject(name, table.slice(0, 0).to_pandas(), table.slice(0, 0), (), [listed]),
        _Subject(
            name, _frame(rows.select(sorted(read)), {*contract.key, *contract.allowed}), rows, key, plain
        ),
        _Subject(name, pa.table(masks).to_pandas() if masks else None, rows, key, rules),
    ]
    return [subject for subject in subjects if any(not spec.holds for spec in subject.specs)]


def _shown(value: Any) -> Any:
    """A value as a report shows it: JSON, and short."""
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, list):
        return [_shown(part) for part in value[:26]]
    return value if not isinstance(value, str) or len(value) <= _TEXT else f"{value[: _TEXT - 4]} ..."


def _line(table: str, spec: Spec, observed: Any) -> dict[str, Any]:
    """One line of the report, of an expectation that holds."""
    return {
        "table": table,
        "expectation": spec.type,
        "check": spec.check,
        "columns": list(spec.columns),
        "expected": spec.expected,
        "observed": observed,
        "success": True,
        "n_failed": 0,
        "first_failed_keys": [],
        "first_failed_values": [],
    }


def _entry(subject: _Subject, spec: Spec, result: Any) -> dict[str, Any]:
    """One line of the report, as the engine found it."""
    seen = result.result
    by_row = "element_count" in seen
    places = seen.get("partial_unexpected_index_list") or []
    columns = [name for name in spec.columns if name in subject.rows.column_names]
    shown = subject.rows.select(list(dict.fromkeys([*subject.key, *columns])))
    # A table without columns has no rows to show.
    rows = shown.take(pa.array(places, pa.int64())).to_pylist() or [{} for _ in places]
    keys = [
        {name: row[name] for name in subject.key} if subject.key else {"row": place}
        for row, place in zip(rows, places, strict=True)
    ]
    observed = seen["element_count"] if by_row else seen.get("observed_value")
    return _line(subject.table, spec, str(result.exception_info) if observed is None else observed) | {
        "success": bool(result.success) and spec.holds,
        "n_failed": int(seen["unexpected_count"]) if by_row else int(not result.success),
        "first_failed_keys": keys,
        "first_failed_values": [{name: _shown(row[name]) for name in columns} for row in rows],
    }


def _validate(subject: _Subject) -> list[dict[str, Any]]:
    """Run the suite of a frame."""
    batch = frames().get_batch({"dataframe": subject.frame})
    import great_expectations as gx

    suite = gx.ExpectationSuite(name=subject.table)
    for place, spec in enumerate(subject.specs):
        built = spec.build(gx.expectations)
        built.meta = {"place": place}
        suite.add_expectation(built)
    # COMPLETE would list every failed row; the summary counts all and lists the first.
    results = batch.validate(
        suite,
        result_format={
            "result_format": "SUMMARY",
            "partial_unexpected_count": FIRST,
            "return_unexpected_index_query": False,
        },
    ).results
    by_place = {result.expectation_config.meta["place"]: result for result in results}
    return [_entry(subject, spec, by_place[place]) for place, spec in enumerate(subject.specs)]


def _layouts(tables: Mapping[str, tuple[Contract, pa.Table]]) -> _Subject:
    """Columns, their order and types of all tables in one frame."""
    found: dict[str, list[str]] = {"expected": [], "found": []}
    for name, (contract, table) in tables.items():
        for column, expected, seen in column_types(contract, table):
            for side, kind, names in (
                ("expected", expected, contract.schema.names),
                ("found", seen, table.column_names),
            ):
                place = names.index(column) if column in names else -1
                found[side].append(f"{name}.{column} {place} {kind}")
    rows = pa.table(found)
    spec = Spec(
        "expect_column_pair_values_to_be_equal",
        {"column_A": "expected", "column_B": "found", "ignore_row_if": "neither"},
        "the columns of the contracts",
    )
    return _Subject("layouts", rows.to_pandas(), rows, (), [spec])


def _gate_entries(
    name: str, promise: tuple[Contract, pa.Table], own: Sequence[Expectation], laid_out: bool
) -> list[dict[str, Any]]:
    """The lines of a table: one look at all of its promises, and one at each that does not hold."""
    contract, table = promise
    made = table_promises(name, contract, table, own)
    *whole, summary = _validate(_summary(name, contract, table, made))
    entries = {id(spec): entry for spec, entry in zip(made.whole, whole, strict=True)}
    for spec in made.layout:
        observed = len(column_types(contract, table)) if spec.check else table.column_names
        entries[id(spec)] = _line(name, spec, observed)
    for spec in made.single:
        entries[id(spec)] = _line(name, spec, table.num_rows)
    if not laid_out or not summary["success"] or not all(entry["success"] for entry in whole):
        for subject in _details(name, contract, table, made):
            found = _validate(subject)
            entries |= {id(spec): entry for spec, entry in zip(subject.specs, found, strict=True)}
    lines = list(entries.values())
    # The engine has the last word, also where nothing above explains it.
    return lines if summary["success"] or not all(line["success"] for line in lines) else [*lines, summary]


def run_gate(
    module: str,
    tables: Mapping[str, tuple[Contract, pa.Table]],
    expectations: Sequence[Expectation] = (),
) -> dict[str, Any]:
    """Hold tables to their contracts and to one another.

    Args:
        module: name of the module, for the report.
        tables: by name, the contract and the table.
        expectations: what tables promise beyond their contracts.

    Returns:
        A report without times and paths that does not depend on the order of rows: `module`, `success`, and
        `expectations`, sorted, each with `table`, `expectation` (its Great Expectations type), `check` (name
        of a rule worked out ahead, or None), `columns`, `expected`, `observed` (rows looked at, or the value
        found), `success`, `n_failed`, `first_failed_keys` and `first_failed_values` (at most five rows).

    Raises:
        ValueError: an expectation about a table that is not there, or a check that does not fit its table.
    """
    unknown = sorted({e.table for e in expectations} - set(tables))
    if unknown:
        raise ValueError(f"expectations about tables that are not given: {', '.join(unknown)}")
    entries: list[dict[str, Any]] = []
    (layouts,) = _validate(_layouts(tables)) if tables else ({"success": False},)
    for name, promise in sorted(tables.items()):
        own = [e for e in expectations if e.table == name]
        entries += _gate_entries(name, promise, own, layouts["success"])
    entries.sort(
        key=lambda entry: (entry["table"], entry["check"] or "", entry["expectation"], entry["columns"])
    )
    return {
        "module": module,
        "success": bool(entries) and all(entry["success"] for entry in entries),
        "expectations": entries,
    }


def describe_failures(report: Mapping[str, Any]) -> str:
    """The failed expectations of a report as a message: what was expected, how many rows, the first of them."""
    failed = [entry for entry in report["expectations"] if not entry["success"]]
    total = len(report["expectations"])
    lines = [f"gate of {report['module']}: {len(failed)} of {total} expectations failed"]
    if not total:
        lines.append("  nothing was expected, so nothing is known")
    for entry in failed:
        what = entry["check"] or ", ".join(entry["columns"]) or entry["expectation"]
        seen = f"{entry['n_failed']} row(s)" if entry["first_failed_keys"] else f"found {entry['observed']}"
        lines.append(f"  {entry['table']}: {what}: expected {entry['expected']}; {seen}")
        for key, values in zip(entry["first_failed_keys"], entry["first_failed_values"], strict=True):
            name = ", ".join(f"{column}={value}" for column, value in key.items())
            rest = ", ".join(f"{column}={value!r}" for column, value in values.items() if column not in key)
            lines.append(f"    {name}" + (f": {rest}" if rest else ""))
    return "\n".join(lines)
