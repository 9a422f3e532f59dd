"""A lock that DVC itself respects, held while Snakemake works.

DVC removes the folders of a stage before it starts the stage's command, and so before any lock of ours is asked. But
before that it asks its own list of who reads and writes which path (`.dvc/tmp/rwlock`), and refuses to write what
another live process reads. A run of Snakemake puts itself there as a reader: `dvc repro` is refused at once,
`dvc status`, which only reads, is not. Entries of processes that are gone are dropped by DVC.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from pathlib import Path

from magister.errors import UserError


def hold_folders(root: Path, folders: list[str]) -> ExitStack:
    """Say to DVC that this process works on some folders.

    Args:
        root: the project's folder.
        folders: those of the stages.

    Returns:
        What lets go of them when it is closed. It holds nothing where DVC's folder cannot be written to: no DVC can
        work there either.

    Raises:
        UserError: DVC is at work on one of them, or its list cannot be read.
    """
    # Imported here: only a run that starts jobs needs it.
    from dvc.config import Config
    from dvc.exceptions import DvcException
    from dvc.fs import localfs
    from dvc.lock import LockError
    from dvc.rwlock import rwlock

    held = ExitStack()
    here = os.path.abspath(root)
    state = os.path.join(here, ".dvc", "tmp")
    try:
        os.makedirs(state, exist_ok=True)
        guarded = bool(Config(os.path.join(here, ".dvc")).get("core", {}).get("hardlink_lock", False))
        paths = [os.path.join(here, folder) for folder in folders]
        lock = rwlock(state, localfs, "snakemake", paths, [], guarded)
        lock.__enter__()
    except LockError as error:
        raise UserError(
            f"DVC is at work in this folder: wait until it has ended, then run again. It says: {error}"
        ) from None
    except DvcException as error:
        raise UserError(f"DVC: {error}") from None
    except OSError:
        return held

    def let_go() -> None:
        # An entry that cannot be taken out now is dropped by DVC when this process is gone.
        with suppress(DvcException, OSError):
            lock.__exit__(None, None, None)

    held.callback(let_go)
    return held
