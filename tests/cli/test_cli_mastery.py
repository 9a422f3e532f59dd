"""`magister board mastery`: the board's rows for programs, and what is missing is named."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from cli_helpers import Run

from magister.contracts.diagnosis_tables import MASTERY_BOARD


def board() -> Path:
    rows = [
        {
            "study": "tiny", "model": model, "attribute": "a01", "label": "sums", "p": p, "sd": 0.3, "mcse": 0.01,
            "n_items": 4.0, "state": "undetermined", "support": "undetermined", "basis": "responses",
        }
        for model, p in (("one", 0.5), ("two", 0.4))
    ]  # fmt: skip
    path = Path("results/mastery.parquet")
    path.parent.mkdir()
    pq.write_table(pa.Table.from_pylist(rows, schema=MASTERY_BOARD.schema), path)
    return path


def test_programs_get_every_row_with_the_verdict(run: Run) -> None:
    board()
    done = run("board", "mastery", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [(row["model"], row["p"], row["support"]) for row in rows] == [
        ("one", "0.5", "undetermined"),
        ("two", "0.4", "undetermined"),
    ]
    rows = json.loads(run("board", "mastery", "--format", "json").out)
    assert rows[0]["n_items"] == 4.0


def test_a_board_that_is_not_there_is_named(run: Run) -> None:
    done = run("board", "mastery")
    assert done.code == 2
    assert "results/mastery.parquet: not there yet" in done.err
    board()
    done = run("board", "mastery")
    assert done.code == 2
    assert "results/mastery_beside.json: not there yet" in done.err
    Path("results/mastery_beside.json").write_text("{", encoding="utf-8")
    assert "damaged" in run("board", "mastery").err
