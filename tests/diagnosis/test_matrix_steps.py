"""The scripts of a study's responses, from files to files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from matrix_tables import answer, answers, diagnosed, pipeline_items

from magister.config.models import ModelConfig
from magister.contracts import schemas
from magister.contracts.diagnosis_tables import DIAGNOSIS_CONTRACTS
from magister.llm import Speaker
from magister.prompts import load_prompt
from magister.teaching.answers import answer_requests
from scripts.diagnosis import (
    diagnosed_items,
    import_matrix,
    response_matrix,
    screen_responses,
    simulate_matrix,
)
from scripts.step import Step, run_step

ROOT = Path(__file__).resolve().parents[2]
FORM = {"layout": "auto", "columns": {}, "ignore": [], "empty": "unparsed", "unparsed": "wrong"}
LIMITS = {
    "min_models": 1,
    "min_items": 1,
    "format_share": 0.05,
    "format_unparsed": 0.5,
    "duplicate_items": 100,
    "duplicate_agreement": 1.0,
    "drop": ["duplicate"],
}
Outputs = dict[str, list[dict[str, Any]]]


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outputs]:
    """Run a script in an empty folder; what it has written, by name."""
    for contract in DIAGNOSIS_CONTRACTS:
        monkeypatch.setitem(schemas.CONTRACTS, contract.name, contract)

    def call(
        run: Callable[[Step], None], given: dict[str, list[Path]], writes: list[str], **params: Any
    ) -> Outputs:
        arguments = ["--params", json.dumps(params), "--wildcards", '{"study": "s"}', "--code", __file__]
        for name, paths in given.items():
            arguments += ["--in", name, *map(str, paths)]
        for name in writes:
            arguments += ["--out", name, str(tmp_path / f"out/{name}.parquet")]
        run_step("scripts.diagnosis.any", run, arguments)
        return {name: pq.read_table(tmp_path / f"out/{name}.parquet").to_pylist() for name in writes}

    return call


def saved(path: Path, table: pa.Table) -> Path:
    pq.write_table(table, path)
    return path


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_answers_of_all_models_become_the_matrix_of_the_studys_datasets(step, tmp_path: Path) -> None:
    table = pa.concat_tables([pipeline_items("i1", "i2"), pipeline_items("other", dataset="else")])
    given = {
        "items_table": [saved(tmp_path / "items.parquet", table)],
        "answers": [
            saved(
                tmp_path / f"{name}.parquet",
                answers(answer(name, "i1"), answer(name, "i2", "refusal", False)),
            )
            for name in ("b", "a")
        ],
    }
    found = step(response_matrix.run, given, ["responses"], datasets=["d"], unparsed="missing")["responses"]
    assert [(row["model"], row["item_id"], row["correct"]) for row in found] == [
        ("a", "i1", True),
        ("a", "i2", None),
        ("b", "i1", True),
        ("b", "i2", None),
    ]


def test_a_file_becomes_a_matrix_its_rejected_cells_and_its_items(step, tmp_path: Path) -> None:
    file = written(tmp_path / "r.csv", "item_id,text,a,b\ni2,Two?,1,0\ni1,One?,0,x\ni3,Three?,1,1\n")
    found = step(import_matrix.run, {"files": [file]}, ["responses", "rejected"], kind="file", form=FORM)
    assert len(found["responses"]) == 6
    assert [(row["row"], row["column"], row["raw"]) for row in found["rejected"]] == [(3, "b", "x")]
    responses = [tmp_path / "out/responses.parquet"]
    items = step(
        diagnosed_items.run, {"files": [file], "responses": responses}, ["texts"], kind="file", form=FORM
    )
    assert [row["text"] for row in items["texts"]] == ["One?", "Two?", "Three?"]


def test_items_come_from_an_items_file_that_has_them_all(step, tmp_path: Path, capsys) -> None:
    matrix = written(tmp_path / "r.csv", "item_id,a\ni1,1\ni2,0\n")
    step(import_matrix.run, {"files": [matrix]}, ["responses", "rejected"], kind="file", form=FORM)
    given = {
        "items_file": [written(tmp_path / "items.csv", "id,text\ni1,One?\ni9,Nine?\ni2,Two?\n")],
        "responses": [tmp_path / "out/responses.parquet"],
    }
    found = step(diagnosed_items.run, given, ["texts"], kind="file", columns={"item_id": "id"})
    assert [row["item_id"] for row in found["texts"]] == ["i1", "i2"]
    given["items_file"] = [written(tmp_path / "few.csv", "item_id,text\ni1,One?\n")]
    with pytest.raises(SystemExit) as stop:
        step(diagnosed_items.run, given, ["texts"], kind="file", columns={})
    assert stop.value.code == 2
    assert "few.csv: 1 of 2 items of the responses are not there, first 'i2'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        step(diagnosed_items.run, {"files": [matrix]}, ["texts"], kind="file", form=FORM)
    assert "no texts of items; give an items file" in capsys.readouterr().err


def test_items_of_the_pipeline_have_their_data_set_as_type(step, tmp_path: Path) -> None:
    given = {"items_table": [saved(tmp_path / "items.parquet", pipeline_items("i1"))]}
    found = step(diagnosed_items.run, given, ["texts"], datasets=["d"], item_type="dataset")
    assert found["texts"] == [{"item_id": "i1", "text": "What is i1?\na", "item_type": "d"}]


def test_logs_become_a_matrix_and_its_items(step, tmp_path: Path) -> None:
    paths = []
    for model in ("a", "b"):
        line = {
            "doc_id": 1,
            "doc": {"question": "Why?"},
            "target": "so",
            "resps": [["so"]],
            "filtered_resps": ["so"],
            "metrics": ["acc"],
            "acc": 1.0,
        }
        (tmp_path / model).mkdir()
        paths.append(
            written(tmp_path / model / "samples_toy_2026-01-02T03-04-05.678901.jsonl", json.dumps(line))
        )
    form = {"form": "lm_eval", "measure": None, "repetition": 1, "models": {}, "unparsed": "wrong"}
    found = step(import_matrix.run, {"files": paths}, ["responses", "rejected"], kind="logs", form=form)
    assert [(row["model"], row["correct"]) for row in found["responses"]] == [("a", True), ("b", True)]
    responses = [tmp_path / "out/responses.parquet"]
    items = step(
        diagnosed_items.run, {"files": paths, "responses": responses}, ["texts"], kind="logs", form=form
    )
    assert [(row["text"], row["item_type"]) for row in items["texts"]] == [("Why?\nso", "toy")]


def test_simulated_responses_are_screened_as_any(step, tmp_path: Path, capsys) -> None:
    items = saved(tmp_path / "items.parquet", diagnosed({f"i{at}": f"t{at % 2}" for at in range(120)}))
    options = {
        "models": 5,
        "truth": "dina",
        "guess": [0.1, 0.3],
        "slip": [0.05, 0.25],
        "correlation": 0.5,
        "prevalence": 0.5,
        "second": 0.2,
        "seed": 3,
    }
    found = step(simulate_matrix.run, {"texts": [items]}, ["responses", "mastery"], simulation=options)
    assert (len(found["responses"]), len(found["mastery"])) == (600, 10)
    path = tmp_path / "out/responses.parquet"
    table = pq.read_table(path)
    twin = table.filter(pc.equal(table["model"], "simulated-0001"))
    twin = twin.set_column(0, "model", pa.array(["twin"] * twin.num_rows))
    both = saved(tmp_path / "both.parquet", pa.concat_tables([table, twin.cast(table.schema)]))
    screened = step(screen_responses.run, {"responses": [both]}, ["screening"], screening=LIMITS)["screening"]
    gone = [row for row in screened if not row["kept"]]
    assert [(row["name"], row["duplicate_of"], row["flags"]) for row in gone] == [
        ("twin", "simulated-0001", ["duplicate"])
    ]
    assert "s: 1 model duplicate (1 left out): twin (of simulated-0001)" in capsys.readouterr().err


def test_requests_are_those_of_a_leagues_zero_shot_where_model_prompt_and_items_are() -> None:
    def keys(items: pa.Table, version: str = "v1", persona: str | None = None, **changes: Any) -> set[str]:
        model = ModelConfig.model_validate({"engine": "scripted", "script": "student", "system": persona})
        asked = answer_requests(
            items,
            Speaker("ann", model, {"engine": "scripted"}),
            load_prompt(ROOT / f"prompts/answer/{version}.md"),
            **{"answer_as": "text", "max_tokens": 9} | changes,
        )
        return {row["custom_id"] for row in asked}

    items = pipeline_items("i1", "i2", "i3")
    league = keys(items)
    # Both steps are one function; the data sets that are asked choose requests and change none.
    assert keys(items.slice(1, 2)) < league
    turned = items.set_column(
        items.column_names.index("options"),
        items.schema.field("options"),
        pa.array([["b", "a"]] * 3, pa.list_(pa.string())),
    )
    others = [
        keys(items, "v2"),
        keys(items, persona="You doubt."),
        keys(items, answer_as="letter"),
        keys(items, max_tokens=10),
        keys(turned),
    ]
    assert all(not league & other for other in others)
