"""A small finished project, written by hand: an artifact of every kind, with the records of a full run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from magister.audit.scene import read_scene
from magister.audit.verification import Verification, run_checks
from magister.config.models import ModelConfig
from magister.contracts.schemas import REJECTED
from magister.llm import build_request, chat_body, complete, fingerprint, write_requests
from magister.pipeline import MANIFEST, Job, folder_md5, hash_files, recorded_md5, write_manifest
from magister.pipeline._dvc import files_under
from magister.provenance import (
    Lineage,
    code_md5s,
    make_lineage,
    write_json,
    write_sidecar,
    write_table,
    write_text,
)

OUTS = {"llm": ["data/models"], "teaching": ["data/teaching"], "boards": ["results"]}
MODEL = {"engine": "scripted", "script": "student", "script_args": {"accuracy": 0.5}}
PARAMS = {"models": {"pupil": MODEL}, "teaching": {"rounds": 1}, "statistics": {"resamples": 200}}


def rows(n: int = 5, **columns: Any) -> pa.Table:
    """A table of some contract."""
    table = {
        "dataset": ["sums"] * n,
        "source_row": list(range(n)),
        "reason": ["empty"] * n,
        "detail": [f"detail {at}" for at in range(n)],
        "raw": ["{}"] * n,
    }
    return pa.table({**table, **columns}, schema=REJECTED.schema)


@dataclass
class Finished:
    """The project, and what its parameters and rules ask for."""

    root: Path
    jobs: list[Job] = field(default_factory=list)

    @property
    def cache(self) -> Path:
        return self.root / ".dvc/cache/files/md5"

    def made(self, path: str, inputs: list[str], params: dict[str, Any]) -> Lineage:
        """The lineage of an artifact, whose job is asked for from now on."""
        script = self.root / "scripts/work.py"
        assert script.is_file()
        lineage = make_lineage(
            "work",
            wildcards={},
            inputs=[Path(name) for name in inputs],
            params=params,
            code=code_md5s(("scripts/work.py",), self.root),
            command="c0ffee",
            root=self.root,
        )
        outputs = [path] if path.endswith(".parquet") else [path, f"{path}.lineage.json"]
        job = Job("work", {}, sorted(inputs), ["scripts/work.py"], outputs, params, "c0ffee", None, True)
        self.jobs = [each for each in self.jobs if each.outputs != outputs] + [job]
        return lineage

    def table(self, path: str, table: pa.Table, inputs: list[str]) -> None:
        write_table(self.root / path, table, REJECTED, self.made(path, inputs, PARAMS["teaching"]))

    def build(self) -> None:
        """Every file, from sources to boards."""
        root = self.root
        for name, text in (("scripts/work.py", "print()\n"), ("prompts/answer/v1.md", "Answer.\n")):
            (root / name).parent.mkdir(parents=True)
            (root / name).write_text(text)
        (root / "params.yaml").write_text(yaml.safe_dump(PARAMS))
        stages = {
            name: {"cmd": "x", "deps": ["scripts", "prompts/answer"], "params": list(PARAMS), "outs": outs}
            for name, outs in OUTS.items()
        }
        (root / "dvc.yaml").write_text(yaml.safe_dump({"stages": stages}))
        (root / ".dvc").mkdir()
        model = ModelConfig.model_validate(MODEL)
        known = fingerprint("pupil", model, None)
        speaker = "data/models/pupil.json"
        write_json(root / speaker, known, self.made(speaker, [], {"model": MODEL}))
        bodies = [
            chat_body(model, [{"role": "user", "content": f"What is {n} + 1?\nA) 2\nB) 3"}], 8)
            for n in range(3)
        ]
        requests = "data/teaching/answer/pupil.requests.jsonl"
        write_requests(root / requests, [build_request(known, body) for body in bodies])
        write_sidecar(root / requests, self.made(requests, [speaker, "prompts/answer/v1.md"], {}))
        responses = requests.replace("requests", "responses")
        complete(
            root / requests,
            root / responses,
            name="pupil",
            model=model,
            fingerprint=known,
            store_root=root / "store",
            task="teaching/answer",
            progress=lambda *_: None,
        )
        write_sidecar(root / responses, self.made(responses, [requests, speaker], {"model": MODEL}))
        self.table("data/teaching/answers.parquet", rows(), [responses])
        vectors = "data/teaching/vectors.npy"
        np.save(root / vectors, np.arange(6, dtype=np.float32).reshape(3, 2))
        write_sidecar(root / vectors, self.made(vectors, ["data/teaching/answers.parquet"], {}))
        self.table("results/teaching.parquet", rows(3), ["data/teaching/answers.parquet"])
        self.table("results/arena.parquet", rows(4), [])
        page = "results/teaching.csv"
        write_text(
            root / page,
            "teacher,ca\none,0.5\nother,0.25\n",
            self.made(page, ["results/teaching.parquet"], {}),
        )
        self.record()

    def record(self) -> None:
        """What a full run of Snakemake leaves: the manifest, `dvc.lock`, `store.dvc` and DVC's cache."""
        root = self.root
        outs = [folder for folders in OUTS.values() for folder in folders]
        md5s = hash_files(root, files_under(root, [*outs, "store"]))
        write_manifest(root / MANIFEST, md5s)
        for path, md5 in md5s.items():
            place = self.cache / md5[:2] / md5[2:]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes((root / path).read_bytes())
        sources = hash_files(root, files_under(root, ["scripts", "prompts"]))
        params = yaml.safe_load((root / "params.yaml").read_text())
        stages = {
            name: {
                "cmd": "x",
                "deps": [
                    {"path": path, "md5": recorded_md5(sources, path)}
                    for path in ("prompts/answer", "scripts")
                ],
                "params": {"params.yaml": {key: params[key] for key in PARAMS}},
                "outs": [{"path": path, "md5": folder_md5(md5s, path)} for path in paths],
            }
            for name, paths in OUTS.items()
        }
        (root / "dvc.lock").write_text(yaml.safe_dump({"schema": "2.0", "stages": stages}))
        store = {"outs": [{"path": "store", "md5": folder_md5(md5s, "store")}]}
        (root / "store.dvc").write_text(yaml.safe_dump(store))

    def verify(self, target: str | None = None) -> Verification:
        """Everything that `magister verify` does but asking Snakemake for the jobs."""
        scene = read_scene(self.root, target)
        scene.__dict__["jobs"] = self.jobs
        scene.project.__dict__["_cache"] = self.cache
        return run_checks(scene, target)

    def places(self, path: str, target: str | None = None) -> list[str]:
        """Where a file fails."""
        return [finding.place for finding in self.verify(target).findings if finding.path == path]


def rewrite(path: Path, table: pa.Table) -> None:
    """Change a table by hand, keeping its lineage."""
    metadata = pq.read_schema(path).metadata
    pq.write_table(table.replace_schema_metadata(metadata), path, compression="zstd")
