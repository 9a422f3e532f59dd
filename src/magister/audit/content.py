"""What a file says, apart from where it comes from: its bytes without the lineage in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from magister.errors import UserError
from magister.provenance import SIDECAR_SUFFIX, file_md5


class _Digest:
    """What is written to it, as md5."""

    closed = False

    def __init__(self) -> None:
        self.md5 = hashlib.md5(usedforsecurity=False)

    def write(self, data: bytes) -> int:
        self.md5.update(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Nothing is open."""


def read_table(path: Path) -> pa.Table:
    """The rows of a parquet file, whatever its name ends in.

    Raises:
        UserError: it is missing or damaged.
    """
    try:
        with pq.ParquetFile(path) as file:
            return file.read()
    except (pa.ArrowException, OSError) as error:
        raise UserError(
            f"{path}: cannot be read as a table: {error}. Make it anew, or fetch it again."
        ) from None


def table_md5(table: pa.Table) -> str:
    """md5 of columns, types and rows, whatever stands in the file beside them."""
    bare = table.replace_schema_metadata(None).combine_chunks()
    digest = _Digest()
    with pa.ipc.new_stream(pa.PythonFile(digest, mode="w"), bare.schema) as stream:
        stream.write_table(bare)
    return digest.md5.hexdigest()


def data_md5(path: Path, name: str | None = None) -> str | None:
    """md5 of what a file says.

    Args:
        path: the file.
        name: its name as an artifact, where the file itself is called otherwise.

    Returns:
        Of a table, md5 of its rows; of any other file, of its bytes; None for the lineage beside a file, which says
        nothing of its own.

    Raises:
        UserError: a table that cannot be read.
    """
    name = name or path.name
    if name.endswith(SIDECAR_SUFFIX):
        return None
    return table_md5(read_table(path)) if name.endswith(".parquet") else file_md5(path)


class Apart(NamedTuple):
    """How far two tables are from one another.

    Attributes:
        same_form: whether columns, types, number of rows and everything but fractions are equal.
        relative: largest difference of two fractions, relative to the larger one; 0 where all are equal.
        column: where that is.
    """

    same_form: bool
    relative: float
    column: str | None


def apart(one: pa.Table, two: pa.Table) -> Apart:
    """Compare two tables row by row.

    Args:
        one: a table.
        two: another one.
    """
    if one.schema.remove_metadata() != two.schema.remove_metadata() or one.num_rows != two.num_rows:
        return Apart(False, float("nan"), None)
    worst, where = 0.0, None
    for name in one.column_names:
        first, second = one[name].combine_chunks(), two[name].combine_chunks()
        if first.equals(second):
            continue
        if not pa.types.is_floating(first.type) or not first.is_null().equals(second.is_null()):
            return Apart(False, float("nan"), name)
        a, b = first.drop_null().to_numpy(), second.drop_null().to_numpy()
        scale = np.maximum(np.abs(a), np.abs(b))
        gap = np.abs(a - b) / np.where(scale > 0, scale, 1.0)
        if not np.isfinite(gap).all():
            return Apart(False, float("nan"), name)
        if gap.size and float(gap.max()) > worst:
            worst, where = float(gap.max()), name
    return Apart(True, worst, where)


def named(paths: Iterable[str], most: int = 5) -> str:
    """The first of some paths, for a message."""
    ordered = sorted(paths)
    more = len(ordered) - most
    return ", ".join(ordered[:most]) + (f" and {more} more" if more > 0 else "")
