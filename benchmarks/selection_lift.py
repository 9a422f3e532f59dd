"""Do votes on instructions selected by maximum discrepancy order models better than votes on random ones?

Usage: python benchmarks/selection_lift.py [FOLDER] [--draws 10000] [--resamples 2000]

FOLDER holds the vote tables of seven models: arena7471_votes.csv (the pool) and the two selections of 210,
arena_mad10_bert_votes.csv and arena_mad10_embedding_votes.csv. Prints, for each selection, its measures with
intervals beside those of random draws of ten votes of each pair from the pool, and the selection lift with the pool
as the random arm. Ratings are mean shares of points over opponents.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from magister.arena.lift import Resampling, selection_lift
from magister.arena.redraws import against_draws


def votes_of(path: Path) -> pa.Table:
    """Votes of a file, instructions named by the hash of their prompt."""
    table = csv.read_csv(path).select(["model_a", "model_b", "winner", "prompt_sha12"])
    return table.rename_columns(["model_a", "model_b", "winner", "instruction_id"])


def main() -> None:
    """Print both tables for both selections."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    cases = Path(os.environ.get("MAGISTER_CASES", Path(__file__).resolve().parents[2] / "shared/cases"))
    parser.add_argument("folder", nargs="?", type=Path, default=cases / "arena")
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--resamples", type=int, default=2000)
    options = parser.parse_args()
    plan = Resampling(options.resamples, seed=0)
    pool = votes_of(options.folder / "arena7471_votes.csv")
    for name in ("bert", "embedding"):
        selected = votes_of(options.folder / f"arena_mad10_{name}_votes.csv")
        print(f"{name}: {selected.num_rows} selected votes; {options.draws:,} draws from {pool.num_rows:,}")
        print(
            f"{'measure':16}{'selected':>9} {'95 %':>16}{'random':>9} {'95 % of draws':>16}{'better than':>13}"
        )
        for row in against_draws(selected, pool, draws=options.draws, resampling=plan):
            own, drawn = f"{row.ci_low:.3f}..{row.ci_high:.3f}", f"{row.drawn_low:.3f}..{row.drawn_high:.3f}"
            share = f"{100 * row.above:.1f} %"
            print(f"{row.measure:16}{row.value:9.3f} {own:>16}{row.drawn:9.3f} {drawn:>16}{share:>13}")
        arms = [
            table.append_column("arm", pa.repeat(arm, table.num_rows))
            for table, arm in ((selected, "discrepant"), (pool, "random"))
        ]
        lift = selection_lift(pa.concat_tables(arms), resampling=plan).to_pylist()
        print(f"\n{'lift':16}{'arm':12}{'value':>9} {'95 %':>16}{'n':>8}")
        for row in lift:
            value, low, high = (row[key] for key in ("value", "ci_low", "ci_high"))
            interval = f"{low:.3f}..{high:.3f}" if low is not None else row["reason"]
            said = "-" if value is None else f"{value:.3f}"
            print(f"{row['measure']:16}{row['arm']:12}{said:>9} {interval:>16}{row['n']:8}")
        print()


if __name__ == "__main__":
    main()
