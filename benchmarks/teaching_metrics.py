"""Time `teaching_metrics` on paper-sized trajectories, beside plain pandas for the point values alone.

Usage: python benchmarks/teaching_metrics.py [--teachers 33] [--items 3800] [--resamples 1000]

Prints seconds, rows per second and peak memory of the process, and checks that CA, JA, GA and RA of both
agree.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import pandas as pd
import pyarrow as pa

from magister.contracts.schemas import TRAJECTORIES
from magister.teaching.metrics import teaching_metrics
from magister.teaching.standings import standings


def simulate(teachers: int, students: int, items: int, rounds: int, seed: int) -> pa.Table:
    """Trajectories of the given size: 60 datasets in 4 domains, about two items to a cluster."""
    rng = np.random.default_rng(seed)
    shape = (teachers, students, items, rounds + 1)
    u, s, n, t = (axis.ravel() for axis in np.indices(shape, dtype=np.int32))
    blind = rng.random((1, students, items)) < 0.4
    right = np.empty(shape, dtype=bool)
    right[..., 0] = blind
    for r in range(1, rounds + 1):
        move = rng.random(shape[:3])
        right[..., r] = np.where(right[..., r - 1], move > 0.1, move < 0.2)
    status = rng.choice(5, size=u.size, p=[0.96, 0.01, 0.01, 0.01, 0.01])
    names = np.array(["ok", "no_answer", "refusal", "truncated", "error"])
    says_right = np.where(
        rng.random(u.size) < 0.8, right[..., 0].repeat(rounds + 1), rng.random(u.size) < 0.5
    )
    verdict = np.where(t == 0, 2, np.where(rng.random(u.size) < 0.02, 2, np.where(says_right, 0, 1)))
    dataset = n % 60

    def text(code: np.ndarray, words: list[str]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(code.astype(np.int32)), words).cast(pa.string())

    correct = pa.array(right.ravel() & (status == 0), mask=status == 4)
    blank = text(np.zeros(u.size, dtype=np.int32), ["none"])
    columns = {
        "league": text(np.zeros(u.size), ["main"]),
        "arm": text(np.zeros(u.size), ["taught"]),
        "teacher": text(u, [f"teacher-{i:02d}" for i in range(teachers)]),
        "student": text(s, [f"student-{i}" for i in range(students)]),
        "item_id": text(n, [f"item-{i:06d}" for i in range(items)]),
        "round": pa.array(t),
        "dataset": text(dataset, [f"dataset-{i:02d}" for i in range(60)]),
        "domain": text(dataset % 4, ["knowledge", "reasoning", "comprehension", "multilingual"]),
        "cluster_id": text(n // 120 * 60 + dataset, [f"cluster-{i:06d}" for i in range(items + 120)]),
        "n_options": pa.array((n % 3 + 3).astype(np.int32)),
        "status": text(status, names.tolist()),
        "verdict": text(verdict, ["correct", "wrong", "none"]),
        "guide_status": text(np.zeros(u.size), ["ok"]),
        "leak": blank,
        "band": pa.array((n % 5 + 1).astype(np.int32)),
        **dict.fromkeys(("needs_options", "options_in_question", "multi"), pa.nulls(n.size, pa.bool_())),
        "answer": blank,
        "correct": correct,
        "request_id": blank,
        "guide_request_id": blank,
    }
    return pa.table(columns).select(TRAJECTORIES.schema.names).cast(TRAJECTORIES.schema)


def plain_pandas(trajectories: pa.Table) -> pd.DataFrame:
    """CA, JA, GA and RA per teacher, point values only, written the obvious way."""
    rows = trajectories.select(
        ["teacher", "student", "item_id", "round", "status", "correct", "verdict"]
    ).to_pandas()
    cell = ["teacher", "student", "item_id"]
    rows["error"] = rows["status"] == "error"
    rows = rows[~rows.groupby(cell)["error"].transform("any")]
    wide = rows.assign(correct=rows["correct"].astype(bool)).pivot(
        index=cell, columns="round", values="correct"
    )
    verdict = rows[rows["round"] == 1].set_index(cell)["verdict"]
    wide = wide.join(verdict)
    last = max(column for column in wide.columns if column != "verdict")
    share = wide.groupby(["teacher", "student"])[list(range(last + 1))].mean()
    wide["match"] = (wide["verdict"] == "correct") & wide[0] | (wide["verdict"] == "wrong") & ~wide[0]
    wrong = wide[~wide[0]]
    return pd.DataFrame(
        {
            "CA": (share[last] - share[0]).groupby("teacher").mean(),
            "JA": wide.groupby("teacher")["match"].mean(),
            "GA": wrong.groupby("teacher")[1].mean(),
            "RA": (share[last] / share[1] - 1).groupby("teacher").mean(),
        }
    )


def main() -> None:
    """Run both and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--teachers", type=int, default=33)
    parser.add_argument("--students", type=int, default=4)
    parser.add_argument("--items", type=int, default=3800)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--no-peer", action="store_true", help="leave the pandas computation out")
    options = parser.parse_args()
    trajectories = simulate(options.teachers, options.students, options.items, options.rounds, seed=1)
    print(f"trajectories: {trajectories.num_rows:,} rows; peak memory so far {_peak():.2f} GiB")

    start = time.perf_counter()
    metrics = teaching_metrics(
        trajectories, None, policy="wrong", resamples=options.resamples, level=0.95, seed=1
    )
    ours = time.perf_counter() - start
    print(f"magister: {_speed(ours, trajectories.num_rows)};")
    print(f"          {metrics.num_rows:,} metric rows with {options.resamples:,} resamples")
    start = time.perf_counter()
    _, compared = standings(
        trajectories, None, policy="wrong", resamples=options.resamples, level=0.95, seed=1
    )
    seconds = time.perf_counter() - start
    print(f"standings:{_speed(seconds, trajectories.num_rows)};")
    print(f"          {compared.num_rows:,} paired comparisons with {options.resamples:,} flips")
    if options.no_peer:
        return
    start = time.perf_counter()
    peer = plain_pandas(trajectories)
    theirs = time.perf_counter() - start
    print(f"pandas:   {_speed(theirs, trajectories.num_rows)};")
    print(f"          {peer.size} point values, overall only, no intervals")
    table = metrics.to_pandas()
    table = table[(table["slice_kind"] == "overall") & table["metric"].isin(peer.columns)]
    table = table[(table["metric"] != "CA") | (table["round"] == options.rounds)]
    gap = (table.pivot(index="teacher", columns="metric", values="value") - peer).abs().to_numpy().max()
    print(f"largest difference between the two: {gap:.1e}")
    if gap > 1e-12:
        raise SystemExit("the two computations disagree")


def _speed(seconds: float, rows: int) -> str:
    return f"{seconds:6.2f} s, {rows / seconds:12,.0f} rows/s, peak memory {_peak():.2f} GiB"


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
