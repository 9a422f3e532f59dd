"""What was recomputed, how many cells of it, and what did not come out the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.audit.findings import Finding

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: Numbers that differ by no more than this, relative to their size where that is above 1, are one number.
TOLERANCE = 1e-9
#: Findings of one check in one column of one file that are listed; the rest is counted in one more.
LISTED = 20


@dataclass
class Ledger:
    """Findings and counts of one module.

    Attributes:
        module: teaching, arena, diagnosis or rubrics.
        findings: in the order of the checks.
        cells: by what they are, cells that were compared with a number of our own.
    """

    module: str
    findings: list[Finding] = field(default_factory=list)
    cells: Counter[str] = field(default_factory=Counter)

    def add(self, path: str, place: str, check: str, seen: Any, expected: Any) -> None:
        """Note a finding."""
        self.findings.append(Finding(path, place, check, shown(seen), shown(expected)))

    def count(self, what: str, cells: int) -> None:
        """Note that some cells were compared."""
        if cells:
            self.cells[what] += int(cells)

    def take(self, other: Ledger) -> None:
        """Add what another ledger has."""
        self.findings += other.findings
        self.cells.update(other.cells)

    def compare(
        self,
        sheet: Sheet,
        column: str,
        expected: Any,
        check: str,
        *,
        rows: Ints | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        """Hold a column of a table against what it must be.

        Args:
            sheet: the table.
            column: its column; numbers, texts or flags.
            expected: of the same kind, shape (n,); NaN or None where the cell must be empty.
            check: name of the check.
            rows: positions of the n rows; all by default.
            tolerance: of numbers, see `TOLERANCE`.
        """
        at = np.arange(len(sheet)) if rows is None else rows
        wanted = np.asarray(expected)
        if wanted.dtype.kind in "fiub":
            seen: NDArray[Any] = sheet.numbers(column)[at]
            wanted = wanted.astype(np.float64)
            same = close(seen, wanted, tolerance)
        else:
            seen = sheet.texts(column)[at]
            same = np.asarray(seen == wanted.astype(object), dtype=bool)
        self.count(check, at.size)
        self.refuse(sheet, column, ~same, check, seen, wanted, rows=at)

    def uniform(self, sheet: Sheet, columns: Sequence[str]) -> None:
        """Hold columns to one value in all rows: settings of a table.

        Args:
            sheet: the table; rows without a value are passed over.
            columns: of numbers.
        """
        check = "settings: one for all rows"
        for column in columns:
            seen = sheet.numbers(column)
            there = ~np.isnan(seen)
            if there.any():
                numbers, counts = np.unique(seen[there], return_counts=True)
                usual = float(numbers[counts.argmax()])
                self.count(check, int(there.sum()))
                self.refuse(sheet, column, there & (seen != usual), check, seen, shown(usual))

    def refuse(
        self,
        sheet: Sheet,
        column: str,
        wrong: Bools,
        check: str,
        seen: Sequence[Any] | NDArray[Any],
        expected: Sequence[Any] | NDArray[Any] | str,
        *,
        rows: Ints | None = None,
    ) -> None:
        """List rows of a table that are wrong.

        Args:
            sheet: the table.
            column: that is wrong.
            wrong: which of the rows, shape (n,).
            check: name of the check.
            seen: what is there, shape (n,).
            expected: what must be there, shape (n,), or one text for all.
            rows: positions of the n rows; all by default.
        """
        found = np.flatnonzero(wrong)
        for k in found[:LISTED].tolist():
            row = k if rows is None else int(rows[k])
            said = expected if isinstance(expected, str) else expected[k]
            self.add(sheet.path, sheet.place(row, column), check, seen[k], said)
        if found.size > LISTED:
            self.add(sheet.path, column, check, f"{found.size - LISTED} more rows like these", "none")


class Sheet:
    """A stored table whose rows are found and named by their key.

    Attributes:
        path: file, from the project's folder.
        table: its rows.
        key: columns that name a row.
    """

    def __init__(self, path: str, table: pa.Table, key: Sequence[str]) -> None:
        """See the attributes."""
        self.path, self.table, self.key = path, table, tuple(key)
        self._numbers: dict[str, Floats] = {}
        self._texts: dict[str, NDArray[np.object_]] = {}
        self._places: dict[tuple[Any, ...], int] | None = None

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def numbers(self, column: str) -> Floats:
        """A column of numbers or flags; NaN where it is empty."""
        if column not in self._numbers:
            given = self.table[column].cast(pa.float64())
            self._numbers[column] = np.asarray(given.fill_null(np.nan).to_numpy(), dtype=np.float64)
        return self._numbers[column]

    def texts(self, column: str) -> NDArray[np.object_]:
        """A column as objects; None where it is empty."""
        if column not in self._texts:
            values = self.table[column].to_pylist()
            out = np.empty(len(values), dtype=object)
            out[:] = values
            self._texts[column] = out
        return self._texts[column]

    def place(self, row: int, column: str = "") -> str:
        """The key of a row, and a column."""
        named = [f"{name} {self.table[name][row].as_py()}" for name in self.key]
        return ", ".join(named) + (f": {column}" if column else "")

    def find(self, keys: Sequence[tuple[Any, ...]]) -> Ints:
        """Rows by key, -1 where there is none.

        Args:
            keys: values of the key's columns.
        """
        places = self._by_key()
        return np.array([places.get(key, -1) for key in keys], dtype=np.int64)

    def _by_key(self) -> dict[tuple[Any, ...], int]:
        if self._places is None:
            columns = [self.table[name].to_pylist() for name in self.key]
            self._places = {key: row for row, key in enumerate(zip(*columns, strict=True))}
        return self._places

    def align(self, ledger: Ledger, keys: Sequence[tuple[Any, ...]], why: str) -> tuple[Ints, Ints]:
        """Rows that must be there, and those that are.

        Args:
            ledger: where rows that are missing, repeated or too many are noted.
            keys: of all rows that must be there.
            why: what they must be there for.

        Returns:
            Positions of the rows found, and of their keys.
        """
        places, wanted = self._by_key(), set(keys)
        found = self.find(keys)
        for k in np.flatnonzero(found < 0)[:LISTED].tolist():
            place = ", ".join(f"{name} {value}" for name, value in zip(self.key, keys[k], strict=True))
            ledger.add(self.path, place, f"rows: {why}", "no such row", "a row")
        self._refuse_rows(ledger, [key not in wanted for key in places], list(places.values()), why)
        if len(places) != len(self):
            once = set(places.values())
            again = [row for row in range(len(self)) if row not in once]
            for row in again[:LISTED]:
                ledger.add(
                    self.path, self.place(row), "rows: a key stands once", "a row of the same key", "one"
                )
        ledger.count("rows", len(keys))
        there = np.flatnonzero(found >= 0)
        return found[there], there

    def _refuse_rows(self, ledger: Ledger, wrong: list[bool], rows: list[int], why: str) -> None:
        extra = [row for row, bad in zip(rows, wrong, strict=True) if bad]
        for row in extra[:LISTED]:
            ledger.add(self.path, self.place(row), f"rows: {why}", "a row", "no such row")


def close(seen: Floats, expected: Floats, tolerance: float = TOLERANCE) -> Bools:
    """Whether numbers are one another but for rounding; NaN is NaN."""
    with np.errstate(invalid="ignore"):
        near = np.abs(seen - expected) <= tolerance * np.maximum(np.abs(expected), 1.0)
        return np.asarray(near | (seen == expected) | (np.isnan(seen) & np.isnan(expected)))


def shown(value: Any) -> str:
    """A value as text; what is unknown is `null`."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "null"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value)) if abs(value) >= 1 or value == 0 else repr(value)
    return value if isinstance(value, str) else repr(value)


def keys_of(columns: Mapping[str, Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Columns of a key as one tuple a row."""
    return list(zip(*columns.values(), strict=True))
