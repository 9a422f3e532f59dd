"""Where items come from. The only part of `magister.items` that opens files, and only those it is handed."""

from __future__ import annotations

from pathlib import Path

from magister.config.items import Dataset
from magister.errors import UserError
from magister.items.sources._columns import Columns, read_columns
from magister.items.sources._files import LOG_SUFFIXES, read_file, read_log, read_rows
from magister.items.sources._generated import generate_rows
from magister.items.sources._logs import LOG_RESPONSES, LOG_STATUSES, Log, log_responses
from magister.items.sources._rows import BrokenRow, RawRows
from magister.wheels import check_file_hash

__all__ = [
    "LOG_RESPONSES",
    "LOG_STATUSES",
    "LOG_SUFFIXES",
    "BrokenRow",
    "Columns",
    "Log",
    "RawRows",
    "load_source",
    "log_responses",
    "read_columns",
    "read_log",
    "read_rows",
]


def load_source(name: str, dataset: Dataset, path: Path | None = None) -> RawRows:
    """Read or generate the raw rows of a data set.

    Args:
        name: name of the data set, for messages.
        dataset: its description.
        path: the file of a `wheel` or `file` source; of a `file` source the configured path by default.

    Returns:
        Its rows, readable and broken.

    Raises:
        UserError: the source cannot be read at all; the message names the data set.
    """
    try:
        if dataset.kind == "generated":
            return generate_rows(dataset)
        if path is None and dataset.kind == "file" and dataset.path is not None:
            path = Path(dataset.path)
        if path is None:
            raise UserError("the file has not been fetched; `fetch_dataset` does that")
        expected = dataset.wheel.member_sha256 if dataset.wheel is not None else dataset.sha256
        if expected is not None:
            check_file_hash(path, expected)
        return read_file(dataset, path)
    except UserError as error:
        raise UserError(f"data set {name!r}: {error}") from None
