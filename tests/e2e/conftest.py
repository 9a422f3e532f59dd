"""Projects in temporary folders that run the real rules on their own parameters."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SHARED = ("Snakefile", "rules", "scripts", "src", "prompts", "profiles")


@dataclass(frozen=True)
class Project:
    """A folder with the workflow and parameters of its own."""

    path: Path

    def write_params(self, params: dict[str, Any]) -> None:
        """Replace `params.yaml`."""
        (self.path / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")

    def params(self) -> dict[str, Any]:
        """Read `params.yaml`."""
        loaded: dict[str, Any] = yaml.safe_load((self.path / "params.yaml").read_text(encoding="utf-8"))
        return loaded

    def command(self, *arguments: str, cores: int = 2) -> list[str]:
        """The Snakemake command line."""
        return [sys.executable, "-m", "snakemake", "--quiet", "rules", "--cores", str(cores), *arguments]

    def environment(self) -> dict[str, str]:
        """The process environment, with bytecode written once for all jobs."""
        return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}

    def run(self, *arguments: str, cores: int = 2) -> subprocess.CompletedProcess[str]:
        """Run Snakemake to its end."""
        return subprocess.run(
            self.command(*arguments, cores=cores),
            cwd=self.path,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    def build(self, *arguments: str, cores: int = 2) -> str:
        """Run Snakemake and expect success."""
        done = self.run(*arguments, cores=cores)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def table(self, name: str) -> list[dict[str, Any]]:
        """The rows of a parquet artifact."""
        rows: list[dict[str, Any]] = pq.read_table(self.path / name).to_pylist()
        return rows

    def artifacts(self) -> dict[str, bytes]:
        """Every file under data/ and results/, by path."""
        return {
            path.relative_to(self.path).as_posix(): path.read_bytes()
            for folder in ("data", "results")
            for path in sorted((self.path / folder).rglob("*"))
            if path.is_file()
        }


@pytest.fixture(scope="session")
def new_project(tmp_path_factory: pytest.TempPathFactory) -> Callable[[dict[str, Any]], Project]:
    """Make projects."""

    def make(params: dict[str, Any]) -> Project:
        folder = tmp_path_factory.mktemp("project")
        for name in SHARED:
            (folder / name).symlink_to(ROOT / name)
        project = Project(folder)
        project.write_params(params)
        return project

    return make


def scripted_params(n: int = 60, rounds: int = 2) -> dict[str, Any]:
    """A closed-form league: every kind of student and teacher, on sums."""
    teachers = {
        "judge-80": {"mode": "verdict", "q": 0.8},
        "always-wrong": {"mode": "always_wrong"},
        "always-right": {"mode": "always_right"},
        "teller": {"mode": "teller"},
        "silent": {"mode": "silent"},
    }
    students = {"guesser": "reguess", "stubborn": "stubborn", "obedient": "obedient"}
    models: dict[str, Any] = {
        name: {"engine": "scripted", "script": "teacher", "script_args": {"accuracy": 0.7, **args}}
        for name, args in teachers.items()
    }
    models |= {
        name: {"engine": "scripted", "script": "student", "script_args": {"accuracy": 0.4, "mode": mode}}
        for name, mode in students.items()
    }
    return {
        "models": models,
        "items": {
            "datasets": {
                "sums": {
                    "kind": "generated",
                    "generator": "sums",
                    "generator_args": {"options": 4},
                    "domain": "mathematics",
                    "n": n,
                    "seed": 3,
                }
            },
            "ladder": ["guesser", "obedient"],
        },
        "teaching": {
            "leagues": {
                "scripted": {
                    "students": list(students),
                    "teachers": list(teachers),
                    "datasets": ["sums"],
                    "rounds": rounds,
                    "arms": ["sham", "oracle_tell", "wrong_oracle", "self_revise", "verdict_only"],
                }
            }
        },
        "statistics": {"resamples": 500},
    }
