"""What a table promises, and which of it does not hold: worked out on columns, before any engine is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts._columns import Mask, absent, member, numbers, row_codes
from magister.contracts.schemas import Contract

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
class Spec:
    """An expectation with what the report says of it.

    Attributes:
        type: its Great Expectations type.
        arguments: what it is made with.
        expected: it as a sentence.
        columns: the columns that it reads.
        check: name of the rule, where it was worked out ahead.
        passed: whether each row keeps it; None for a promise of the table as a whole.
        holds: whether it holds, as far as that is known without the engine.
    """

    type: str
    arguments: dict[str, Any]
    expected: str
    columns: tuple[str, ...] = ()
    check: str | None = None
    passed: Mask | None = None
    holds: bool = True

    def build(self, expectations: Any) -> Any:
        """The expectation itself."""
        name = "".join(part.title() for part in self.type.split("_"))
        return getattr(expectations, name)(**self.arguments)


def type_mismatches(contract: Contract, table: pa.Table) -> list[str]:
    """Columns that are not what the contract says."""
    return [name for name, expected, found in column_types(contract, table) if expected != found]


def column_types(contract: Contract, table: pa.Table) -> list[tuple[str, str, str]]:
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


def _once(table: pa.Table, key: Sequence[str]) -> Mask:
    """Rows whose key no other row has."""
    _, code, times = np.unique(row_codes(table, key), return_inverse=True, return_counts=True)
    return np.asarray((times == 1)[code], dtype=bool)


def _column_specs(contract: Contract, table: pa.Table, sound: set[str]) -> Iterator[Spec]:
    """What a contract says of single columns, for those that are of the type that it says."""
    for column in contract.schema:
        name = column.name
        if name not in sound:
            continue
        values, arguments = table[name], {"column": name}
        if not column.nullable:
            passed = ~absent(values)
            yield _row_spec(
                "expect_column_values_to_not_be_null", arguments, "a value in every row", (name,), passed
            )
        if name in contract.allowed:
            words = list(contract.allowed[name])
            passed = member(values, words) | absent(values)
            told = f"one of {', '.join(words)}"
            arguments = {"column": name, "value_set": words}
            yield _row_spec("expect_column_values_to_be_in_set", arguments, told, (name,), passed)
        if name in contract.ranges:
            low, high = contract.ranges[name]
            found = numbers(values)
            passed = np.isnan(found) | (low <= found) & (found <= high)
            arguments = {"column": name, "min_value": low, "max_value": high}
            told = f"from {low:g} to {high:g}"
            yield _row_spec("expect_column_values_to_be_between", arguments, told, (name,), passed)
        if pa.types.is_floating(column.type):
            # A range lets NaN pass, and pandas takes it for a null; Arrow knows the difference.
            passed = np.asarray(pc.fill_null(pc.is_finite(values), True).to_numpy(), dtype=bool)
            yield _rule(RowCheck(contract.name, f"{name}_finite", (name,), "a finite number", passed))


def _row_spec(
    kind: str, arguments: dict[str, Any], expected: str, columns: tuple[str, ...], passed: Mask
) -> Spec:
    return Spec(kind, arguments, expected, columns, passed=passed, holds=bool(passed.all()))


def _rule(check: RowCheck) -> Spec:
    """A rule worked out ahead: what is left to expect is that every row keeps it."""
    arguments = {"column": check.name, "value_set": [True]}
    passed = np.asarray(check.passed)
    return Spec(
        "expect_column_values_to_be_in_set",
        arguments,
        check.expected,
        check.columns,
        check.name,
        passed,
        bool(passed.all()),
    )


@dataclass(frozen=True)
class Promises:
    """All that is expected of a table.

    Attributes:
        layout: its columns and their types.
        whole: its number of rows and its key.
        single: its columns and rows.
    """

    layout: list[Spec]
    whole: list[Spec]
    single: list[Spec]


def table_promises(name: str, contract: Contract, table: pa.Table, own: Sequence[Expectation]) -> Promises:
    """What a table promises, and which of it does not hold."""
    if not contract.key:
        raise ValueError(f"contract {contract.name!r} has no key to name rows by")
    names = contract.schema.names
    typed = not type_mismatches(contract, table)
    pair = {"column_A": "expected", "column_B": "found", "ignore_row_if": "neither"}
    layout = [
        Spec(
            "expect_table_columns_to_match_ordered_list",
            {"column_list": names},
            "the columns of the contract",
            holds=table.column_names == names,
        ),
        Spec(
            "expect_column_pair_values_to_be_equal",
            pair,
            "the types of the contract",
            ("expected", "found"),
            "types",
            holds=typed,
        ),
    ]
    whole = [
        Spec("expect_table_row_count_to_equal", {"value": count.rows}, f"{count.rows} rows: {count.expected}")
        for count in own
        if isinstance(count, RowCount)
    ][:1]
    if not contract.may_be_empty:
        whole.append(Spec("expect_table_row_count_to_be_between", {"min_value": 1}, "at least one row"))
    sound = sound_columns(contract, table)
    if sound.issuperset(contract.key):
        several = {"column_list": list(contract.key), "ignore_row_if": "never"}
        kind, arguments = (
            ("expect_compound_columns_to_be_unique", several)
            if len(contract.key) > 1
            else ("expect_column_values_to_be_unique", {"column": contract.key[0]})
        )
        whole.append(_row_spec(kind, arguments, "one row per key", contract.key, _once(table, contract.key)))
    rules = [_rule(check) for check in own if isinstance(check, RowCheck)]
    for rule in rules:
        if rule.passed is None or rule.passed.dtype != bool or rule.passed.shape != (table.num_rows,):
            raise ValueError(f"check {rule.check!r}: one truth value per row of {name!r} is needed")
    single = [*_column_specs(contract, table, sound), *rules]
    checks = [spec.check for spec in single if spec.check is not None]
    if len(set(checks)) != len(checks):
        raise ValueError(f"table {name!r}: two checks have one name")
    return Promises(layout, whole, single)


def sound_columns(contract: Contract, table: pa.Table) -> set[str]:
    """Columns of the type that the contract says."""
    return {column for column, expected, found in column_types(contract, table) if expected == found}
