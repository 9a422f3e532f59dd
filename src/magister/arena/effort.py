"""Memory and threads. Speed alone depends on them: every block of work writes its own part of a result."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")

# NumPy's wheels rename the symbols of the OpenBLAS they bring.
_NAMES = ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads")


@dataclass(frozen=True)
class Effort:
    """What a computation may take. No result depends on it.

    Attributes:
        memory: bytes of working arrays, roughly; the arrays that are asked for come on top.
        threads: threads that work; None for the cores that this process may use.
    """

    memory: int = 2 * 2**30
    threads: int | None = None

    def workers(self) -> int:
        """Threads that work, 1 or more."""
        if self.threads is not None:
            return max(1, self.threads)
        # Not every system lets a process be held to some of its cores.
        known = hasattr(os, "sched_getaffinity")
        return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


@cache
def _openblas() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """How NumPy's OpenBLAS says and sets its number of threads; None for another BLAS."""
    for path in sorted((Path(np.__file__).parents[1] / "numpy.libs").glob("*openblas*")):
        library = ctypes.CDLL(str(path))
        for name in _NAMES:
            if hasattr(library, name.format("get")):
                return getattr(library, name.format("get")), getattr(library, name.format("set"))
    return None


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Our threads instead of the BLAS's: its threads wait for one another at every small product."""
    found = _openblas()
    if found is None:
        yield
        return
    get, put = found
    before = get()
    put(1)
    try:
        yield
    finally:
        put(before)


def each(work: Callable[[Item], None], items: Iterable[Item], effort: Effort) -> None:
    """Call `work` on every item, over threads.

    Args:
        work: writes its result where no other item's goes.
        items: what to work on.
        effort: how many threads.
    """
    with _one_blas_thread():
        if effort.workers() == 1:
            for item in items:
                work(item)
            return
        with ThreadPoolExecutor(effort.workers()) as pool:
            for _ in pool.map(work, items):
                pass
