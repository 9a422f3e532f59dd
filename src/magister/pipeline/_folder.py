"""Who works in a folder: tells a lock that a killed run left behind from one that a live run holds."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path


def join_folder(state: Path) -> int | None:
    """Say that this process works in a project, and clear what a killed run left locked.

    Snakemake notes in files what a run writes; a kill or a power cut leaves these notes behind, and every later
    run would be refused. Here each Snakemake process holds a shared lock of the operating system for as long as
    it lives, however it ends. Who can hold it alone knows that no other is there, so that notes found then are
    stale. While another process is there, a dry run too, nothing is cleared and Snakemake decides.

    Args:
        state: Snakemake's folder in the project, `.snakemake`.

    Returns:
        The descriptor that holds the lock: keep it open. None where the file system knows no locks or the folder
        cannot be written to; then nothing is cleared.
    """
    held = None
    try:
        state.mkdir(parents=True, exist_ok=True)
        # Not inherited by the jobs: one that outlives a killed run must not keep the folder.
        held = os.open(state / "magister.lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            shutil.rmtree(state / "locks", ignore_errors=True)
        fcntl.flock(held, fcntl.LOCK_SH)
    except OSError:
        if held is not None:
            os.close(held)
        return None
    return held
