"""Cells and rows of a file that are no responses."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from magister.contracts.diagnosis_tables import RESPONSES_REJECTED
from magister.errors import UserError
from magister.items import BrokenRow, truncate_raw


class Rejected:
    """A list of what is rejected, of one or several files."""

    def __init__(self) -> None:
        self._rows: list[dict[str, object]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(
        self,
        source: str,
        row: int,
        reason: str,
        detail: str,
        *,
        column: str = "",
        raw: str = "",
        model: str | None = None,
        item_id: str | None = None,
    ) -> None:
        """Reject a row, or the cell of a row in a column."""
        self._rows.append(
            {"source": source, "row": row, "column": column, "reason": reason, "detail": detail}
            | {"raw": truncate_raw(raw), "model": model, "item_id": item_id}
        )

    def add_broken(self, source: str, rows: Iterable[BrokenRow]) -> None:
        """Reject rows that could not be read."""
        for row in rows:
            self.add(source, row.number, "unreadable", row.detail, raw=row.raw.rstrip("\r\n"))

    def table(self) -> pa.Table:
        """All of them: a table of the contract `responses_rejected`."""
        return pa.Table.from_pylist(self._rows, schema=RESPONSES_REJECTED.schema)


def refuse_rejected(rejected: pa.Table) -> None:
    """Where every row counts.

    Raises:
        UserError: something was rejected; names the first by file, row and column.
    """
    if not rejected.num_rows:
        return
    first = rejected.sort_by([("source", "ascending"), ("row", "ascending"), ("column", "ascending")])
    row = first.slice(0, 1).to_pylist()[0]
    where = f"{row['source']}: row {row['row']}" + (f", column {row['column']!r}" if row["column"] else "")
    more = f" ({rejected.num_rows} such places)" if rejected.num_rows > 1 else ""
    raise UserError(f"{where}: {row['detail']}{more}")
