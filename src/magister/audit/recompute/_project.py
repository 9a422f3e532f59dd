"""The files of a finished project: what is missing or cannot be read is a finding, never a crash."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from magister.audit.recompute._ledger import Ledger, Sheet


class MissingError(Exception):
    """A file that a recomputation cannot do without is not there; the ledger has it."""


class Project:
    """Reads files below a folder for one ledger.

    Attributes:
        root: the project's folder.
        ledger: where missing files are noted.
    """

    def __init__(self, root: Path, ledger: Ledger) -> None:
        """See the attributes."""
        self.root, self.ledger = root, ledger

    @contextmanager
    def part(self, path: str) -> Iterator[None]:
        """A part of the recomputation that ends where a file is missing or is not of the form it must have.

        Args:
            path: what to call it where its form is wrong: a file or folder.
        """
        try:
            yield
        except MissingError:
            return
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
            pa.ArrowException,
        ) as error:
            said = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            self.ledger.add(
                path, "", "file", f"cannot be recomputed: {said}", "files of the form that a run writes"
            )

    def table(self, path: str, columns: Sequence[str] = ()) -> pa.Table:
        """A parquet file.

        Args:
            path: from the project's folder.
            columns: that it must have; only these are read. All by default.

        Raises:
            MissingError: it is not there, cannot be read or lacks a column.
        """
        file = self.root / path
        if not file.is_file():
            self._missing(path, "no such file", "a table")
        try:
            names = pq.read_schema(file).names
            lost = [name for name in columns if name not in names]
            if not lost:
                return pq.read_table(file, columns=list(columns) or None)
        except (pa.ArrowException, OSError) as error:
            self._missing(path, f"cannot be read: {str(error).splitlines()[0]}", "a table")
        return self._missing(path, f"no column {', '.join(lost)}", "a table with that column")

    def tables(self, paths: Sequence[str], columns: Sequence[str] = ()) -> pa.Table:
        """Several files as one table.

        Raises:
            MissingError: as `table`, after all that are missing were noted.
        """
        found, lost = [], 0
        for path in paths:
            try:
                found.append(self.table(path, columns))
            except MissingError:
                lost += 1
        if lost or not found:
            raise MissingError
        return pa.concat_tables(found, promote_options="default")

    def sheet(self, path: str, key: Sequence[str], columns: Sequence[str] = ()) -> Sheet:
        """A parquet file whose rows have a key; `columns` are those that it must have beside the key."""
        return Sheet(path, self.table(path, [*key, *columns] if columns else ()), key)

    def json(self, path: str) -> Any:
        """A JSON document.

        Raises:
            MissingError: it is not there, or not JSON.
        """
        text = self.text(path)
        try:
            return json.loads(text)
        except ValueError as error:
            return self._missing(path, f"not JSON: {error}", "a JSON document")

    def text(self, path: str) -> str:
        """A text file.

        Raises:
            MissingError: it is not there, or not UTF-8.
        """
        file = self.root / path
        if not file.is_file():
            self._missing(path, "no such file", "a file")
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            return str(self._missing(path, f"cannot be read: {error}", "a text"))

    def _missing(self, path: str, seen: str, expected: str) -> Any:
        self.ledger.add(path, "", "file", seen, expected)
        raise MissingError
