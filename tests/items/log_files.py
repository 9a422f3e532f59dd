"""Logs of lm-evaluation-harness and Inspect AI. All contents are made up here."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from items_helpers import write_jsonl

from magister.config.items import Dataset
from magister.items import load_source, log_responses, normalise_rows, read_log
from magister.items.sources._logs import LOG_RESPONSES


def config(form: str, **fields: Any) -> Dataset:
    return Dataset.model_validate({"kind": "file", "path": "given later", "format": form} | fields)


def import_log(path: Path, form: str, **fields: Any):
    dataset = config(form, **fields)
    pool, rejected = normalise_rows("toy", dataset, load_source("toy", dataset, path))
    return pool.to_pylist(), rejected.to_pylist()


def answers(path: Path, form: str, model: str | None = None) -> list[dict[str, Any]]:
    table = log_responses(read_log(path, form), "toy", model)
    assert table.schema.equals(LOG_RESPONSES.schema)
    return table.to_pylist()


def likelihoods(number: int, chances: list[float], right: int, **changes: Any) -> dict[str, Any]:
    """A line of a multiple-choice task, as the harness writes it."""
    texts = ["cat", "dog", "cow"]
    record = {
        "doc_id": number,
        "doc": {"question": f"Which animal is number {number}?", "choices": texts, "answer": right},
        "target": str(right),
        "arguments": {f"gen_args_{i}": {"arg_0": "Q", "arg_1": f" {text}"} for i, text in enumerate(texts)},
        "resps": [[[str(chance), "False"]] for chance in chances],
        "filtered_resps": [[str(chance), "False"] for chance in chances],
        "filter": "none",
        "metrics": ["acc"],
        "acc": float(chances.index(max(chances)) == right),
    }
    return record | changes


def generated(number: int, reply: Any, found: str, score: Any, filtered_by: str = "strict") -> dict[str, Any]:
    """A line of a generative task."""
    return {
        "doc_id": number,
        "doc": {"question": f"What is {number} + 1?", "answer": f"Count on.\n#### {number + 1}"},
        "target": f"Count on.\n#### {number + 1}",
        "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": {"until": ["Q"]}}},
        "resps": [[reply]],
        "filtered_resps": [found],
        "filter": filtered_by,
        "metrics": ["exact_match"],
        "exact_match": score,
    }


def samples_file(tmp_path: Path, rows: list[Any], task: str = "toy_task") -> Path:
    folder = tmp_path / "org__model-7b"
    folder.mkdir(exist_ok=True)
    return write_jsonl(folder / f"samples_{task}_2026-01-02T03-04-05.678901.jsonl", rows)


def sample(name: Any, value: Any = "C", **changes: Any) -> dict[str, Any]:
    """A sample of a log of Inspect AI."""
    record = {
        "id": name,
        "epoch": 1,
        "input": f"Which animal is number {name}?",
        "choices": ["cat", "dog", "cow"],
        "target": "B",
        "output": {
            "model": "m",
            "choices": [{"message": {"role": "assistant", "content": "ANSWER: B"}, "stop_reason": "stop"}],
        },
        "scores": {"choice": {"value": value, "answer": "B"}},
        "metadata": {"subject": "animals"},
    }
    return record | changes


def log(samples: list[Any], **changes: Any) -> dict[str, Any]:
    """A log of Inspect AI."""
    spec = {
        "task": "animals",
        "model": "maker/model-1",
        "dataset": {"name": "animals"},
        "config": {"epochs": 1},
    }
    return {"version": 2, "status": "success", "eval": spec, "samples": samples} | changes


def json_file(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def eval_file(tmp_path: Path, content: dict[str, Any], header: str = "header.json") -> Path:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            header, json.dumps({key: value for key, value in content.items() if key != "samples"})
        )
        archive.writestr("summaries.json", "[]")
        for record in content["samples"]:
            archive.writestr(f"samples/{record['id']}_epoch_{record['epoch']}.json", json.dumps(record))
    return path


def with_content(content: Any, stop: str = "stop") -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": content}, "stop_reason": stop}]}
