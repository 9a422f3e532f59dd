"""A gate that fails stops the run: the message names the row, and nothing is made of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .conftest import Project, scripted_params

METRICS = "data/teaching/scripted/metrics.parquet"
STANDINGS = "data/teaching/scripted/standings.parquet"
TRAJECTORIES = "data/teaching/scripted/trajectories.parquet"
GATE = "data/teaching/scripted/gate"


def tiny_params() -> dict[str, Any]:
    """One teacher, one student, one round; no control arms and no ladder."""
    params = scripted_params(8, rounds=1)
    params["items"]["ladder"] = []
    params["teaching"]["leagues"]["scripted"] |= {
        "students": ["guesser"],
        "teachers": ["judge-80"],
        "arms": [],
    }
    return params


def rewrite(path: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change rows of an artifact behind the pipeline's back: same schema, same lineage, same time."""
    times = path.stat()
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path, compression="zstd")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_a_corrupted_table_stops_the_run_at_its_gate(
    new_project: Callable[[dict[str, Any]], Project],
) -> None:
    project = new_project(tiny_params())
    project.build(METRICS, STANDINGS)
    whole = (project.path / TRAJECTORIES).read_bytes()

    def flip(rows: list[dict[str, Any]]) -> None:
        rows[3]["correct"] = not rows[3]["correct"]

    rewrite(project.path / TRAJECTORIES, flip)
    row = project.table(TRAJECTORIES)[3]
    before = project.artifacts()
    done = project.run()
    assert done.returncode != 0
    key = ", ".join(f"{name}={row[name]}" for name in ("arm", "teacher", "student", "item_id", "round"))
    assert "correct_agrees_with_key" in done.stderr
    assert f"{key}: answer={row['answer']!r}, correct={row['correct']}" in done.stderr
    after = project.artifacts()
    # Models that do not play here are fingerprinted meanwhile, and the arena's pool is read: nothing downstream.
    elsewhere = ("data/models/", "data/arena/pool/")
    made = {name for name in set(after) - set(before) if not name.startswith(elsewhere)}
    assert made == {f"{GATE}.failed.json", f"{GATE}.failed.html"}
    assert after.items() >= before.items()

    times = (project.path / TRAJECTORIES).stat()
    (project.path / TRAJECTORIES).write_bytes(whole)
    os.utime(project.path / TRAJECTORIES, ns=(times.st_atime_ns, times.st_mtime_ns))
    project.build()
    names = {name for name in project.artifacts() if name.startswith((GATE, "results/gate"))}
    assert names == {
        f"{gate}{end}{sidecar}"
        for gate in (GATE, "results/gate")
        for end in (".json", ".html")
        for sidecar in ("", ".lineage.json")
    }
