"""Raw rows: what a source holds, before any of it is judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from magister.config.items import ColumnMap


@dataclass(frozen=True)
class BrokenRow:
    """A row that could not be read.

    Attributes:
        number: its line (text files) or its place from 1.
        detail: what is wrong with it.
        raw: its text, undecodable bytes replaced.
    """

    number: int
    detail: str
    raw: str


@dataclass(frozen=True)
class RawRows:
    """All rows of a source.

    Attributes:
        source: name for messages.
        columns: the column map, resolved: a column named here exists.
        rows: the readable rows.
        numbers: line of each readable row (text files), or its place from 1.
        broken: the unreadable rows.
        folded: by reason, records of a log that are no rows of their own.
    """

    source: str
    columns: ColumnMap
    rows: list[dict[str, Any]]
    numbers: list[int]
    broken: list[BrokenRow]
    folded: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows) + len(self.broken)
