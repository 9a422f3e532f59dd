"""Gates: Great Expectations between the modules of the pipeline.

Suites are built from contracts, in Python, in a context that leaves nothing on disk. What an engine for
expectations lets pass by design fails here: an empty table (a row count is always expected), NaN in a range
(floats must be finite), nulls in a closed vocabulary (required columns are checked for them) and a gate that
expects nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts._columns import row_codes
from magister.contracts._engine import library
from magister.contracts.schemas import Contract

FIRST = 5
_TEXT = 120
_ABSENT = "(absent)"

Tables = dict[str, tuple[Contract, pa.Table]]
"""By name: what a table promises, and the table."""


@dataclass(frozen=True)
class RowCheck:
    """A rule that every row of a table keeps, worked out ahead.

    Attributes:
        table: name of the table.
        name: name of the rule.
        columns: the columns that it reads; their values are shown for rows that break it.
        expected: the rule as a sentence.
        passed: whether each row keeps it, in the order of the table.
    """

    table: str
    name: str
    columns: tuple[str, ...]
    expected: str
    passed: NDArray[np.bool_]


@dataclass(frozen=True)
class RowCount:
    """How many rows a table must have, known from others.

    Attributes:
        table: name of the table.
        rows: the number.
        expected: where it comes from.
    """

    table: str
    rows: int
    expected: str


Expectation = RowCheck | RowCount
Suite = tuple[Tables, list[Expectation]]


@dataclass(frozen=True)
class _Spec:
    """An expectation with what the report says of it."""

    build: Any
    expected: str
    columns: tuple[str, ...] = ()
    check: str | None = None


@dataclass(frozen=True)
class _Subject:
    """A frame that one suite is run on.

    Attributes:
        table: name of the table in the report.
        frame: the pandas frame; row i stands for row i of `rows`.
        rows: the sorted table that keys and values are read from.
        key: columns that name a row.
        specs: what is expected.
    """

    table: str
    frame: Any
    rows: pa.Table
    key: tuple[str, ...]
    specs: list[_Spec] = field(default_factory=list)


def type_mismatches(contract: Contract, table: pa.Table) -> list[str]:
    """Columns that are not what the contract says."""
    return [name for name, expected, found in _types(contract, table) if expected != found]


def _types(contract: Contract, table: pa.Table) -> list[tuple[str, str, str]]:
    """Every column of either with its expected and its found type."""
    wanted, given = contract.schema, table.schema
    rows = []
    for name in sorted({*wanted.names, *given.names}):
        expected = str(wanted.field(name).type) if name in wanted.names else _ABSENT
        found = str(given.field(name).type) if given.names.count(name) == 1 else _ABSENT
        # The name of a list's elements is none of its type: parquet calls them otherwise.
        if name in wanted.names and found != _ABSENT and wanted.field(name).type == given.field(name).type:
            found = expected
        rows.append((name, expected, found))
    return rows


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


def _contract_specs(gx: Any, contract: Contract, sound: set[str], count: RowCount | None) -> list[_Spec]:
    """What a contract says, for the columns that are of the type that it says."""
    names = contract.schema.names
    specs = [_Spec(gx.ExpectTableColumnsToMatchOrderedList(column_list=names), "the columns of the contract")]
    if count is not None:
        specs.append(
            _Spec(gx.ExpectTableRowCountToEqual(value=count.rows), f"{count.rows} rows: {count.expected}")
        )
    if not contract.may_be_empty:
        specs.append(_Spec(gx.ExpectTableRowCountToBeBetween(min_value=1), "at least one row"))
    for column in contract.schema:
        if column.name in sound and not column.nullable:
            build = gx.ExpectColumnValuesToNotBeNull(column=column.name)
            specs.append(_Spec(build, "a value in every row", (column.name,)))
    if sound.issuperset(contract.key):
        build = (
            gx.ExpectCompoundColumnsToBeUnique(column_list=list(contract.key), ignore_row_if="never")
            if len(contract.key) > 1
            else gx.ExpectColumnValuesToBeUnique(column=contract.key[0])
        )
        specs.append(_Spec(build, "one row per key", contract.key))
    for name, words in contract.allowed.items():
        if name in sound:
            build = gx.ExpectColumnValuesToBeInSet(column=name, value_set=list(words))
            specs.append(_Spec(build, f"one of {', '.join(words)}", (name,)))
    for name, (low, high) in contract.ranges.items():
        if name in sound:
            build = gx.ExpectColumnValuesToBeBetween(column=name, min_value=low, max_value=high)
            specs.append(_Spec(build, f"from {low:g} to {high:g}", (name,)))
    return specs


def _finite(contract: Contract, table: pa.Table, sound: set[str]) -> Iterator[RowCheck]:
    """A range lets NaN pass, and pandas takes it for a null; Arrow knows the difference."""
    for column in contract.schema:
        if column.name in sound and pa.types.is_floating(column.type):
            finite = pc.fill_null(pc.is_finite(table[column.name]), True).to_numpy()
            yield RowCheck(contract.name, f"{column.name}_finite", (column.name,), "a finite number", finite)


def _subjects(
    gx: Any, name: str, contract: Contract, table: pa.Table, own: Sequence[Expectation]
) -> list[_Subject]:
    """The frames of a table: its columns and types, its rows, and the rules worked out ahead."""
    if not contract.key:
        raise ValueError(f"contract {contract.name!r} has no key to name rows by")
    types = _types(contract, table)
    sound = {column for column, expected, found in types if expected == found}
    key = tuple(column for column in contract.key if column in sound)
    order = _order(table, key, sound)
    rows = table if order is None else table.take(order)
    type_rows = pa.table(
        {title: [row[i] for row in types] for i, title in enumerate(("column", "expected", "found"))}
    )
    build = gx.ExpectColumnPairValuesToBeEqual(column_A="expected", column_B="found", ignore_row_if="neither")
    typed = _Spec(build, "the types of the contract", ("expected", "found"), "types")
    counts = [e for e in own if isinstance(e, RowCount)]
    subjects = [
        _Subject(name, type_rows.to_pandas(), type_rows, ("column",), [typed]),
        _Subject(
            name,
            _frame(rows, {*contract.key, *contract.allowed}),
            rows,
            key,
            _contract_specs(gx, contract, sound, counts[0] if counts else None),
        ),
    ]
    checks = [*_finite(contract, table, sound), *(e for e in own if isinstance(e, RowCheck))]
    if checks:
        masks, specs = {}, []
        for check in checks:
            passed = np.asarray(check.passed)
            if passed.dtype != bool or passed.shape != (table.num_rows,):
                raise ValueError(f"check {check.name!r}: one truth value per row of {name!r} is needed")
            masks[check.name] = passed if order is None else passed[order]
            build = gx.ExpectColumnValuesToBeInSet(column=check.name, value_set=[True])
            specs.append(_Spec(build, check.expected, check.columns, check.name))
        if len(masks) != len(checks):
            raise ValueError(f"table {name!r}: two checks have one name")
        subjects.append(_Subject(name, pa.table(masks).to_pandas(), rows, key, specs))
    return subjects


def _shown(value: Any) -> Any:
    """A value as a report shows it: JSON, and short."""
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    if isinstance(value, list):
        return [_shown(part) for part in value[:26]]
    return value if not isinstance(value, str) or len(value) <= _TEXT else f"{value[: _TEXT - 4]} ..."


def _entry(subject: _Subject, spec: _Spec, result: Any) -> dict[str, Any]:
    """One line of the report."""
    seen = result.result
    broken = result.exception_info
    by_row = "element_count" in seen
    places = seen.get("partial_unexpected_index_list") or []
    columns = [name for name in spec.columns if name in subject.rows.column_names]
    rows = (
        subject.rows.select(list(dict.fromkeys([*subject.key, *columns])))
        .take(pa.array(places, pa.int64()))
        .to_pylist()
    )
    keys = [
        {name: row[name] for name in subject.key} if subject.key else {"row": place}
        for row, place in zip(rows, places, strict=True)
    ]
    observed = seen["element_count"] if by_row else seen.get("observed_value")
    if observed is None:
        observed = str(broken)
    return {
        "table": subject.table,
        "expectation": result.expectation_config.type,
        "check": spec.check,
        "columns": list(spec.columns),
        "expected": spec.expected,
        "observed": observed,
        "success": bool(result.success),
        "n_failed": int(seen["unexpected_count"]) if by_row else int(not result.success),
        "first_failed_keys": keys,
        "first_failed_values": [{name: _shown(row[name]) for name in columns} for row in rows],
    }


def _validate(context: Any, subject: _Subject, number: int) -> list[dict[str, Any]]:
    import great_expectations as gx

    asset = context.data_sources.pandas_default.add_dataframe_asset(f"{subject.table}-{number}")
    batch = asset.add_batch_definition_whole_dataframe("whole").get_batch({"dataframe": subject.frame})
    suite = gx.ExpectationSuite(name=f"{subject.table}-{number}")
    for place, spec in enumerate(subject.specs):
        spec.build.meta = {"place": place}
        suite.add_expectation(spec.build)
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
    gx, context = library()
    entries: list[dict[str, Any]] = []
    for name, (contract, table) in sorted(tables.items()):
        own = [e for e in expectations if e.table == name]
        for number, subject in enumerate(_subjects(gx.expectations, name, contract, table, own)):
            entries += _validate(context, subject, number)
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
