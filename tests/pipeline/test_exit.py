"""What is found out when a process ends decides on its exit code."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import atexit, sys
from magister.pipeline import at_exit
atexit.register(lambda: print("before it"))
at_exit(lambda: print("it") or {found})
atexit.register(lambda: print("after it"))
sys.exit({code})
"""


@pytest.mark.parametrize(("found", "code", "expected"), [(0, 0, 0), (1, 0, 1), (0, 2, 2), (1, 1, 1)])
def test_a_failure_at_the_end_fails_the_process(found: int, code: int, expected: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(found=found, code=code)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == expected, done.stderr
    # Handlers run last first; those of others run whatever was found.
    said = done.stdout.split("\n")
    assert said.index("after it") < said.index("it") < said.index("before it")
    assert said.count("it") == 1
