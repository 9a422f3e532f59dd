"""`magister arena`: from a sheet to a file for people and back to votes."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_helpers import Run

from magister.arena.sheets import Sheets, annotation_sheet
from magister.contracts.arena_tables import ARENA_RESPONSES, INSTRUCTIONS, SELECTIONS


def made() -> Sheets:
    """Two models on three instructions."""
    ids = ["i1", "i2", "i3"]
    instructions = [
        {
            "instruction_id": name,
            "scenario": "s",
            "text": f"Say {name}",
            "root_id": name,
            "round": 0,
            "operation": "seed",
        }
        for name in ids
    ]
    replies = [
        {
            "model": model,
            "instruction_id": name,
            "request_id": model + name,
            "status": "ok",
            "text": f'={model},\n"{name}"',
        }
        for model in ("m1", "m2")
        for name in ids
    ]
    chosen = [
        {
            "scenario": "s",
            "model_a": "m1",
            "model_b": "m2",
            "arm": "discrepant",
            "rank": rank,
            "instruction_id": name,
        }
        | {"inclusion_probability": 1.0}
        for rank, name in enumerate(ids, start=1)
    ]
    tables = [
        pa.Table.from_pylist(rows, schema=contract.schema)
        for rows, contract in ((chosen, SELECTIONS), (instructions, INSTRUCTIONS), (replies, ARENA_RESPONSES))
    ]
    return annotation_sheet(*tables, seed=0)


@pytest.fixture
def sheets(run: Run) -> Sheets:
    tables = made()
    pq.write_table(tables.sheet, "sheet.parquet")
    pq.write_table(tables.key, "key.parquet")
    return tables


def fill(path: str, *labels: str) -> None:
    """Fill in what a person would, leaving the other cells as exported."""
    with Path(path).open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row, label in zip(rows, labels, strict=False):
        row["winner"] = label
    with Path(path).open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_a_sheet_goes_out_and_comes_back_as_votes(run: Run, sheets: Sheets) -> None:
    assert run("arena", "export", "sheet.parquet", "--out", "ann.csv").code == 0
    fill("ann.csv", "1", "tie")
    ran = run("arena", "import", "ann.csv", "--key", "key.parquet", "--out", "votes.parquet")
    assert ran.code == 0, ran.err
    assert "ann: 2 of 3 comparisons judged" in ran.out
    assert "not_judged: 1 row(s)" in ran.out
    votes = pq.read_table("votes.parquet").to_pylist()
    assert sorted(vote["winner"] for vote in votes) in (["a", "tie"], ["b", "tie"])


def test_jsonl_and_csv_say_the_same(run: Run, sheets: Sheets) -> None:
    for name in ("ann.csv", "ann.jsonl"):
        run("arena", "export", "sheet.parquet", "--out", name)
    fill("ann.csv", "2", "2", "2")
    path = Path("ann.jsonl")
    path.write_text(path.read_text().replace('"winner": ""', '"winner": 2'))
    for name in ("csv", "jsonl"):
        assert run("arena", "import", f"ann.{name}", "--key", "key.parquet", "--out", f"{name}.csv").code == 0
    assert Path("csv.csv").read_bytes() == Path("jsonl.csv").read_bytes()


def test_a_wrong_label_is_named_and_nothing_is_written(run: Run, sheets: Sheets) -> None:
    run("arena", "export", "sheet.parquet", "--out", "ann.csv")
    fill("ann.csv", "1", "left")
    ran = run("arena", "import", "ann.csv", "--key", "key.parquet", "--out", "votes.parquet")
    assert ran.code == 1
    assert "label 'left' is unknown; expected 1, 2, tie or both_bad" in ran.err
    assert "ann.csv, line" in ran.err
    assert not Path("votes.parquet").exists()


def test_a_filled_sheet_is_never_overwritten(run: Run, sheets: Sheets) -> None:
    Path("ann.csv").write_text("mine")
    ran = run("arena", "export", "sheet.parquet", "--out", "ann.csv")
    assert (ran.code, Path("ann.csv").read_text()) == (2, "mine")
    assert "is there already" in ran.err
    ran = run("arena", "import", "ann.csv", "--key", "key.parquet", "--out", "ann.csv")
    assert (ran.code, Path("ann.csv").read_text()) == (2, "mine")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("export", "key.parquet", "--out", "x.csv"), "no column instruction"),
        (("export", "gone.parquet", "--out", "x.csv"), "not found"),
        (("export", "bad.csv", "--out", "x.csv"), "damaged, or no parquet file"),
        (("export", "sheet.parquet", "--out", "x.txt"), "ends in .csv or .jsonl"),
        (("import", "bad.csv", "--key", "key.parquet", "--out", "x.txt"), "ends in .parquet or .csv"),
        (("import", "bad.csv", "--key", "sheet.parquet", "--out", "x.csv"), "no column root_id"),
        (("import", "bad.csv", "--key", "key.parquet", "--out", "x.csv"), "no column comparison_id, winner"),
        (("import", "x.xlsx", "--key", "key.parquet", "--out", "x.csv"), "expected a .csv or .jsonl file"),
        (("import", "gone.csv", "--key", "key.parquet", "--out", "x.csv"), "not found"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_message(run: Run, sheets: Sheets, arguments: tuple[str, ...], words: str) -> None:
    Path("bad.csv").write_text("comparison_id;winner\nc1;1\n")
    ran = run("arena", *arguments)
    assert ran.code == 2
    assert words in ran.err
