"""`magister record`: what a replay of the present run needs, as small files for version control."""

from __future__ import annotations

from pathlib import Path

from magister.cli._printing import echo
from magister.display import counted


def record() -> None:
    """Pack the answers of the last full run into `recorded/`, from where `magister replay` rebuilds it."""
    from magister.audit.record import record as pack

    done = pack(Path())
    for name, rows in done.rows.items():
        echo(f"{name}: {counted(rows, 'answer')}")
    for path in done.kept:
        echo(f"kept as it is: {path}")
    echo(
        f"recorded/ describes {counted(done.outputs, 'output')} and takes {done.size / 1e6:.2f} MB. "
        "Commit it with dvc.lock."
    )
