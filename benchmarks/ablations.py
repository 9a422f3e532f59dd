"""Time and memory of the ablations of a paper-sized league.

Usage: python benchmarks/ablations.py [--teachers 33] [--items 15000] [--resamples 10000] [--variants 0]

Prints seconds and peak memory, how many rows the tables have, and how well small samples order the teachers. Ends with
an error when the computed ablations take more than three minutes or 4 GiB.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from teaching_metrics import simulate

from magister.teaching._cube import FACTS
from magister.teaching.ablations import AblationTables, Variant, ablate

SECONDS, GIB = 180, 4.0


def own_answers(trajectories: pa.Table) -> pa.Table:
    """Answers of the teachers themselves: right where their first student was at last."""
    last = pc.max(trajectories["round"])
    first = pc.min(trajectories["student"])
    mask = pc.and_(pc.equal(trajectories["round"], last), pc.equal(trajectories["student"], first))
    return trajectories.filter(mask).select(["league", "teacher", "item_id", *FACTS, "status", "correct"])


def peak() -> float:
    """Peak memory of the process in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def timed(name: str, trajectories: pa.Table, variants: Iterator[Variant], resamples: int) -> AblationTables:
    """Run the ablations and print what they took."""
    begin = time.perf_counter()
    found = ablate(
        trajectories,
        own_answers(trajectories),
        variants,
        policy="wrong",
        resamples=resamples,
        level=0.95,
        seed=1,
    )
    seconds = time.perf_counter() - begin
    print(f"{name}: {seconds:.1f} s, peak memory {peak():.2f} GiB")
    print("rows: " + ", ".join(f"{part} {table.num_rows:,}" for part, table in found._asdict().items()))
    return found


def main() -> None:
    """Run and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--teachers", type=int, default=33)
    parser.add_argument("--students", type=int, default=4)
    parser.add_argument("--items", type=int, default=15_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--variants", type=int, default=0)
    options = parser.parse_args()
    size = (options.teachers, options.students, options.items, options.rounds)
    trajectories = simulate(*size, seed=1)
    print(f"trajectories: {trajectories.num_rows:,} rows; peak memory so far {peak():.2f} GiB")

    begin = time.perf_counter()
    found = timed("computed ablations", trajectories, iter(()), options.resamples)
    seconds = time.perf_counter() - begin
    fine = seconds <= SECONDS and peak() <= GIB
    for row in sorted(found.agreement.to_pylist(), key=lambda row: (len(row["setting"]), row["setting"])):
        if row["ablation"] == "cumulative" and row["metric"] == "CA" and row["spearman"] is not None:
            ends = [row[f"spearman_ci_{end}"] for end in ("low", "high")]
            between = "" if None in ends else f", {ends[0]:.3f} to {ends[1]:.3f}"
            print(f"{row['setting']:>6}: Spearman {row['spearman']:.3f}{between}")
    if options.variants:

        def derived() -> Iterator[Variant]:
            for n in range(options.variants):
                table = simulate(*size, seed=2 + n)
                yield Variant("option_order", f"order {n + 1}", table, own_answers(table))

        timed(
            f"with {options.variants} variants (and their simulation)",
            trajectories,
            derived(),
            options.resamples,
        )
    if not fine:
        raise SystemExit(f"more than {SECONDS} s or {GIB:g} GiB")


if __name__ == "__main__":
    main()
