"""What a large set of scenarios costs beside its models: planning, each job, memory.

    python benchmarks/rubrics_scale.py [--scenarios 330] [--iterations 4] [--tasks 10] [--run]

A grid of scenarios with scripted players, in a folder of its own. Without `--run` only `snakemake -n` is timed; with it
the set is built, and the time and the peak memory of the largest jobs are printed.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from magister.rubrics.grid import grid
from magister.rubrics.reader import parse_scenario

ROOT = Path(__file__).resolve().parents[1]
TARGET = "data/rubrics/sets/grid/standings.parquet"


def player(script: str, **args: Any) -> dict[str, Any]:
    """A scripted model."""
    return {"engine": "scripted", "script": script, "script_args": args}


def with_tasks(text: str, count: int) -> str:
    """A scenario with so many tasks: its own, with a number behind one of their variables where it has fewer."""
    document = yaml.safe_load(text)
    content = document["tasks"]["content"]
    rows = content
    if isinstance(content, dict):
        rows = [dict(zip(content, values, strict=True)) for values in itertools.product(*content.values())]
        document["tasks"]["mode"] = "iter"
    made = []
    for number in range(count):
        row = dict(rows[number % len(rows)])
        name = sorted(row)[0]
        made.append(row | {name: f"{row[name]} ({number + 1})"})
    document["tasks"]["content"] = made
    document["tasks"].pop("held_out", None)
    return str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))


def project(folder: Path, scenarios: int, tasks: int, iterations: int) -> None:
    """Write the folder."""
    for name in ("Snakefile", "rules", "scripts", "src", "prompts", "profiles"):
        (folder / name).symlink_to(ROOT / name)
    place = folder / "data/scenarios"
    place.mkdir(parents=True)
    files = []
    for one in list(grid())[:scenarios]:
        text = with_tasks(one.text, tasks)
        parse_scenario(text, one.name)
        (place / f"{one.name}.yaml").write_text(text, encoding="utf-8")
        files.append(f"data/scenarios/{one.name}.yaml")
    params = {
        "models": {
            "one": player("rubric_teacher", quality=0.9, salt="x"),
            "two": player("rubric_teacher", quality=0.2, salt="x"),
            "pupil": player("rubric_student"),
            "judge": player("rubric_judge"),
            "writer": player("rubric_writer", pedagogy="strict", worsen=1.0),
        },
        "rubrics": {
            "sets": {
                "grid": {
                    "scenarios": files,
                    "models": ["one", "two"],
                    "partners": {"*": "pupil"},
                    "judges": ["judge"],
                    "source": "scenegen",
                    "writer": "writer",
                    "iterations": iterations,
                }
            },
            "scenegen": {"metrics": 4},
            "checks": {"min_n": 10},
            # A writer that spoils what it rewrites, and much patience: no iteration is a stub.
            "objective": {"patience": iterations + 1},
        },
        "statistics": {"resamples": 200},
    }
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")


def snakemake(folder: Path, *arguments: str) -> tuple[float, str]:
    """Run Snakemake; seconds and what it said."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "2", *arguments, "--", TARGET],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stdout[-4000:])
    return time.perf_counter() - started, done.stdout


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scenarios", type=int, default=330)
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=4)
    parser.add_argument("--run", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project(folder, given.scenarios, given.tasks, given.iterations)
        seconds, said = snakemake(folder, "-n", "--quiet", "rules")
        total = next(line.split()[1] for line in said.splitlines() if line.startswith("total"))
        print(f"snakemake -n: {seconds:.1f} s for {total} jobs")
        if given.run:
            seconds, _ = snakemake(folder, "--quiet", "all")
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            print(f"run: {seconds:.0f} s, {seconds / int(total):.2f} s a job; largest process {peak:.0f} MiB")


if __name__ == "__main__":
    main()
