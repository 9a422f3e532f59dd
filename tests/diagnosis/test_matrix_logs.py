"""Logs of other tools, of several models, as a response matrix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from matrix_tables import drawn

from magister.contracts.diagnosis_tables import RESPONSES_REJECTED
from magister.diagnosis.log_files import LogForm, read_logs
from magister.errors import UserError
from magister.provenance._artifact import conform


def sample(number: int, score: Any, **changes: Any) -> dict[str, Any]:
    """A line of a generative task of lm-evaluation-harness."""
    record = {
        "doc_id": number,
        "doc": {"question": f"What is {number} + 1?", "answer": str(number + 1)},
        "target": str(number + 1),
        "resps": [["four"]],
        "filtered_resps": ["4"],
        "filter": "strict",
        "metrics": ["exact_match"],
        "exact_match": score,
    }
    return record | changes


def lm_eval(folder: Path, model: str, records: list[Any], task: str = "toy") -> Path:
    path = folder / model / f"samples_{task}_2026-01-02T03-04-05.678901.jsonl"
    path.parent.mkdir(exist_ok=True)
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def inspect(folder: Path, model: str, samples: list[dict[str, Any]]) -> Path:
    path = folder / f"{model}.json"
    spec = {"task": "animals", "model": model, "dataset": {"name": "animals"}, "config": {"epochs": 1}}
    path.write_text(json.dumps({"version": 2, "status": "success", "eval": spec, "samples": samples}))
    return path


def said(number: int, value: Any, epoch: int = 1, stop: str = "stop") -> dict[str, Any]:
    message = {"message": {"role": "assistant", "content": "ANSWER: B"}, "stop_reason": stop}
    return {
        "id": number,
        "epoch": epoch,
        "input": f"Animal {number}?",
        "target": "B",
        "output": {"choices": [message]},
        "scores": {"choice": {"value": value}},
    }


def test_logs_of_several_models_become_one_matrix_with_their_items(tmp_path: Path) -> None:
    paths = [
        lm_eval(tmp_path, "b", [sample(1, 1.0), sample(2, 0.0), sample(3, 1.0)]),
        lm_eval(tmp_path, "a", [sample(3, 0.0), sample(1, 1.0)]),
    ]
    found = read_logs(paths, LogForm("lm_eval"))
    found.check()
    order = sorted(range(3), key=lambda at: found.grid.items[at])
    by_item = [found.grid.items.index(found.grid.items[at]) for at in order]
    assert set(drawn(found.grid)) == {"a", "b"}
    assert sorted(drawn(found.grid)["b"]) == ["0", "1", "1"]
    assert sorted(drawn(found.grid)["a"]) == [".", "0", "1"]
    assert len(by_item) == 3
    texts = dict(zip(found.items["item_id"].to_pylist(), found.items["text"].to_pylist(), strict=True))
    assert set(texts) == set(found.grid.items)
    assert "What is 1 + 1?\n2" in texts.values()
    assert set(found.items["item_type"].to_pylist()) == {"toy"}


def test_a_failed_or_unscored_sample_is_no_response_and_a_cut_one_is_unparsed(tmp_path: Path) -> None:
    records = [said(1, "C"), said(2, "I"), said(3, None), said(4, 0.5), said(5, "I", stop="max_tokens")]
    records.append(said(6, "C") | {"error": {"message": "timeout"}})
    path = inspect(tmp_path, "m", records)
    found = read_logs([path], LogForm("inspect"))
    marks = dict(zip(found.grid.items, drawn(found.grid)["m"], strict=False))
    assert sorted(marks.values()) == sorted("10..0e")
    table = conform(found.rejected, RESPONSES_REJECTED).to_pylist()
    assert sorted(row["reason"] for row in table) == ["not_binary", "unscored"]
    with pytest.raises(UserError, match=r"m\.json: row 3, column 'choice': no value of choice"):
        found.check()
    assert sorted(drawn(read_logs([path], LogForm("inspect", unparsed="missing")).grid)["m"]) == sorted(
        "10..ue"
    )


def test_broken_records_are_listed_and_the_others_are_read(tmp_path: Path) -> None:
    path = lm_eval(tmp_path, "a", [sample(1, 1.0), "{not json", sample(2, 0.0)])
    found = read_logs([path], LogForm("lm_eval"))
    assert [(row["row"], row["reason"]) for row in found.rejected.to_pylist()] == [(2, "unreadable")]
    assert sorted(drawn(found.grid)["a"]) == ["0", "1"]


def test_one_repetition_and_one_measure_count(tmp_path: Path) -> None:
    path = inspect(tmp_path, "m", [said(1, "C"), said(1, "I", 2), said(2, "C", 2)])
    found = read_logs([path], LogForm("inspect"))
    assert drawn(found.grid) == {"m": "1"}
    assert found.notes == ("2 answers of other repetitions than 1 are not used",)
    second = read_logs([path], LogForm("inspect", repetition=2))
    assert sorted(drawn(second.grid)["m"]) == ["0", "1"]
    records = [sample(1, 1.0), sample(1, 0.0, filter="flexible")]
    path = lm_eval(tmp_path, "a", records)
    with pytest.raises(
        UserError, match=r"several measures; name one of 'exact_match,flexible', 'exact_match,strict'"
    ):
        read_logs([path], LogForm("lm_eval"))
    assert drawn(read_logs([path], LogForm("lm_eval", measure="exact_match,flexible")).grid) == {"a": "0"}
    with pytest.raises(UserError, match="no measure 'acc'"):
        read_logs([path], LogForm("lm_eval", measure="acc"))


def test_the_same_log_twice_is_listed_and_models_can_be_named(tmp_path: Path) -> None:
    one, two = (lm_eval(tmp_path, name, [sample(1, 1.0)]) for name in ("a", "b"))
    found = read_logs([one, two], LogForm("lm_eval", models={str(one): "z", str(two): "z"}))
    assert drawn(found.grid) == {"z": "1"}
    assert found.rejected["reason"].to_pylist() == ["duplicate"]
    assert found.rejected["source"].to_pylist() == [str(two)]


def test_items_with_other_texts_in_other_logs_are_said(tmp_path: Path) -> None:
    other = sample(1, 1.0) | {"doc": {"question": "Another one?", "answer": "2"}}
    paths = [lm_eval(tmp_path, "b", [sample(1, 1.0)]), lm_eval(tmp_path, "a", [other])]
    found = read_logs(paths, LogForm("lm_eval"))
    assert found.items["text"].to_pylist() == ["Another one?\n2"]
    assert found.notes == (
        "1 items have different texts in different logs; that of the first model by name is used",
    )


def test_no_logs_or_an_unknown_form_is_an_error() -> None:
    with pytest.raises(UserError, match="no logs"):
        read_logs([], LogForm("lm_eval"))
    with pytest.raises(UserError, match="log format 'helm' is unknown"):
        read_logs([Path("x")], LogForm("helm"))
