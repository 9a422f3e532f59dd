"""The report on a user's own file."""

from __future__ import annotations

import json

import pytest
from items_helpers import write_jsonl

from magister.config.items import Dataset
from magister.errors import UserError
from magister.items import check_items


def test_a_report_counts_rows_reasons_flags_and_keys(tmp_path):
    rows = [{"question": f"q{i}?", "options": ["x", "y", "z"], "answer": "ABC"[i % 3]} for i in range(9)]
    rows += [{"question": f"bad {i}?", "options": ["x", "y"], "answer": "D"} for i in range(5)]
    rows += [
        {"question": "Which of these?", "options": ["x", "y"], "answer": "A"},
        {"question": "open?", "answer": "4"},
    ]
    path = write_jsonl(tmp_path / "mine.jsonl", rows)
    report = check_items(path, Dataset(kind="file", path="mine.jsonl"))
    assert report.dataset == "mine"
    assert (report.n_rows, report.n_accepted, report.n_drawn, report.n_choice) == (16, 11, 11, 10)
    assert report.rejected == {"key_outside_options": 5}
    assert report.examples["key_outside_options"][0] == "row 10: answer 'D' names none of 2 options"
    assert len(report.examples["key_outside_options"]) == 3
    assert report.flags == {"needs_options": 1}
    assert report.keys == {"A": 4, "B": 3, "C": 3}
    assert report.options == {2: 1, 3: 9}
    assert json.loads(json.dumps(report.as_dict()))["n_rows"] == 16


def test_a_draw_is_told_from_a_rejection(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"question": f"q{i}?", "answer": str(i)} for i in range(9)])
    report = check_items(path, Dataset(kind="file", path="a.jsonl", n=4), "named")
    assert (report.dataset, report.n_accepted, report.n_drawn, report.rejected) == ("named", 9, 4, {})


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(UserError, match="not found"):
        check_items(tmp_path / "none.jsonl", Dataset(kind="file", path="none.jsonl"))


def test_columns_that_nothing_is_read_from_are_listed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("note,question,a,b,answer,domain\nx,q?,1,2,B,d\n")
    open_ones = check_items(path, Dataset(kind="file", path="a.csv"))
    assert (open_ones.n_drawn, open_ones.n_choice, open_ones.unused) == (1, 0, ["note", "a", "b"])
    mapped = check_items(path, Dataset(kind="file", path="a.csv", columns={"options": ["a", "b"]}))
    assert (mapped.n_choice, mapped.unused) == (1, ["note"])
