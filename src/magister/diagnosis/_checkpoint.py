"""A fit on disk while it runs, so that it can go on after it was stopped."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from magister.diagnosis._chain import Run, SaemOptions
from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.prior import QPrior
from magister.errors import UserError

FORMAT = "magister saem 1"
"""Of a checkpoint; another algorithm or other arrays have another."""
EVERY = 200
"""Sweeps from one checkpoint to the next, at least."""


def fingerprint(
    matrix: ResponseMatrix,
    prior: QPrior,
    options: SaemOptions,
    seed: int,
    chains: int,
    held_out: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> str:
    """What a fit is of: its data, its options and the format of its checkpoints."""
    said = [FORMAT, asdict(options), str(seed), chains, matrix.models, matrix.items, prior.attributes]
    digest = hashlib.sha256(json.dumps(said).encode())
    for array in (matrix.correct, prior.reference, prior.probability, *held_out):
        digest.update(repr((array.shape, array.dtype.str)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


class Checkpoint:
    """The file of a fit; nothing is kept where there is no path."""

    def __init__(self, path: Path | None, mark: str) -> None:
        self._path = path
        self._mark = mark
        self._kept = 0

    def restore(self, begin: Callable[[int], Run], chains: Iterable[int]) -> list[Run]:
        """Chains where the file left them; none without a file.

        A checkpoint of another fit (data, options, seed or version) is said and not used; it is written over in time.

        Raises:
            UserError: the file is no checkpoint.
        """
        if self._path is None or not self._path.exists():
            return []
        try:
            with np.load(self._path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            mark = str(arrays.pop("mark"))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise UserError(
                f"{self._path}: is no checkpoint of a fit ({type(error).__name__}); remove it, or name another file"
            ) from None
        if mark != self._mark:
            print(
                f"{self._path}: is of other data, options or another version; the fit starts anew",
                file=sys.stderr,
            )
            return []
        runs = []
        for number in chains:
            run = begin(number)
            for name, target in _arrays(run).items():
                target[...] = arrays[f"{number}.{name}"]
            run.length, run.blocks, run.sweep, stream = (int(value) for value in arrays[f"{number}.numbers"])
            run.rules = run.rules._replace(stream=stream)
            run.loglik, run.changes = arrays[f"{number}.loglik"], arrays[f"{number}.changes"]
            runs.append(run)
        self._kept = runs[0].sweep
        return runs

    def keep(self, runs: Sequence[Run]) -> None:
        """Write the file anew, once enough sweeps have passed."""
        if self._path is None or runs[0].sweep < self._kept + EVERY:
            return
        arrays: dict[str, Any] = {"mark": np.array(self._mark)}
        for number, run in enumerate(runs, start=1):
            arrays |= {f"{number}.{name}": array for name, array in _arrays(run).items()}
            arrays[f"{number}.numbers"] = np.array([run.length, run.blocks, run.sweep, run.rules.stream])
            arrays[f"{number}.loglik"], arrays[f"{number}.changes"] = run.loglik, run.changes
        _write(self._path, arrays)
        self._kept = runs[0].sweep

    def remove(self) -> None:
        """Remove the file."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def _arrays(run: Run) -> dict[str, NDArray[Any]]:
    parts = {"state": run.state._asdict(), "sums": run.sums._asdict(), "draws": vars(run.draws)}
    return {f"{part}.{name}": array for part, arrays in parts.items() for name, array in arrays.items()}


def _write(path: Path, arrays: dict[str, Any]) -> None:
    # Whole or not at all: a fit may be killed while it writes.
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with open(descriptor, "wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(temporary)
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None
