"""What goes wrong in published question sets: none of it becomes a gold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from magister.config.items import Dataset
from magister.items import load_source, normalise_rows


def import_file(path: Path, form: str) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Pool rows, and rejected rows by reason."""
    dataset = Dataset.model_validate({"kind": "file", "path": "given later", "format": form})
    pool, rejected = normalise_rows("toy", dataset, load_source("toy", dataset, path))
    reasons = rejected["reason"].to_pylist()
    return pool.to_pylist(), {reason: reasons.count(reason) for reason in reasons}


def teach2eval(tmp_path: Path, rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, int]]:
    path = tmp_path / "set.json"
    path.write_text(json.dumps(rows))
    return import_file(path, "teach2eval")


def mmlu(tmp_path: Path, lines: list[str]) -> tuple[list[dict[str, Any]], dict[str, int]]:
    path = tmp_path / "set.csv"
    path.write_text("\n".join(lines) + "\n")
    return import_file(path, "mmlu")


def row(number: int, label: Any, **changes: Any) -> dict[str, Any]:
    options = [f"A. {number}", f"B. {number + 1}", f"C. {number + 2}"]
    return {"question": f"Count to {number}?", "label": label, "answer": None, "options": options} | changes


@pytest.mark.parametrize("label", [None, [], "", [""], "-1", ["-1"], -1, ["D"], "?", {"a": 1}, [None]])
def test_a_hidden_or_impossible_label_is_no_gold(tmp_path, label):
    pool, reasons = teach2eval(tmp_path, [row(1, label), row(5, ["B"]), row(9, ["C"])])
    assert len(pool) == 2
    assert set(reasons) <= {"missing_answer", "key_outside_options", "malformed_row"}


@pytest.mark.parametrize("label", ["A", ["A"], 0])
def test_one_label_for_a_whole_set_is_a_hidden_label(tmp_path, label):
    pool, reasons = teach2eval(tmp_path, [row(number, label) for number in range(1, 60, 3)])
    assert (pool, reasons) == ([], {"one_key_dataset": 20})


def test_a_label_that_contradicts_the_answer_is_no_gold(tmp_path):
    rows = [row(1, ["A"], answer="2"), row(5, ["B"], answer=6.0), row(9, ["C"], answer="because of it")]
    pool, reasons = teach2eval(tmp_path, rows)
    assert sorted(one["gold"] for one in pool) == ["11", "6"]
    assert reasons == {"contradicting_answer": 1}


def test_options_that_say_the_same_are_rejected(tmp_path):
    same = row(1, ["A"], options=["A. Yes, always", "B. yes,  always.", "C. no"])
    pool, reasons = teach2eval(
        tmp_path, [same, row(5, ["B"], options=["A. 1/2", "B. 0.5", "C. 7"]), row(9, ["C"])]
    )
    assert (len(pool), reasons) == (1, {"duplicate_options": 2})


def test_repeated_questions_are_counted_and_conflicting_ones_dropped(tmp_path):
    rows = [row(1, ["A"]), row(1, ["A"]), row(5, ["A"]), row(5, ["B"]), row(9, ["C"])]
    pool, reasons = teach2eval(tmp_path, rows)
    assert len(pool) == 2
    assert reasons == {"repeated_question": 1, "conflicting_answers": 2}


def test_mmlu_rows_with_hidden_labels_a_header_or_doubled_options_are_rejected(tmp_path):
    lines = [
        "question,A,B,C,D,answer",
        "One?,1,2,3,4,B",
        "Two?,1,2,2,4,A",
        "Three?,1,2,3,4,",
        "Four?,1,2,3,4,E",
    ]
    pool, reasons = mmlu(tmp_path, lines)
    assert [one["question"] for one in pool] == ["One?"]
    assert reasons == {"key_outside_options": 2, "duplicate_options": 1, "missing_answer": 1}


def test_an_mmlu_set_with_one_key_is_rejected(tmp_path):
    pool, reasons = mmlu(tmp_path, [f"Number {n}?,{n},{n + 1},{n + 2},{n + 3},A" for n in range(12)])
    assert (pool, reasons) == ([], {"one_key_dataset": 12})
