"""Rows from generators: reasoning-gym tasks and `sums`."""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from magister.config.items import ColumnMap, Dataset
from magister.errors import UserError
from magister.items.sources._rows import RawRows
from magister.items.sources._sums import generate_sums


def _near(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=5, cutoff=0.4)
    near = near or [one for one in known if name.split("_")[0] in one][:5]
    return f"Near names: {', '.join(near)}." if near else f"Known: {', '.join(known)}."


def _reasoning_gym(generator: str, size: int, seed: int, args: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a task in a child process whose string hashes are fixed: some tasks depend on the order of sets."""
    child = Path(__file__).with_name("_generate_rows.py")
    try:
        order = json.dumps({"generator": generator, "size": size, "seed": seed, "args": args})
    except TypeError as error:
        raise UserError(f"generator {generator!r}: generator_args: {error}") from None
    done = subprocess.run(
        [sys.executable, "-P", str(child)],
        input=order,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    if done.returncode == 3:
        known = [*json.loads(done.stdout)["known"], "sums"]
        raise UserError(f"unknown generator {generator!r}. {_near(generator, known)}")
    if done.returncode == 4:
        problem = json.loads(done.stdout)["error"]
        raise UserError(f"generator {generator!r} with {args or 'no arguments'}: {problem}")
    if done.returncode != 0:
        last = " | ".join(done.stderr.strip().splitlines()[-3:]) or f"exit code {done.returncode}"
        raise UserError(f"generator {generator!r} failed: {last}. Is reasoning-gym installed?")
    return [json.loads(line) for line in done.stdout.splitlines()]


def generate_rows(dataset: Dataset) -> RawRows:
    """Generate `n` rows. The same configuration gives the same rows.

    Raises:
        UserError: unknown generator (with near names) or wrong arguments.
    """
    generator, size = dataset.generator or "", dataset.n or 0
    args = dict(dataset.generator_args)
    if generator == "sums":
        unknown = sorted(set(args) - {"options"})
        if unknown:
            raise UserError(f"generator 'sums': unknown arguments {', '.join(unknown)}; known: options")
        rows = generate_sums(size, dataset.seed, args.get("options"))
    else:
        reserved = sorted(set(args) & {"size", "seed"})
        if reserved:
            names = ", ".join(reserved)
            raise UserError(f"generator {generator!r}: {names}: use `n` and `seed` of the data set")
        rows = _reasoning_gym(generator, size, dataset.seed, args)
    columns = ColumnMap.model_validate(
        {
            "options": "options" if any("options" in row for row in rows) else None,
            "cluster": "template" if any("template" in row for row in rows) else None,
        }
    )
    return RawRows(generator, columns, rows, list(range(1, len(rows) + 1)), [])
