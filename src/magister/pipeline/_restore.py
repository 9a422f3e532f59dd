"""Bring a project to the state that its `dvc.lock` records: fetch, check, adopt, and say what is left to do."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from magister.errors import CheckFailed, UserError
from magister.pipeline._bridge import PREFIX
from magister.pipeline._dvc import DvcProject

_QUIET = "Nothing to be done"


@dataclass(frozen=True)
class Restored:
    """What a restored project needs.

    Attributes:
        adoption: what the check of the files said; empty where all were known.
        jobs: jobs that would run now, by rule.
    """

    adoption: str
    jobs: dict[str, int]


def fetch(root: Path, remote: str | None = None, *, force: bool = False) -> None:
    """Fetch what DVC's remote holds; DVC reports its own progress.

    Args:
        root: the project's folder.
        remote: name of the remote, the default one otherwise.
        force: replace files that were changed here.

    Raises:
        UserError: no DVC project, or no record to restore from.
        CheckFailed: DVC could not bring everything.
    """
    if not DvcProject(root).exists:
        raise UserError(
            f"{root.resolve().name}: no DVC project (.dvc and dvc.yaml). Run from the project's folder."
        )
    if not (root / "dvc.lock").is_file():
        raise UserError("dvc.lock: not there, so nothing has been recorded yet. Run: snakemake --cores all")
    command = [sys.executable, "-m", "dvc", "pull"]
    command += ["--remote", remote] if remote else []
    command += ["--force"] if force else []
    if subprocess.run(command, cwd=root, check=False).returncode:
        raise CheckFailed(
            "dvc pull could not bring everything (see above). What is here is kept; `snakemake --cores all` makes the "
            "rest."
        )


def check(root: Path) -> Restored:
    """Let Snakemake look at the files: what DVC certifies and fits its lineage is adopted.

    Args:
        root: the project's folder.

    Raises:
        CheckFailed: Snakemake cannot read the project.
    """
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "1", "--dry-run"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CheckFailed(f"snakemake --dry-run: {(done.stderr or done.stdout).strip()}")
    said = [line.removeprefix(PREFIX) for line in done.stderr.splitlines() if line.startswith(PREFIX)]
    text = done.stdout + done.stderr
    if _QUIET in text:
        return Restored("\n".join(said), {})
    table = re.search(r"^job +count\n-+ +-+\n(.*?)^total +\d+$", text, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^(\w+) +(\d+)$", table[1], re.MULTILINE) if table else []
    return Restored("\n".join(said), {rule: int(count) for rule, count in rows if rule != "all"})
