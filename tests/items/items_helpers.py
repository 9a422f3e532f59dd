"""Small sources and tables for the tests of `magister.items`. All item texts are written for these tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from magister.config.items import ColumnMap, Dataset
from magister.contracts.schemas import ANSWERS, DISTRACTORS, POOL
from magister.items import normalise_rows
from magister.items.sources import RawRows


def raw_rows(rows: list[dict[str, Any]], **columns: Any) -> RawRows:
    """Raw rows as a source would hand them over; columns that exist are mapped."""
    present = {name for row in rows for name in row}
    mapped = {name: name for name in ("options", "passage", "id", "domain", "cluster") if name in present}
    return RawRows(
        "test", ColumnMap.model_validate(mapped | columns), rows, list(range(1, len(rows) + 1)), []
    )


def gate(rows: list[dict[str, Any]], *, columns: dict[str, Any] | None = None, **dataset: Any):
    """Pool rows and rejected rows of some raw rows."""
    config = Dataset.model_validate({"kind": "file", "path": "unused.jsonl"} | dataset)
    pool, rejected = normalise_rows("toy", config, raw_rows(rows, **(columns or {})))
    return pool, rejected


def write_jsonl(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def open_pool(golds: dict[str, str], dataset: str = "toy") -> pa.Table:
    """A pool of open questions with given golds by item."""
    rows = [
        {
            "item_id": item_id,
            "dataset": dataset,
            "domain": "general",
            "cluster_id": item_id,
            "question": f"Question of {item_id}?",
            "gold": gold,
            "source_row": place,
            "flags": [],
            "passage": None,
            "options": None,
            "key": None,
        }
        for place, (item_id, gold) in enumerate(golds.items(), start=1)
    ]
    return pa.Table.from_pylist(rows, schema=POOL.schema)


def choice_pool(items: list[tuple[list[str], str]], dataset: str = "toy") -> pa.Table:
    """A pool of choice items: (options, key)."""
    rows = [
        {
            "item_id": f"{dataset}-{place:04d}",
            "dataset": dataset,
            "domain": "general",
            "cluster_id": f"{dataset}-{place:04d}",
            "question": f"Question {place}?",
            "gold": "; ".join(options["ABCDEFGHIJ".index(letter)] for letter in key),
            "source_row": place,
            "flags": [],
            "passage": None,
            "options": options,
            "key": key,
        }
        for place, (options, key) in enumerate(items)
    ]
    return pa.Table.from_pylist(rows, schema=POOL.schema)


def free_answers(*answers: tuple[str, str, str | None]) -> list[dict[str, Any]]:
    """Free-form answers: (item_id, model, value)."""
    return [
        {"item_id": item_id, "model": model, "request_id": f"r{place}", "status": "ok", "answer": value}
        for place, (item_id, model, value) in enumerate(answers)
    ]


def no_distractors() -> pa.Table:
    return DISTRACTORS.schema.empty_table()


def ladder_table(patterns: dict[str, str], ladder: list[str]) -> pa.Table:
    """Ladder answers from patterns such as `0?1`; a blank leaves the row out."""
    rows = []
    for item_id, pattern in patterns.items():
        for model, mark in zip(ladder, pattern, strict=True):
            if mark == " ":
                continue
            row: dict[str, Any] = dict.fromkeys(ANSWERS.schema.names)
            row |= {
                "model": model,
                "item_id": item_id,
                "request_id": f"{model}{item_id}",
                "rule": "",
                "text": "",
            }
            row |= {
                "status": "error" if mark == "?" else "ok",
                "correct": None if mark == "?" else mark == "1",
            }
            rows.append(row)
    return pa.Table.from_pylist(rows, schema=ANSWERS.schema)
