"""Columns of a user's table: texts, words of a vocabulary and whole numbers, with mistakes named by row."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.errors import UserError

Ints = NDArray[np.int64]
NAMED = 5
_WHOLE = re.compile(r"\d{1,9}(?:\.0+)?")
_BINARY = re.compile(r"[01](?:\.0+)?", re.ASCII)
NULL = -1


def rows_named(numbers: Sequence[int] | Ints) -> str:
    """Rows for a message: `row 3`, `rows 3, 7, 9 and 12 more`."""
    shown = [str(int(number)) for number in numbers[:NAMED]]
    more = f" and {len(numbers) - NAMED} more" if len(numbers) > NAMED else ""
    return ("row " if len(numbers) == 1 else "rows ") + ", ".join(shown) + more


def as_texts(rows: Sequence[Mapping[str, Any]], where: str, numbers: Sequence[int]) -> pa.Table:
    """A table of texts from rows of any scalars; what is empty or lacking is null.

    Raises:
        UserError: a cell is a list or an object.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns: dict[str, list[str | None]] = {name: [] for name in names}
    for number, row in zip(numbers, rows, strict=True):
        for name in names:
            value = row.get(name)
            if isinstance(value, dict | list):
                raise UserError(
                    f"{where}: row {number}: {name}: expected a text or a number, found {type(value).__name__}"
                )
            columns[name].append(_text(value))
    return pa.table({name: pa.array(texts, pa.string()) for name, texts in columns.items()})


def _text(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        text = str(value)
    except ValueError:  # a whole number of thousands of digits
        return "a very large number"
    return text.encode("utf-8", "backslashreplace").decode("utf-8").strip() or None


def cast_texts(table: pa.Table, where: str) -> pa.Table:
    """The same for a table that is one already.

    Raises:
        UserError: a column holds lists or structures.
    """
    columns = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        try:
            text = pc.utf8_trim_whitespace(column.cast(pa.string()))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise UserError(
                f"{where}: column {name!r}: expected texts or numbers, found {column.type}"
            ) from None
        columns[name] = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    return pa.table(columns)


class Columns:
    """A table of texts whose mistakes are collected, so that a user sees all kinds of them at once.

    Attributes:
        table: the texts.
        where: the file, for messages.
        numbers: line (or place from 1) of each row.
        problems: what is wrong so far.
    """

    def __init__(self, table: pa.Table, where: str, numbers: Sequence[int]) -> None:
        self.table, self.where = table, where
        self.numbers: Ints = np.asarray(numbers, dtype=np.int64)
        self.problems: list[str] = []

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def has(self, name: str) -> bool:
        """Whether a column is there and holds anything."""
        return name in self.table.column_names and self.table[name].null_count < len(self)

    def complain(self, message: str) -> None:
        """Note a mistake."""
        self.problems.append(message)

    def stop(self) -> None:
        """End if anything is wrong.

        Raises:
            UserError: all mistakes.
        """
        if self.problems:
            lines = "\n".join(f"  {problem}" for problem in self.problems)
            raise UserError(f"{self.where}: {len(self.problems)} problem(s)\n{lines}")

    def rows(self, marks: NDArray[np.bool_]) -> str:
        """The marked rows, for a message."""
        return rows_named(self.numbers[np.flatnonzero(marks)])

    def _coded(self, name: str, default: str | None) -> tuple[list[str], Ints]:
        if name not in self.table.column_names:
            if default is None:
                return [], np.full(len(self), NULL, dtype=np.int64)
            return [default], np.zeros(len(self), dtype=np.int64)
        column = self.table[name]
        if default is not None:
            column = pc.fill_null(column, default)
        coded = column.combine_chunks().dictionary_encode()
        coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
        codes = coded.indices.fill_null(NULL).to_numpy(zero_copy_only=False)
        return coded.dictionary.to_pylist(), np.asarray(codes, dtype=np.int64)

    def texts(self, name: str, default: str | None = None) -> tuple[list[str], Ints]:
        """Values and codes of a text column; without a default every row must have one."""
        names, codes = self._coded(name, default)
        empty = codes == NULL
        if empty.any():
            self.complain(f"{self.rows(empty)}: {name} is empty; every row needs one")
        return names, codes

    def values(
        self, name: str, read: Callable[[str], int | None], expected: str, default: str | None = None
    ) -> Ints:
        """A column read value by value; `NULL` where it is empty.

        Args:
            name: the column.
            read: the number of a text, or None where it is not one of those expected.
            expected: what is, for the message.
            default: text of empty cells.
        """
        names, codes = self._coded(name, default)
        numbers = [read(text) for text in names]
        for at, number in enumerate(numbers):
            if number is None:
                wrong = codes == at
                self.complain(f"{self.rows(wrong)}: {name} {names[at]!r}; expected {expected}")
        table = np.asarray(
            [NULL if number is None else number for number in [*numbers, None]], dtype=np.int64
        )
        return table[codes]

    def words(self, name: str, allowed: Sequence[str], default: str) -> Ints:
        """Places of a column's words in a closed vocabulary."""
        known = {word: at for at, word in enumerate(allowed)}
        return self.values(name, known.get, f"one of {', '.join(allowed)}", default)


def read_binary(text: str) -> int | None:
    """0 or 1, with whatever decimals a tool writes (`1.00`); or false and true."""
    if _BINARY.fullmatch(text):
        return int(text[0])
    return {"false": 0, "true": 1}.get(text.casefold())


def read_whole(low: int, high: int) -> Callable[[str], int | None]:
    """A whole number between two."""

    def read(text: str) -> int | None:
        if not _WHOLE.fullmatch(text):
            return None
        number = int(text.partition(".")[0])
        return number if low <= number <= high else None

    return read


def combined(*codes: Ints) -> Ints:
    """One code for each combination of codes, 0..n-1."""
    total: Ints = np.zeros(len(codes[0]), dtype=np.int64)
    for code in codes:
        joined = total * (int(code.max(initial=0)) + 1) + code
        total = np.asarray(np.unique(joined, return_inverse=True)[1], dtype=np.int64).ravel()
    return total
