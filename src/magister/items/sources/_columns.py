"""Files as columns: .csv, .jsonl, .json and .parquet read at once, with the rows that cannot be read set apart."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from magister.errors import UserError
from magister.items.sources._files import read_rows
from magister.items.sources._rows import BrokenRow

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Columns:
    """What a file holds.

    Attributes:
        table: its readable rows; texts as they are where the file has no types (.csv) or one of its own each (JSON).
        rows: number of each: a line of a text file (the header of a .csv is 1), else its place from 1.
        broken: the others.
        nested: columns that hold a list or an object somewhere, as the text of it, and the first such row.
    """

    table: pa.Table
    rows: NDArray[np.int64]
    broken: list[BrokenRow]
    nested: dict[str, int] = field(default_factory=dict)


def read_columns(path: Path) -> Columns:
    """Read a file.

    Args:
        path: a .csv, .jsonl, .json or .parquet file.

    Raises:
        UserError: the file is missing, of another kind, or cannot be read at all.
    """
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        try:
            with pq.ParquetFile(path) as file:
                table = file.read()
        except FileNotFoundError:
            raise UserError(f"{path}: not found") from None
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise UserError(f"{path}: damaged, or no parquet file: {error}") from None
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
        return Columns(table, np.arange(1, table.num_rows + 1), [])
    if suffix == ".csv":
        whole = _whole_csv(path)
        if whole is not None:
            return whole
    pairs, broken = read_rows(path)
    names = list(dict.fromkeys(name for _, row in pairs for name in row))
    columns = [
        pa.array([_text(row.get(name)) for _, row in pairs], pa.string(), from_pandas=False) for name in names
    ]
    numbers = np.array([number for number, _ in pairs], dtype=np.int64)
    return Columns(pa.Table.from_arrays(columns, names=names), numbers, broken, _nested(pairs))


def _nested(pairs: list[tuple[int, dict[str, Any]]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, row in pairs:
        for name, value in row.items():
            if isinstance(value, list | dict):
                found.setdefault(name, number)
    return found


def _whole_csv(path: Path) -> Columns | None:
    """A .csv file all of whose lines are rows, read at once; None where the reader by rows has to look."""
    try:
        head, _, body = path.read_bytes().removeprefix(_BOM).partition(b"\n")
    except FileNotFoundError:
        raise UserError(f"{path}: not found") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    # Quotation marks are read by the strict reader: a stray one swallows no rows there.
    if not body or b'"' in body or b"\0" in head[:2]:
        return None
    # An empty line is no row, which Arrow does not see.
    if body.startswith((b"\n", b"\r")) or b"\n\n" in body or b"\n\r" in body:
        return None
    try:
        (names,) = csv.reader([head.decode("utf-8")], strict=True)
        names = [name.strip() for name in names]
        if len(set(names)) < len(names):
            return None
        table = arrow_csv.read_csv(
            pa.BufferReader(body),
            read_options=arrow_csv.ReadOptions(column_names=names),
            parse_options=arrow_csv.ParseOptions(ignore_empty_lines=False),
            # Texts stay texts: "01" is an id.
            convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except (UnicodeDecodeError, csv.Error, ValueError, pa.ArrowInvalid, pa.ArrowKeyError):
        return None
    lines = body.count(b"\n") + (not body.endswith(b"\n"))
    if table.num_rows != lines:
        return None
    return Columns(table, np.arange(2, table.num_rows + 2), [])


def _text(value: object) -> str | None:
    """A value as a text; NaN, as JSON of some tools has it, is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return value if isinstance(value, str) else str(value)
