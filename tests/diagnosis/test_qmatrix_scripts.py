"""The steps from items to a Q-matrix, one after the other, as their rules call them."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from qmatrix_cases import study

import scripts.step
from magister.config.embedders import EmbedderConfig
from magister.config.models import ModelConfig
from magister.contracts.diagnosis_tables import DIAGNOSIS_CONTRACTS
from magister.contracts.schemas import CONTRACTS
from magister.diagnosis.qmatrix_tables import read_prior
from magister.embeddings import embedder_fingerprint
from magister.errors import UserError
from magister.llm import fingerprint
from scripts.diagnosis import (
    build_qmatrix,
    chosen_prior,
    cluster_items,
    embed_items,
    k_curve,
    k_prior,
    label_attributes,
    label_requests,
)
from scripts.step import Step

ROOT = Path(__file__).resolve().parents[2]
VECTORS = {"vectors": "vectors.npy", "ids": "ids.parquet", "texts": "items.parquet"}
PRIOR = {"kind": "graded", "ceiling": 0.95, "p_star": 0.8, "r0": None}
CLUSTERING = {"neighbours": 15, "dimensions": 50, "type_weight": 0.25, "runs": 6, "share": 0.9, "seed": 1}


@pytest.fixture
def take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Takes a step: its script's `run`, inputs, outputs, parameters and wildcards; files lie in one folder."""
    known = CONTRACTS | {contract.name: contract for contract in DIAGNOSIS_CONTRACTS}
    monkeypatch.setattr(scripts.step, "CONTRACTS", known)
    monkeypatch.chdir(tmp_path)
    items, _ = study()
    pq.write_table(items, tmp_path / "items.parquet")
    config = EmbedderConfig(engine="hashed", dimensions=64)
    (tmp_path / "embedder.json").write_text(json.dumps(embedder_fingerprint("words", config)))

    def step(
        module: Any,
        inputs: dict[str, str | list[str]],
        outputs: dict[str, str],
        params: dict[str, Any],
        **wildcards: str,
    ) -> None:
        paths = {name: [path] if isinstance(path, str) else path for name, path in inputs.items()}
        module.run(
            Step(
                rule=module.__name__.rsplit(".", 1)[-1],
                module=module.__name__,
                inputs={name: [tmp_path / path for path in group] for name, group in paths.items()},
                outputs={name: tmp_path / path for name, path in outputs.items()},
                params=params,
                wildcards=wildcards,
                code={},
            )
        )

    step(
        embed_items,
        {"texts": "items.parquet", "embedder_fingerprint": "embedder.json"},
        {"vectors": "vectors.npy", "ids": "ids.parquet"},
        {"embedder_name": "words", "embedder": config.model_dump(), "replay": False, "max_error_share": 0.0},
    )
    return step


def cluster(take: Callable[..., None], out: str = "runs.parquet", **more: str) -> None:
    take(
        cluster_items,
        VECTORS | {"embedder_fingerprint": "embedder.json"} | more,
        {"runs": out},
        {"clustering": CLUSTERING, "k": [2, 3]},
    )


def replay_clusters() -> None:
    """Take the step in a replay: outputs are named from the project's folder, as rules name them."""
    names = VECTORS | {"embedder_fingerprint": "embedder.json"}
    cluster_items.run(
        Step(
            rule="cluster_items",
            module="scripts.diagnosis.cluster_items",
            inputs={name: [Path(path)] for name, path in names.items()},
            outputs={"runs": Path("replayed.parquet")},
            params={"clustering": CLUSTERING, "k": [2, 3]},
            wildcards={"study": "s"},
            code={},
        )
    )


def test_a_replay_takes_clusters_from_the_record_and_clusters_nothing(
    take: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster(take)
    monkeypatch.setenv("MAGISTER_REPLAY", "1")
    with pytest.raises(UserError, match=r"replayed.parquet: not in the record"):
        replay_clusters()
    Path("recorded/files").mkdir(parents=True)
    shutil.copy("runs.parquet", "recorded/files/replayed.parquet")
    monkeypatch.setattr(cluster_items, "cluster_runs", None)
    replay_clusters()
    assert pq.read_table("replayed.parquet").equals(pq.read_table("runs.parquet"))


def test_a_replay_refuses_recorded_clusters_of_other_texts(
    take: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster(take)
    table = pq.read_table("runs.parquet")
    other = pa.array(["0" * 64] * table.num_rows)
    Path("recorded/files").mkdir(parents=True)
    pq.write_table(
        table.set_column(table.schema.get_field_index("made_from"), "made_from", other),
        "recorded/files/replayed.parquet",
    )
    monkeypatch.setenv("MAGISTER_REPLAY", "1")
    with pytest.raises(UserError, match="made from other items"):
        replay_clusters()


def test_a_replay_that_recomputes_says_how_far_clusters_agree(
    take: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster(take)
    Path("recorded/files").mkdir(parents=True)
    shutil.copy("runs.parquet", "recorded/files/replayed.parquet")
    monkeypatch.setenv("MAGISTER_REPLAY", "1")
    monkeypatch.setenv("MAGISTER_RECOMPUTE", "1")
    replay_clusters()
    note = json.loads(Path("build/recomputed/cluster_items.s.json").read_text())
    assert note["agreement"] == 1.0


def qmatrix(take: Callable[..., None], **more: str) -> None:
    take(
        build_qmatrix,
        VECTORS | {"runs": "runs.parquet", "clusters": "c3.parquet", "labels": "labels.parquet"} | more,
        {
            "clusters": "clusters.parquet", "prior": "prior.parquet",
            "attributes": "attributes.parquet", "review": "sheet.csv",
        },
        {"prior": PRIOR, "terms": 6, "review": {"central": 15, "boundary": 5}},
    )  # fmt: skip


def all_steps(take: Callable[..., None]) -> None:
    cluster(take)
    for k in ("2", "3"):
        take(
            k_prior,
            VECTORS | {"runs": "runs.parquet"},
            {"clusters": f"c{k}.parquet", "prior": f"p{k}.parquet"},
            {"linkage": "ward", "prior": PRIOR},
            k=k,
        )
    take(
        k_curve,
        VECTORS | {"runs": "runs.parquet", "clusters": ["c2.parquet", "c3.parquet"]},
        {"curve": "curve.parquet"},
        {"level": 0.95, "choice": {"least_items": 4, "least_stability": 0.5}},
    )
    take(
        chosen_prior,
        VECTORS | {"runs": "runs.parquet", "curve": "curve.parquet"},
        {"clusters": "chosen.parquet", "prior": "chosen_prior.parquet"},
        {"linkage": "ward", "prior": PRIOR},
    )
    take(
        label_attributes,
        {"clusters": "c3.parquet", "texts": "items.parquet"},
        {"labels": "labels.parquet"},
        {"terms": 6},
    )
    qmatrix(take)


def test_items_become_a_prior_that_knows_what_they_are_about(
    take: Callable[..., None], tmp_path: Path
) -> None:
    all_steps(take)
    prior = read_prior(pq.read_table(tmp_path / "prior.parquet"))
    for item, row in zip(prior.items, prior.reference, strict=True):
        assert row.tolist() == [kind == item.split("-")[0] for kind in ("gcd", "rect", "sort")]
    attributes = pq.read_table(tmp_path / "attributes.parquet").to_pylist()
    assert [row["status"] for row in attributes] == ["provisional"] * 3
    assert [row["purity"] for row in attributes] == [1.0] * 3
    curve = pq.read_table(tmp_path / "curve.parquet").to_pylist()
    assert {row["k"] for row in curve if row["chosen"]} == {3}
    assert (tmp_path / "chosen.parquet").read_bytes() != (tmp_path / "c2.parquet").read_bytes()
    assert pq.read_table(tmp_path / "chosen_prior.parquet").equals(pq.read_table(tmp_path / "p3.parquet"))


def test_a_second_run_writes_the_same_bytes(take: Callable[..., None], tmp_path: Path) -> None:
    all_steps(take)
    names = ("runs.parquet", "prior.parquet", "attributes.parquet", "sheet.csv", "curve.parquet")
    first = [(tmp_path / name).read_bytes() for name in names]
    all_steps(take)
    assert first == [(tmp_path / name).read_bytes() for name in names]


def test_a_filled_sheet_is_read_back(take: Callable[..., None], tmp_path: Path) -> None:
    all_steps(take)
    with (tmp_path / "sheet.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    rows[0] |= {"decision": "rename", "new_label": "=divisors", "reviewer": "Ann"}
    rows[2] |= {"decision": "merge into a02", "reviewer": "Ann"}
    with (tmp_path / "filled.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    qmatrix(take, review="filled.csv")
    first, second = pq.read_table(tmp_path / "attributes.parquet").to_pylist()
    assert (first["label"], first["status"], first["reviewer"]) == ("=divisors", "reviewed", "Ann")
    assert (second["attribute"], second["status"], second["note"]) == ("a02", "provisional", "with a03")
    assert read_prior(pq.read_table(tmp_path / "prior.parquet")).attributes == ("a01", "a02")
    # What comes out can go in again.
    (tmp_path / "again.csv").write_bytes((tmp_path / "sheet.csv").read_bytes())
    before = (tmp_path / "sheet.csv").read_text(encoding="utf-8-sig")
    qmatrix(take, review="again.csv")
    assert (tmp_path / "sheet.csv").read_text(encoding="utf-8-sig") == before
    assert "'=divisors" in before


def test_frozen_clusters_are_taken_instead_of_new_ones(take: Callable[..., None], tmp_path: Path) -> None:
    cluster(take)
    (tmp_path / "frozen.parquet").write_bytes((tmp_path / "runs.parquet").read_bytes())
    # Vectors of which nothing could be made.
    np.save(tmp_path / "vectors.npy", np.zeros((27, 64), np.float32))
    cluster(take, "again.parquet", frozen="frozen.parquet")
    assert pq.read_table(tmp_path / "again.parquet").equals(pq.read_table(tmp_path / "runs.parquet"))


def test_a_model_is_asked_for_a_label_of_each_attribute(take: Callable[..., None], tmp_path: Path) -> None:
    all_steps(take)
    model = ModelConfig(engine="scripted", script="echo")
    (tmp_path / "model.json").write_text(json.dumps(fingerprint("namer", model, None)))
    take(
        label_requests,
        {
            "clusters": "c3.parquet", "texts": "items.parquet", "fingerprint": "model.json",
            "prompt": str(ROOT / "prompts/label_attribute/v1.md"),
        },
        {"requests": "labels.requests.jsonl", "asked": "asked.parquet"},
        {"labeller": "namer", "model": model.model_dump(), "terms": 6, "examples": 4, "max_tokens": 40},
    )  # fmt: skip
    requests = [json.loads(line) for line in (tmp_path / "labels.requests.jsonl").read_text().splitlines()]
    said = [
        {"custom_id": row["custom_id"], "error": None, "response": {"body": {"choices": [{
            "message": {"content": '{"label": "a skill"}'}, "finish_reason": "stop"}]}}}
        for row in requests
    ]  # fmt: skip
    (tmp_path / "labels.responses.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said))
    take(
        label_attributes,
        {
            "clusters": "c3.parquet", "texts": "items.parquet", "fingerprint": "model.json",
            "asked": "asked.parquet", "responses": "labels.responses.jsonl",
        },
        {"labels": "labels.parquet"},
        {"labeller": "namer", "terms": 6},
    )  # fmt: skip
    qmatrix(take)
    rows = pq.read_table(tmp_path / "attributes.parquet").to_pylist()
    assert {(row["label"], row["label_source"]) for row in rows} == {("a skill", "model")}
    sheet = (tmp_path / "sheet.csv").read_text(encoding="utf-8-sig")
    assert "label and terms share no word; the same label as a02, a03" in sheet


def test_an_item_without_a_vector_is_named_with_its_status(take: Callable[..., None], tmp_path: Path) -> None:
    vectors = np.load(tmp_path / "vectors.npy")
    vectors[3] = np.nan
    np.save(tmp_path / "vectors.npy", vectors)
    ids = pq.read_table(tmp_path / "ids.parquet")
    status = ["ok"] * ids.num_rows
    status[3] = "error"
    place = ids.schema.get_field_index("status")
    pq.write_table(
        ids.set_column(place, ids.schema.field("status"), pa.array(status)), tmp_path / "ids.parquet"
    )
    with pytest.raises(UserError, match=r"1 of 27 items have no vector, first: gcd-03 \(error\)"):
        cluster(take)
