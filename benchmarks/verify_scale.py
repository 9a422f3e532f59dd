"""How long does `magister verify` take? A project with a league of 1,000,000 trajectory rows, made up and verified.

python benchmarks/verify_scale.py [ROWS] [REQUESTS]

Writes a table of trajectories and the requests, responses and store rows behind it, with their lineage and the
records of a full run, and prints the seconds of every check. Snakemake's list of jobs is left out: it depends on the
number of jobs and not on rows. A row of the table is a student's answer in a round; REQUESTS is as many by default.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import yaml

from magister.audit.scene import read_scene
from magister.audit.verification import CHECKS
from magister.config.models import ModelConfig
from magister.contracts.schemas import TRAJECTORIES
from magister.llm import build_request, canonical_json, chat_body, fingerprint
from magister.pipeline import MANIFEST, Job, folder_md5, hash_files, write_manifest
from magister.pipeline._dvc import files_under
from magister.provenance import Lineage, make_lineage, write_json, write_sidecar, write_table

MODELS = 10
SIZES = {"round": 4, "item_id": 5_000, "student": 4, "teacher": 33}
MODEL = {"engine": "scripted", "script": "student", "script_args": {"accuracy": 0.5}}
OUTS = {"llm": ["data/models"], "teaching": ["data/teaching"], "boards": ["results"]}


def trajectories(rows: int) -> pa.Table:
    """A table of the contract's columns: its key counted through, its other values made up."""
    at, generator = np.arange(rows), np.random.default_rng(1)
    schema, step = TRAJECTORIES.schema, 1
    columns: dict[str, pa.Array] = {}
    for name in reversed(TRAJECTORIES.key):
        words = np.array(TRAJECTORIES.allowed.get(name, [f"{name}-{n}" for n in range(SIZES.get(name, 1))]))
        place = at // step % len(words)
        step *= len(words)
        columns[name] = pa.array(place if name == "round" else words[place], schema.field(name).type)
    for field in schema:
        if field.name in columns:
            continue
        low, high = TRAJECTORIES.ranges.get(field.name, (0, 1))
        words = np.array(TRAJECTORIES.allowed.get(field.name, [f"{field.name} {n}" for n in range(1000)]))
        numbers = not pa.types.is_string(field.type)
        drawn = (
            generator.integers(int(low), int(high) + 1, rows)
            if numbers
            else generator.integers(0, len(words), rows)
        )
        columns[field.name] = pa.array(drawn if numbers else words[drawn]).cast(field.type)
    return pa.table([columns[name] for name in schema.names], schema=schema)


def calls(root: Path, model: str, n: int, known: dict[str, object]) -> None:
    """Requests of a model, their responses and the store's rows."""
    config = ModelConfig.model_validate(MODEL)
    folder = root / "data/teaching/answer"
    store = root / "store" / model / "teaching.answer.jsonl"
    for path in (folder, store.parent):
        path.mkdir(parents=True, exist_ok=True)
    question = "Which of these is the sum of the numbers in the passage above? " * 6

    def lines() -> Iterator[tuple[str, str, str]]:
        for at in range(n):
            body = chat_body(
                config, [{"role": "user", "content": f"{question}{at}\nA) {at}\nB) {at + 1}"}], 24
            )
            request = build_request(known, body)
            message = {"role": "assistant", "content": f"Answer: A | {at}"}
            usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
            reply = {
                "model": model,
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": usage,
            }
            row = {
                "custom_id": request["custom_id"],
                "response": {"status_code": 200, "body": reply},
                "error": None,
            }
            yield canonical_json(request), canonical_json(row), canonical_json(row | {"attempts": 1})

    with (
        (folder / f"{model}.requests.jsonl").open("w") as asked,
        (folder / f"{model}.responses.jsonl").open("w") as answered,
        store.open("w") as stored,
    ):
        for request, response, row in lines():
            asked.write(request + "\n")
            answered.write(response + "\n")
            stored.write(row + "\n")


def make(root: Path, rows: int, requests: int) -> list[Job]:
    """The project and its records."""
    jobs = []
    (root / "scripts").mkdir()
    (root / "scripts/work.py").write_text("print()\n")
    params = {"models": {f"m{n}": MODEL for n in range(MODELS)}}
    (root / "params.yaml").write_text(yaml.safe_dump(params))
    (root / ".dvc").mkdir()

    def lineage(path: str, inputs: list[str]) -> Lineage:
        outputs = [path] if path.endswith(".parquet") else [path, f"{path}.lineage.json"]
        jobs.append(Job("work", {}, sorted(inputs), ["scripts/work.py"], outputs, {}, "c0ffee", None, True))
        code = hash_files(root, ["scripts/work.py"])
        return make_lineage("work", wildcards={}, inputs=[Path(name) for name in inputs], params={}, code=code,
                            command="c0ffee", root=root)  # fmt: skip

    responses = []
    for number in range(MODELS):
        name = f"m{number}"
        known = fingerprint(name, ModelConfig.model_validate(MODEL), None)
        speaker, asked = f"data/models/{name}.json", f"data/teaching/answer/{name}.requests.jsonl"
        write_json(root / speaker, known, lineage(speaker, []))
        calls(root, name, requests // MODELS, known)
        write_sidecar(root / asked, lineage(asked, [speaker]))
        responses.append(asked.replace("requests", "responses"))
        write_sidecar(root / responses[-1], lineage(responses[-1], [asked, speaker]))
    table = "data/teaching/trajectories.parquet"
    write_table(root / table, trajectories(rows), TRAJECTORIES, lineage(table, responses))
    (root / "results").mkdir()
    md5s = hash_files(root, files_under(root, ["data", "results", "store"]), threads=2)
    write_manifest(root / MANIFEST, md5s)
    stages = {
        name: {
            "params": {"params.yaml": params},
            "outs": [{"path": path, "md5": folder_md5(md5s, path)} for path in paths],
        }
        for name, paths in OUTS.items()
    }
    (root / "dvc.lock").write_text(yaml.safe_dump({"schema": "2.0", "stages": stages}))
    (root / "dvc.yaml").write_text(
        yaml.safe_dump({"stages": {n: {"outs": outs} for n, outs in OUTS.items()}})
    )
    (root / "store.dvc").write_text(
        yaml.safe_dump({"outs": [{"path": "store", "md5": folder_md5(md5s, "store")}]})
    )
    return jobs


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    requests = int(sys.argv[2]) if len(sys.argv) > 2 else rows
    with tempfile.TemporaryDirectory(prefix="magister-scale-") as folder:
        root = Path(folder)
        jobs = make(root, rows, requests)
        size = sum(stat.st_size for stat in files_under(root, ["data", "store"]).values())
        print(
            f"{rows:,} trajectory rows, {requests:,} requests and responses, {size / 2**30:.2f} GiB",
            flush=True,
        )
        begun, processor = time.perf_counter(), time.process_time()
        scene = read_scene(root)
        scene.__dict__["jobs"] = jobs
        print(f"{time.perf_counter() - begun:6.1f} s  lineage read")
        failures = 0
        for name, check in CHECKS.items():
            start = time.perf_counter()
            found = check(scene)
            failures += len(found.findings) + (found.unchecked is not None)
            print(f"{time.perf_counter() - start:6.1f} s  {name} ({found.n:,} {found.unit})", flush=True)
            for finding in found.findings[:2]:
                print(f"          {finding}")
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        took, worked = time.perf_counter() - begun, time.process_time() - processor
        print(f"{took:6.1f} s  in all, {worked:.1f} s of processor time, {memory:.1f} GiB of memory at most")
        sys.exit(bool(failures))


if __name__ == "__main__":
    main()
