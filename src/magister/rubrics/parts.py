"""Tables of many scenarios, a part for each."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


class ByScenario:
    """A table of many scenarios that gives out each one's rows.

    It is sorted once, so that taking the parts of hundreds of scenarios costs no search through all rows for each.
    """

    def __init__(self, table: pa.Table) -> None:
        """Sort the rows by scenario; those of one scenario stay in their order.

        Args:
            table: any table with a column `scenario`.
        """
        self._table = table.take(pc.sort_indices(table["scenario"])) if table.num_rows else table
        counted = pc.value_counts(self._table["scenario"].combine_chunks())
        self._place: dict[str, tuple[int, int]] = {}
        start = 0
        for entry in counted.to_pylist():
            self._place[entry["values"]] = (start, entry["counts"])
            start += entry["counts"]

    def __getitem__(self, scenario: str) -> pa.Table:
        """The rows of a scenario; none where it has none."""
        start, count = self._place.get(scenario, (0, 0))
        return self._table.slice(start, count)
