"""What `params.yaml` and the rules ask for: every job of a full run, as a list that can be read without Snakemake."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from magister.errors import UserError

JOBS_FILE = "MAGISTER_JOBS"
"""Environment variable: a dry run only writes its jobs to this file, and leaves all others as they are."""
_COMMAND = re.compile(r"--command ([0-9a-f]{32})\s*\Z")


@dataclass(frozen=True)
class Job:
    """One job of a full run.

    Attributes:
        rule: its name.
        wildcards: values.
        inputs: files that its script reads, sorted.
        code: source files of its script, sorted.
        outputs: files that it makes, sorted.
        params: slice of the parameters; None for a job without one.
        command: md5 of the rule's shell command; empty without one.
        stale: why it would run now, in Snakemake's words; None where it would not.
        known: whether Snakemake has a record of each of its outputs, so that `stale` can be told.
    """

    rule: str
    wildcards: dict[str, str]
    inputs: list[str]
    code: list[str]
    outputs: list[str]
    params: dict[str, Any] | None
    command: str
    stale: str | None
    known: bool


def write_jobs(workflow: Any, path: Path) -> int:
    """Write the jobs of a workflow whose graph is complete; nothing where it is not.

    Args:
        workflow: Snakemake's workflow object.
        path: where to.

    Returns:
        0, the exit code that this leads to.
    """
    if workflow.dag is None:
        return 0
    dag = workflow.dag
    # A dry run counts the jobs that it has shown as finished.
    stale = set(dag.needrun_jobs(exclude_finished=False))
    found = []
    for job in dag.jobs:
        outputs = sorted(map(str, job.output))
        if not outputs:
            continue
        code = sorted(map(str, job.input.get("code", [])))
        section = job.params.get("section")
        command = _COMMAND.search(job.rule.shellcmd or "")
        found.append(
            Job(
                rule=job.rule.name,
                wildcards={name: str(value) for name, value in job.wildcards.items()},
                inputs=sorted(set(map(str, job.input)) - set(code)),
                code=code,
                outputs=outputs,
                params=None if section is None else json.loads(section),
                command=command[1] if command else "",
                stale=str(dag.reason(job)) if job in stale else None,
                known=workflow.persistence.has_metadata(job),
            )
        )
    found.sort(key=lambda job: job.outputs)
    path.write_text(json.dumps([asdict(job) for job in found], sort_keys=True), encoding="utf-8")
    return 0


def read_jobs(root: Path, triggers: tuple[str, ...] = ()) -> list[Job]:
    """Ask Snakemake for all jobs of a full run. Nothing in the folder is changed.

    Args:
        root: the project's folder.
        triggers: what makes a job stale (`--rerun-triggers`); everything by default.

    Raises:
        UserError: Snakemake cannot read the project; says what it says.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.json"
        command = [sys.executable, "-m", "snakemake", "--cores", "1", "--dry-run", "--quiet", "all"]
        command += ["--nolock", *(["--rerun-triggers", *triggers] if triggers else [])]
        done = subprocess.run(
            command,
            cwd=root,
            env=os.environ | {JOBS_FILE: str(path)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or not path.is_file():
            raise UserError(f"snakemake --dry-run: {(done.stderr or done.stdout).strip()}")
        return [Job(**job) for job in json.loads(path.read_text(encoding="utf-8"))]
