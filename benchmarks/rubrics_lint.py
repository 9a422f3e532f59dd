"""How long 330 scenario files take to lint: those of the grid, and as many copies of files of your own.

python benchmarks/rubrics_lint.py [FILE ...]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from magister.rubrics.grid import grid
from magister.rubrics.lint import lint_files

FILES = 330


def timed(what: str, paths: list[Path]) -> None:
    """Lint files and say how long it took."""
    started = time.perf_counter()
    found = lint_files(paths)
    size = sum(path.stat().st_size for path in paths) / 1e6
    print(
        f"{what}: {len(paths)} files, {size:.1f} MB, {len(found)} findings, {time.perf_counter() - started:.2f} s"
    )


def main() -> None:
    """Lint the grid, then copies of the named files."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for one in grid():
            paths.append(Path(folder) / f"{one.name}.yaml")
            paths[-1].write_text(one.text, encoding="utf-8")
        timed("grid", paths)
        for name in sys.argv[1:]:
            copies = []
            for number in range(FILES):
                copies.append(Path(folder) / f"{number}.yaml")
                copies[-1].write_bytes(Path(name).read_bytes())
            timed(name, copies)


if __name__ == "__main__":
    main()
