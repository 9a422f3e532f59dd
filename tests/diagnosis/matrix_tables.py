"""Small tables that the tests of response matrices share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from magister.contracts.diagnosis_tables import DIAGNOSED_ITEMS, RESPONSE_STATUSES
from magister.contracts.schemas import ANSWERS, ITEMS
from magister.diagnosis.responses import Grid, count_unparsed

_MARKS = {"1": ("ok", 1), "0": ("ok", 0), "u": ("no_answer", 0), ".": ("missing", -1), "e": ("error", -1)}


def grid(rows: dict[str, str], items: Iterable[str] | None = None, unparsed: Any = "wrong") -> Grid:
    """Responses a model a line: 1, 0, u (unparsed), . (missing), e (error)."""
    width = len(next(iter(rows.values())))
    names = tuple(items) if items else tuple(f"i{number:03d}" for number in range(1, width + 1))
    status = np.array(
        [[RESPONSE_STATUSES.index(_MARKS[mark][0]) for mark in line] for line in rows.values()], dtype=np.int8
    )
    correct = np.array([[_MARKS[mark][1] for mark in line] for line in rows.values()], dtype=np.int8)
    return Grid(tuple(rows), names, count_unparsed(correct, status, unparsed), status)


def drawn(found: Grid) -> dict[str, str]:
    """The other way, models and items sorted; unknown responses by their status."""
    order = sorted(range(len(found.items)), key=lambda at: found.items[at])
    letters = {"missing": ".", "error": "e", "ok": "?"}
    lines = {}
    for row in sorted(range(len(found.models)), key=lambda at: found.models[at]):
        lines[found.models[row]] = "".join(
            str(found.correct[row, at])
            if found.correct[row, at] >= 0
            else letters.get(RESPONSE_STATUSES[found.status[row, at]], "u")
            for at in order
        )
    return lines


def answer(model: str, item: str, status: str = "ok", correct: bool | None = True) -> dict[str, Any]:
    """A row of answers."""
    row = {field.name: None for field in ANSWERS.schema}
    return row | {
        "model": model,
        "item_id": item,
        "request_id": f"{model}-{item}",
        "status": status,
        "rule": "r",
        "text": "",
        "correct": correct,
    }


def answers(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=ANSWERS.schema)


def diagnosed(types: dict[str, str | None]) -> pa.Table:
    rows = [{"item_id": item, "text": f"text of {item}", "item_type": kind} for item, kind in types.items()]
    return pa.Table.from_pylist(rows, schema=DIAGNOSED_ITEMS.schema)


def pipeline_items(*ids: str, dataset: str = "d") -> pa.Table:
    rows = [
        {
            "item_id": item,
            "dataset": dataset,
            "domain": "maths",
            "cluster_id": item,
            "question": f"What is {item}? ",
            "options": ["a", "b"],
            "origins": ["source", "source"],
            "key": "A",
            "gold": "a",
            "multi": False,
            "rewrite_status": "native",
            "needs_options": False,
            "options_in_question": False,
            "passage": "A passage.",
            "review": None,
        }
        for item in ids
    ]
    return pa.Table.from_pylist(rows, schema=ITEMS.schema)
