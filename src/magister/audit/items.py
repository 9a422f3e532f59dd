"""Items behind a number: their text, and the row of the raw data set that each came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from magister.audit.project import Project
from magister.display import visible

_RULES = ("reorder_items", "item_variant", "rewrite_items")
"""Rules that make a table of items, the last first."""


def items_path(project: Project, table: str) -> str | None:
    """The items that a table was made with."""
    for path in project.trail.back(table):
        if project.rule(path) in _RULES and path.endswith("items.parquet"):
            return path
    return None


def items_of(project: Project, table: str) -> pa.Table:
    """The items that a table was made with."""
    path = items_path(project, table)
    if path is None:
        raise ValueError(f"{table}: no items behind it")
    return project.table(path)


@dataclass(frozen=True)
class Items:
    """Facts of some items by id; an item that nothing is known of has none."""

    facts: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, project: Project, table: str, ids: Iterable[str]) -> Items:
        """Read items, and where in the raw data sets they stand.

        Args:
            project: finished.
            table: what was made with these items.
            ids: of the items.
        """
        wanted, path = sorted(set(ids)), items_path(project, table)
        if path is None or not wanted:
            return cls({})
        chosen = [("item_id", "in", wanted)]
        rows = project.table(path, ["item_id", "dataset", "question", "options", "key"], chosen).to_pylist()
        facts: dict[str, dict[str, Any]] = {row["item_id"]: dict(row) for row in rows}
        for dataset in sorted({row["dataset"] for row in rows}):
            for pool in project.trail.back(path):
                mine = (
                    project.rule(pool) == "pool_items" and project.wildcards(pool).get("dataset") == dataset
                )
                if not mine or "rejected" in pool:
                    continue
                raw = sorted(project.trail.artifacts[pool].inputs)
                for row in project.table(pool, ["item_id", "source_row"], chosen).to_pylist():
                    if row["item_id"] in facts:
                        facts[row["item_id"]] |= {
                            "raw_file": raw[0] if raw else None,
                            "raw_row": row["source_row"],
                        }
        return cls(facts)

    def fact(self, item_id: str) -> dict[str, Any]:
        """Question, options, key, and file and row of the raw data set."""
        known = self.facts.get(item_id, {})
        return {name: known.get(name) for name in ("question", "options", "key", "raw_file", "raw_row")}

    def lines(self, item_id: str) -> list[str]:
        """The same for people."""
        known = self.fact(item_id)
        if known["question"] is None:
            return []
        text = " ".join(visible(str(known["question"])).split())
        lines = [f"asked    {text if len(text) <= 160 else text[:159] + '…'}"]
        if known["options"]:
            options = " | ".join(
                f"{chr(65 + at)} {' '.join(visible(str(option)).split())}"
                for at, option in enumerate(known["options"])
            )
            lines.append(
                f"options  {options if len(options) <= 160 else options[:159] + '…'} (key {known['key']})"
            )
        if known["raw_row"] is not None:
            where = f"{known['raw_file']}, row" if known["raw_file"] else "generated, number"
            lines.append(f"from     {where} {known['raw_row']}")
        return lines
