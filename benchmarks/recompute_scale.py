"""Time the recomputation of a league of 1,000,000 trajectory rows: its metrics, standings and comparisons.

Usage: python benchmarks/recompute_scale.py [--teachers 20] [--items 3125] [--resamples 1000]

Prints seconds, cells compared and peak memory of the process, and fails where a cell does not come out the same.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
import pyarrow as pa
from teaching_metrics import simulate

from magister.audit.recompute._cells import FACTS
from magister.audit.recompute._crossed import COMPARISONS_KEY, STANDINGS_KEY
from magister.audit.recompute._league_metrics import KEY
from magister.audit.recompute._ledger import Ledger, Sheet
from magister.audit.recompute._teaching import hold_league
from magister.teaching.metrics import teaching_metrics
from magister.teaching.standings import standings

CELL = ("league", "arm", "teacher", "student", "item_id", "round")


def own_answers(trajectories: pa.Table, teachers: int, seed: int) -> pa.Table:
    """A zero-shot answer of every teacher to every item, with the items' facts."""
    rng = np.random.default_rng(seed)
    items = (
        trajectories.select(["item_id", *FACTS])
        .group_by("item_id")
        .aggregate([(name, "min") for name in FACTS])
    )
    items = items.rename_columns([name.removesuffix("_min") for name in items.column_names])
    parts = []
    for number in range(teachers):
        right = pa.array(rng.random(items.num_rows) < 0.6)
        names = {"league": "main", "teacher": f"teacher-{number:02d}", "status": "ok"}
        part = items.append_column("correct", right)
        for name, value in names.items():
            part = part.append_column(name, pa.repeat(pa.scalar(value), items.num_rows))
        parts.append(part)
    return pa.concat_tables(parts)


def main() -> None:
    """Make a league, recompute it and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--teachers", type=int, default=20)
    parser.add_argument("--students", type=int, default=4)
    parser.add_argument("--items", type=int, default=3125)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--resamples", type=int, default=1000)
    options = parser.parse_args()
    trajectories = simulate(options.teachers, options.students, options.items, options.rounds, seed=1)
    own = own_answers(trajectories, options.teachers, seed=2)
    settings: dict[str, Any] = {"policy": "wrong", "resamples": options.resamples, "level": 0.95, "seed": 1}
    start = time.perf_counter()
    metrics = teaching_metrics(trajectories, own, **settings)
    ranked, compared = standings(trajectories, own, **settings)
    print(f"made:       {time.perf_counter() - start:6.2f} s, {_peak():.2f} GiB")
    tables = {
        "metrics": Sheet("metrics.parquet", metrics, KEY),
        "standings": Sheet("standings.parquet", ranked, STANDINGS_KEY),
        "comparisons": Sheet("comparisons.parquet", compared, COMPARISONS_KEY),
    }
    ledger = Ledger("teaching")
    start, busy = time.perf_counter(), time.process_time()
    answers = own.rename_columns(["model" if name == "teacher" else name for name in own.column_names])
    hold_league(ledger, "main", Sheet("trajectories.parquet", trajectories, CELL), answers, tables, "wrong")
    seconds = time.perf_counter() - start
    busy = time.process_time() - busy
    rows, cells = trajectories.num_rows, sum(ledger.cells.values())
    print(f"recomputed: {seconds:6.2f} s ({busy:.2f} s of processor time), peak memory {_peak():.2f} GiB;")
    print(f"            {rows:,} rows, {cells:,} cells compared")
    for finding in ledger.findings[:10]:
        print(finding)
    if ledger.findings:
        raise SystemExit(f"{len(ledger.findings)} cells do not come out the same")


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
