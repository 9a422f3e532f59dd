"""Small scripted projects under git, Snakemake and DVC: each test works on a copy of one that is built."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
TRACKED = (
    "Snakefile",
    "rules",
    "scripts",
    "src",
    "prompts",
    "profiles",
    "dvc.yaml",
    ".dvcignore",
    ".gitignore",
)
OUTS = (
    *("data/models", "data/items", "data/teaching", "data/ablations", "data/arena", "data/diagnosis"),
    *("data/rubrics", "results"),
)
RATING = {
    *("teaching_metrics/tiny", "teaching_standings/tiny", "validate_teaching/tiny"),
    *("league_ablations/tiny", "validate_ablations/tiny"),
    *("teaching_board", "meta_evaluation", "validate_boards", "teaching_plots"),
    *("ablation_board", "league_plots/tiny"),
}
"""Jobs that depend on how intervals are worked out."""

Params = dict[str, Any]


def tiny_params() -> Params:
    """Two teachers, one student, six sums, one round: about 35 jobs."""

    def player(script: str, **args: Any) -> Params:
        return {"engine": "scripted", "script": script, "script_args": args}

    return {
        "models": {
            "pupil": player("student", accuracy=0.4, mode="obedient"),
            "judge": player("teacher", accuracy=0.7, mode="verdict", q=0.8),
            "teller": player("teacher", accuracy=0.9, mode="teller"),
        },
        "items": {
            "datasets": {
                "sums": {
                    "kind": "generated",
                    "generator": "sums",
                    "generator_args": {"options": 4},
                    "domain": "mathematics",
                    "n": 6,
                    "seed": 3,
                }
            }
        },
        "teaching": {
            "leagues": {
                "tiny": {
                    "students": ["pupil"],
                    "teachers": ["judge", "teller"],
                    "datasets": ["sums"],
                    "arms": [],
                }
            },
            "rounds": 1,
            "max_tokens": {"answer": 24, "guide": 64, "revise": 24},
        },
        "embedders": {},
        "arena": {},
        "diagnosis": {},
        "rubrics": {},
        "statistics": {"resamples": 200},
        "llm": {"replay": False},
    }


def tiny_arena() -> Params:
    """Two models, two sums, a judge and the key; for a project that needs one."""
    return {
        "sources": {"sums": {"kind": "generated", "scenario": "sums", "generator": "sums", "n": 4}},
        "embedder": "words",
        "leagues": {
            "duel": {
                "models": ["one", "other"],
                "scenarios": ["sums"],
                "k": 2,
                "judges": ["referee"],
                "people": ["data/annotations/ann.csv"],
            }
        },
    }


def tiny_diagnosis() -> Params:
    """Two players on four sums, and a matrix of a file with its Q-matrix; for a project that needs them."""
    return {
        "embedder": "words",
        "studies": {
            "asked": {
                "kind": "answers",
                "models": ["pupil", "teller"],
                "datasets": ["sums"],
                "attributes": 2,
            },
            "given": {"kind": "file", "path": "data/own/matrix.csv", "q": "data/own/q.csv"},
        },
        "saem": {"max_sweeps": 200},
    }


def tiny_rubrics() -> Params:
    """A teacher on a scenario of four tasks, whose rubric a writer begins and improves once; for a project that needs
    one."""
    return {
        "sets": {
            "lessons": {
                "scenarios": ["data/scenarios/lessons.yaml"],
                "models": ["asker"],
                "partners": {"*": "listener"},
                "judges": ["counter"],
                "source": "scenegen",
                "writer": "writer",
                "iterations": 1,
                "max_turns": 3,
                "anchors": ["data/annotations/anchors.jsonl"],
            }
        },
        "objective": {"max_calls": 500},
    }


RUBRIC_PLAYERS = {
    "asker": "rubric_teacher",
    "listener": "rubric_student",
    "counter": "rubric_judge",
    "writer": "rubric_writer",
}


def write_tiny_scenario(folder: Path) -> None:
    """The files of `tiny_rubrics`."""
    text = """
magister: 1
agents:
  teacher: {prompt: "You teach: {question}"}
  student: {prompt: You learn.}
directions:
  - START -> teacher
  - teacher -> router:any_keyword(keywords=["<end>"], then=END, otherwise="student")
  - student -> teacher
tasks:
  mode: union
  start_prompt: "Today: {question}"
  content: {question: [What is 1 + 1?, What is 2 + 3?, What is 4 + 1?, What is 5 + 5?]}
"""
    (folder / "data/scenarios/lessons.yaml").write_text(text, encoding="utf-8")
    anchor = {
        "anchor_id": "a1", "scenario": "lessons", "use": "calibration", "annotator": "eve",
        "variables": {"question": "What is 9 + 9?"}, "turns": [{"speaker": "teacher", "text": "What would you try?"}],
        "scores": {"pedagogy_1": 5},
    }  # fmt: skip
    (folder / "data/annotations/anchors.jsonl").write_text(json.dumps(anchor) + "\n", encoding="utf-8")


def write_tiny_matrix(folder: Path) -> None:
    """The files of `tiny_diagnosis`."""
    rows = [f"i{at},{','.join(str((at + model) % 3 % 2) for model in range(12))}" for at in range(12)]
    heads = ",".join(f"m{model}" for model in range(12))
    (folder / "data/own/matrix.csv").write_text(
        f"item_id,{heads}\n" + "\n".join(rows) + "\n", encoding="utf-8"
    )
    q = "\n".join(f"i{at},{at % 2},{(at + 1) % 2}" for at in range(12))
    (folder / "data/own/q.csv").write_text(f"item_id,first,second\n{q}\n", encoding="utf-8")


@dataclass(frozen=True)
class Done:
    """A finished command."""

    code: int
    text: str
    ran: frozenset[str] = field(default_factory=frozenset)
    """Jobs that ran, as their log files: rule, then wildcards."""


@dataclass(frozen=True)
class Project:
    """A folder under git, Snakemake and DVC."""

    path: Path

    def environment(self) -> dict[str, str]:
        """The process environment: the project's own source, a git identity, bytecode written once."""
        env = {
            k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE" and not k.startswith("DVC_")
        }
        for role in ("AUTHOR", "COMMITTER"):
            env |= {f"GIT_{role}_NAME": "Tess Ter", f"GIT_{role}_EMAIL": "tess@example.org"}
        return env | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}",
            "PYTHONPATH": str(self.path / "src"),
        }

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start a command in a process group of its own."""
        return subprocess.Popen(
            command,
            cwd=self.path,
            env=self.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def try_run(self, *command: str, **more: Any) -> Done:
        """Run a command to its end."""
        before = self.logs()
        done = subprocess.run(
            command,
            cwd=self.path,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            **more,
        )
        ran = frozenset(name for name, time in self.logs().items() if before.get(name) != time)
        return Done(done.returncode, done.stdout, ran)

    def run(self, *command: str, **more: Any) -> Done:
        """Run a command and expect success."""
        done = self.try_run(*command, **more)
        assert done.code == 0, done.text
        return done

    def snakemake(self, *arguments: str, cores: int = 2) -> Done:
        """A full run, or what the arguments say."""
        return self.run("snakemake", "--cores", str(cores), *arguments)

    def dvc(self, *arguments: str) -> Done:
        """A DVC command."""
        return self.run("dvc", *arguments)

    def commit(self, message: str = "a change") -> None:
        """Commit everything that git does not ignore."""
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--allow-empty", "--message", message)

    def logs(self) -> dict[str, int]:
        """Time of each job's log."""
        folder = self.path / "logs"
        return {
            path.relative_to(folder).with_suffix("").as_posix(): path.stat().st_mtime_ns
            for path in folder.rglob("*.log")
        }

    def params(self) -> Params:
        """Read `params.yaml`."""
        loaded: Params = yaml.safe_load((self.path / "params.yaml").read_text(encoding="utf-8"))
        return loaded

    def edit(self, place: str, value: Any) -> None:
        """Set one parameter, named with dots; None removes it."""
        params = self.params()
        section = params
        *path, last = place.split(".")
        for key in path:
            section = section[key]
        if value is None:
            del section[last]
        else:
            section[last] = value
        self.write_params(params)

    def write_params(self, params: Params) -> None:
        """Replace `params.yaml`."""
        text = yaml.safe_dump(params, sort_keys=False)
        (self.path / "params.yaml").write_text(text, encoding="utf-8")

    def md5s(self) -> dict[str, str]:
        """md5 of every file that stages make."""
        return {
            path.relative_to(self.path).as_posix(): hashlib.md5(path.read_bytes()).hexdigest()
            for out in OUTS
            for path in sorted((self.path / out).rglob("*"))
            if path.is_file()
        }

    def is_quiet(self) -> None:
        """Expect that neither engine sees anything to do."""
        assert "Nothing to be done" in (text := self.snakemake("--dry-run").text), text
        assert (text := self.dvc("status").text).strip() == "Data and pipelines are up to date.", text

    def copy(self, to: Path) -> Project:
        """The same folder elsewhere, times of files included."""
        shutil.copytree(self.path, to, symlinks=True)
        return Project(to)

    def clone(self, to: Path) -> Project:
        """What git knows of it, elsewhere."""
        self.run("git", "clone", "--quiet", str(self.path), str(to))
        return Project(to)


def rewrite(project: Project, name: str, column: str) -> None:
    """Change one text of a parquet file by hand, keeping its schema and its lineage."""
    path = project.path / name
    table = pq.read_table(path)
    place = table.schema.get_field_index(column)
    texts = ["What is 1 + 1?", *table[column].to_pylist()[1:]]
    pq.write_table(table.set_column(place, table.schema.field(place), [texts]), path)


def make_project(folder: Path, params: Params) -> Project:
    """A project under git and DVC that nothing has been built in yet."""
    folder.mkdir()
    for name in TRACKED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copyfile(source, folder / name)
    (folder / ".dvc").mkdir()
    shutil.copyfile(ROOT / ".dvc" / "config", folder / ".dvc" / "config")
    shutil.copyfile(ROOT / ".dvc" / ".gitignore", folder / ".dvc" / ".gitignore")
    shutil.copytree(ROOT / ".dvc" / "plots", folder / ".dvc" / "plots")
    project = Project(folder)
    for name in ("annotations", "external", "own", "scenarios"):
        (folder / "data" / name).mkdir(parents=True)
        shutil.copyfile(ROOT / "data" / name / "README.md", folder / "data" / name / "README.md")
    project.write_params(params)
    project.run("git", "init", "--quiet", "--initial-branch", "main")
    project.dvc("remote", "add", "--force", "--default", "folder", str(folder.parent / "remote"))
    project.commit("the project")
    return project


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project that has been built, certified, committed and pushed. Not to be changed: take a copy."""
    folder = tmp_path_factory.mktemp("built") / "project"
    project = make_project(folder, tiny_params())
    project.snakemake()
    project.commit("the first run")
    project.dvc("push")
    return project


@pytest.fixture(scope="session")
def edited(built: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The built project after an edit of `statistics.resamples` to 300 and a run. Not to be changed."""
    project = built.copy(tmp_path_factory.mktemp("edited") / "project")
    project.edit("statistics.resamples", 300)
    assert project.snakemake().ran == RATING
    project.commit("another run")
    return project


@pytest.fixture
def project(built: Project, tmp_path: Path) -> Project:
    """A copy of the built project."""
    return built.copy(tmp_path / "project")


@pytest.fixture
def cloned(built: Project, tmp_path: Path) -> Project:
    """A clone of the built project, with the files that DVC holds pulled."""
    clone = built.clone(tmp_path / "clone")
    clone.dvc("pull")
    return clone


@pytest.fixture(params=["snakemake", "dvc"])
def rebuild(request: pytest.FixtureRequest) -> Callable[[Project], Done]:
    """Bring a project up to date, once with each engine."""
    if request.param == "snakemake":
        return lambda project: project.snakemake()
    return lambda project: project.dvc("repro")
