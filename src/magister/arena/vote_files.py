"""Files of votes: .csv, .jsonl, .json and .parquet, with the rows that cannot be read set apart."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from magister.contracts.arena_tables import VOTES_REJECTED
from magister.errors import UserError


@dataclass(frozen=True)
class VoteFile:
    """What a file holds.

    Attributes:
        table: its readable rows.
        rows: number of each: a line of a text file (the header of a .csv is 1), else its place from 1.
        broken: table of the contract `votes_rejected`, reason `unreadable`.
    """

    table: pa.Table
    rows: NDArray[np.int64]
    broken: pa.Table


def read_votes(path: Path) -> VoteFile:
    """Read a file of votes.

    Args:
        path: a .csv, .jsonl, .json or .parquet file.

    Raises:
        UserError: the file is missing, of another kind, or cannot be read at all.
    """
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        try:
            table = pq.read_table(path)
        except FileNotFoundError:
            raise UserError(f"{path}: not found") from None
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise UserError(f"{path}: damaged, or no parquet file: {error}") from None
        return VoteFile(table, np.arange(1, table.num_rows + 1), VOTES_REJECTED.schema.empty_table())
    if suffix == ".csv":
        whole = _whole_csv(path)
        if whole is not None:
            return whole
    return _by_row(path)


def _whole_csv(path: Path) -> VoteFile | None:
    """A .csv file all of whose lines are rows, read at once; None where some are not."""
    try:
        data = path.read_bytes()
        # Quotation marks are read by the strict reader: a stray one swallows no rows there.
        if b'"' in data:
            return None
        lines = data.count(b"\n")
        del data
        # Texts stay texts: "01" is a label.
        names = pc.open_csv(path, parse_options=pc.ParseOptions(ignore_empty_lines=False)).schema.names
        table = pc.read_csv(
            path,
            parse_options=pc.ParseOptions(ignore_empty_lines=False),
            convert_options=pc.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except FileNotFoundError:
        raise UserError(f"{path}: not found") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        return None
    if not lines - 1 <= table.num_rows <= lines or names != list(
        dict.fromkeys(name.strip() for name in names)
    ):
        return None
    return VoteFile(table, np.arange(2, table.num_rows + 2), VOTES_REJECTED.schema.empty_table())


def _by_row(path: Path) -> VoteFile:
    # A heavy import, for the files that need it.
    from magister.items import read_rows

    pairs, broken = read_rows(path)
    names = list(dict.fromkeys(name for _, row in pairs for name in row))
    columns = [_column([row.get(name) for _, row in pairs]) for name in names]
    lost = [
        {
            "source": str(path),
            "row": row.number,
            "reason": "unreadable",
            "detail": row.detail,
            "raw": row.raw.rstrip("\r\n"),
        }
        for row in broken
    ]
    return VoteFile(
        pa.Table.from_arrays(columns, names=names),
        np.array([number for number, _ in pairs], dtype=np.int64),
        pa.Table.from_pylist(lost, schema=VOTES_REJECTED.schema),
    )


def _column(values: list[object]) -> pa.Array:
    """Values as texts: a label is what the file says, whatever its type."""
    return pa.array([None if value is None else str(value) for value in values], pa.string())
