"""Parquet files as commands open them: what is wrong with one is a message."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from magister.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa


def read_parquet(path: Path, absent: str = "not found", remedy: str = "") -> pa.Table:
    """Read a parquet file.

    Args:
        path: the file.
        absent: what to say where it is not there.
        remedy: a sentence on what to do about a damaged one.

    Raises:
        UserError: it is missing, or cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        raise UserError(f"{path}: {absent}")
    try:
        return pq.read_table(path)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise UserError(
            f"{path}: damaged, or no parquet file: {error}{'. ' if remedy else ''}{remedy}"
        ) from None
