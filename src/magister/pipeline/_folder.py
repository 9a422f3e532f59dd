"""Who works in a folder: tells a lock that a killed run left behind from one that a live run holds."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import NamedTuple

from magister.errors import UserError

WRITTEN = (".snakemake", "data", "logs", "results", "store")
"""Folders of a project that a run writes to."""


def check_folders(root: Path) -> None:
    """See that a run can write where it has to, before it starts.

    Raises:
        UserError: a folder is a file or cannot be written to; names it.
    """
    for name in WRITTEN:
        path = root / name
        if os.path.lexists(path) and not path.is_dir():
            raise UserError(
                f"{name}: expected a folder, found a file or a broken link. Move it away, then run again."
            )
        target = path if path.is_dir() else root
        if not os.access(target, os.W_OK | os.X_OK):
            shown = name if path.is_dir() else "the project's folder"
            raise UserError(f"{shown}: cannot be written to. Free it for writing, then run again.")


class Membership(NamedTuple):
    """That this process works in a folder."""

    held: int | None
    """Descriptor of the lock: keep it open. None where there is none to be had."""
    alone: bool
    """No other process works there; False too where that cannot be known."""

    def still_alone(self) -> bool:
        """Whether no other process works there now."""
        if self.held is None:
            return False
        try:
            fcntl.flock(self.held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            fcntl.flock(self.held, fcntl.LOCK_SH)
        return True


def join_folder(state: Path) -> Membership:
    """Say that this process works in a project, and clear what a killed run left locked.

    Snakemake notes in files what a run writes; a kill or a power cut leaves these notes behind, and every later
    run would be refused. Here each Snakemake process holds a shared lock of the operating system for as long as
    it lives, however it ends. Who can hold it alone knows that no other is there, so that notes found then are
    stale. While another process is there, a dry run too, nothing is cleared and Snakemake decides.

    Args:
        state: Snakemake's folder in the project, `.snakemake`.

    Returns:
        The membership. Where the file system knows no locks or the folder cannot be written to, it holds nothing
        and nothing is cleared.
    """
    held, alone = None, False
    try:
        state.mkdir(parents=True, exist_ok=True)
        # Not inherited by the jobs: one that outlives a killed run must not keep the folder.
        held = os.open(state / "magister.lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            alone = True
            shutil.rmtree(state / "locks", ignore_errors=True)
        fcntl.flock(held, fcntl.LOCK_SH)
    except OSError:
        if held is not None:
            os.close(held)
        return Membership(None, False)
    return Membership(held, alone)
