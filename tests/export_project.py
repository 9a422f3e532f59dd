"""A small finished project, written by hand: a source, items, answers of a model, and a board in two files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from magister.provenance import code_md5s, file_md5, make_lineage, write_json, write_text

FINGERPRINT = {"engine": "llama_cpp", "weights_sha256": "ab" * 32, "context": 2048, "revision": None}
PARAMS: dict[str, Any] = {
    "models": {"tutor": {"engine": "llama_cpp", "system": None}},
    "teaching": {
        "rounds": 3,
        "share": 0.5,
        "blind": True,
        "students": ["ann", "bo"],
        "mixed": [1, "a"],
        "arms": {},
    },
}
PYPROJECT = """
[project]
name = "magister"
license = "Apache-2.0"
dependencies = ["numpy>=2.3", "Snakemake[all]>=9.27,<9.28", "typing_extensions"]
"""
LOCK = """
numpy==2.4.6 ; python_full_version < '3.12' \\
    --hash=sha256:aa
numpy==2.5.5 ; python_full_version >= '3.12' \\
    --hash=sha256:bb
    # via magister (pyproject.toml)
requests==2.34.2 \\
    --hash=sha256:cc
snakemake==9.27.1 \\
    --hash=sha256:dd
typing-extensions==4.15.0 \\
    --hash=sha256:ee
"""
CODE = ("scripts/make.py", "src/magister/helper.py")
MADE = (
    "data/made/items.json",
    "data/made/answers.jsonl",
    "results/teaching.parquet",
    "results/teaching.csv",
)


def _lineage(root: Path, rule: str, inputs: list[str], **more: Any) -> Any:
    given = {"wildcards": {}, "params": {}, "command": "c" * 32} | more
    return make_lineage(
        rule, inputs=[Path(name) for name in inputs], code=code_md5s(CODE, root), root=root, **given
    )


def write_results(root: Path) -> None:
    """Make everything anew from what is there."""
    items = _lineage(
        root,
        "build",
        ["data/own/frågor 1.jsonl"],
        wildcards={"dataset": "sums"},
        params=PARAMS["teaching"],
    )
    write_json(root / MADE[0], {"items": 2}, items)
    answers = _lineage(root, "complete", [MADE[0], "prompts/ask.md"], models={"tutor": FINGERPRINT})
    write_text(root / MADE[1], '{"text": "B"}\n', answers)
    board = _lineage(root, "teaching_board", [MADE[0], MADE[1]])
    table = pa.table({"CA": [0.25]}).replace_schema_metadata({b"magister": board.to_json().encode()})
    (root / "results").mkdir(exist_ok=True)
    pq.write_table(table, root / MADE[2])
    write_text(root / MADE[3], "CA\n0.25\n", board)


def write_lock(root: Path) -> None:
    """Record what is there, as DVC does after a full run."""
    files = [*MADE, *(f"{path}.lineage.json" for path in MADE if not path.endswith(".parquet"))]
    outs = [{"path": path, "md5": file_md5(root / path)} for path in files]
    deps = [{"path": "rules/make.smk", "md5": file_md5(root / "rules/make.smk")}]
    stage = {"outs": outs, "deps": deps, "params": {"params.yaml": {"teaching": PARAMS["teaching"]}}}
    other = {"outs": [{"path": "data/else", "md5": "0" * 32}], "params": {"params.yaml": {"arena": {"k": 1}}}}
    text = yaml.safe_dump({"schema": "2.0", "stages": {"teaching": stage, "arena": other}})
    (root / "dvc.lock").write_text(text, encoding="utf-8")


def make_project(root: Path) -> Path:
    """Write the project into a new folder."""
    stages = {"stages": {"teaching": {"cmd": "snakemake", "outs": ["data/made", "results"]}}}
    for path, text in {
        "Snakefile": 'include: "rules/make.smk"\n',
        "rules/make.smk": "rule build:\n",
        "scripts/make.py": "print(1)\n",
        "src/magister/helper.py": "x = 1\n",
        "prompts/ask.md": "Ask.\n",
        "data/own/frågor 1.jsonl": '{"q": "1 + 1"}\n',
        "LICENSE": "Apache\n",
        "README.md": "# Read me\n",
        "pyproject.toml": PYPROJECT,
        "requirements/run.lock": LOCK,
        "dvc.yaml": yaml.safe_dump(stages),
        "params.yaml": yaml.safe_dump(PARAMS, sort_keys=False),
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    write_results(root)
    write_lock(root)
    return root


def commit(root: Path, date: str) -> None:
    """Commit a folder at a given time."""
    who = ["-c", "user.name=Tess Ter", "-c", "user.email=tess@example.org"]
    environment = os.environ | {"GIT_COMMITTER_DATE": date}
    for command in (["init", "--quiet"], ["add", "README.md"], [*who, "commit", "--quiet", "-m", "a run"]):
        subprocess.run(["git", *command], cwd=root, check=True, env=environment)
