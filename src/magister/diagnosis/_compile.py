"""Compiling kernels, and keeping what was compiled.

numba keeps a compiled function under the time and size of its own file and does not see changes of the functions that
it calls. What is kept here lies in a folder that is named by the content of all kernels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

_KERNELS = ("_compile.py", "_state.py", "_kernels.py", "_ability.py", "_sums.py", "_sweeps.py")


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that other kernels call: without the interpreter's lock, and with exact arithmetic."""
    return numba.njit(nogil=True)(function)


def kept_kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, and keep it beside the code, or in the user's cache, for later processes.

    Where no folder can be written to it is compiled anew in every process.
    """
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_folder())
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # numba: no locator available
        return kernel(function)
    finally:
        numba.config.CACHE_DIR = before


def _folder() -> Path:
    return folder_of(Path(__file__).parent)


def folder_of(here: Path) -> Path:
    """Where the compiled kernels of a folder are kept."""
    content = b"".join((here / name).read_bytes() for name in _KERNELS)
    return here / "__pycache__" / f"kernels-{hashlib.sha256(content).hexdigest()[:16]}"
