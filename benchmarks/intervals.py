"""Do the intervals and tests hold what they say, and how long do they take?

Usage: python benchmarks/intervals.py [coverage] [speed] [--replications 1000]

`coverage` simulates leagues whose truth is known in closed form and prints how often 95 % intervals of CA, GA
and their paired differences hold it, and how often Holm-adjusted sign-flip tests tell equal teachers apart. It
ends with an error when a coverage lies outside 93-97 % or the family-wise error above 5 %. `speed` prints seconds
and peak memory of a paper-sized league, beside `scipy.stats.bootstrap` on a part of it.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from magister.stats import (
    bootstrap_weights,
    crossed_sample,
    holm,
    rank_intervals,
    sign_flip,
    significance_groups,
    student_mean,
    student_ratio,
)

RESAMPLES = 2000
LOST = 0.1
HEADS = ("CA", "GA", "CA diff.", "GA diff.")


def gains(totals: NDArray, students: NDArray) -> NDArray:
    """CA and GA of sums (cells, gained, wrong before, fixed)."""
    cells, gained, wrong, fixed = np.moveaxis(totals, -1, 0)
    return np.stack([student_mean(gained, cells, students), student_ratio(fixed, wrong, students)], axis=-1)


@dataclass(frozen=True)
class Design:
    """A simulated league.

    Attributes:
        clusters: number of clusters.
        sizes: smallest and largest number of items in a cluster.
        students: number of students.
        random: whether students are drawn anew for every replication.
        fix: rate at which each teacher's guidance fixes a wrong answer, on average over students.
        spread: how far a student may follow one teacher better or worse than the others.
    """

    clusters: int
    sizes: tuple[int, int]
    students: int
    random: bool
    fix: tuple[float, ...] = (0.3, 0.4)
    spread: float = 0.06


DESIGNS = (
    Design(20, (1, 1), 4, False),
    Design(20, (5, 5), 4, False),
    Design(40, (1, 9), 4, False),
    Design(100, (1, 9), 4, False),
    Design(20, (5, 5), 4, True),
    Design(40, (1, 9), 4, True),
    Design(100, (10, 10), 4, True),
    Design(40, (3, 8), 8, True),
)


def simulate(design: Design, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    """Sums (C, U, S, 4) of one replication and the truth of CA and GA, shape (U, 2).

    Chances are sums of independent parts of students, clusters and items, so that expectations are products:
    CA = (1 - b) f - b l and GA = sum (1 - b) f / sum (1 - b) for blind rate b, fix rate f and loss rate l.
    """
    students, units = design.students, len(design.fix)
    pool = rng if design.random else np.random.default_rng(1)
    blind = pool.uniform(0.25, 0.45, size=students)
    rate = np.array(design.fix)[:, None] + pool.uniform(-0.1, 0.1, size=(1, students))
    rate = rate + pool.uniform(-1, 1, size=(units, students)) * design.spread
    sizes = rng.integers(design.sizes[0], design.sizes[1] + 1, size=design.clusters)
    code = np.repeat(np.arange(design.clusters), sizes)
    hard = rng.uniform(-0.18, 0.18, size=design.clusters)[code] + rng.uniform(-0.05, 0.05, size=code.size)
    easy = rng.uniform(-0.12, 0.12, size=design.clusters)[code]
    right = rng.random((code.size, 1, students)) < blind + hard[:, None, None]
    right = np.broadcast_to(right, (code.size, units, students))
    draw = rng.random(right.shape)
    fixed = ~right & (draw < rate + easy[:, None, None])
    lost = right & (draw < LOST)
    cells = np.stack([np.ones_like(right), fixed * 1 - lost * 1, ~right, fixed], axis=-1).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    sums = np.add.reduceat(cells, starts, axis=0)
    if design.random:
        mean = np.array(design.fix)
        truth = np.stack([(1 - 0.35) * mean - 0.35 * LOST, mean], axis=-1)
    else:
        truth = np.stack(
            [
                ((1 - blind) * rate - blind * LOST).mean(axis=1),
                ((1 - blind) * rate).sum(axis=1) / (1 - blind).sum(),
            ],
            axis=-1,
        )
    return sums, truth


def coverage(design: Design, replications: int, seed: int) -> NDArray:
    """Share of 95 % intervals that hold the truth: CA, GA of a teacher and of the paired difference."""
    rng = np.random.default_rng(seed)
    # The interval for random students needs no resamples.
    resamples = 0 if design.random else RESAMPLES
    hits = np.zeros(4)
    for k in range(replications):
        # New resamples each time: the noise of one set would be common to all replications.
        stream = seed * replications + k
        weights = bootstrap_weights(["all"] * design.clusters, resamples=resamples, seed=stream)
        sums, truth = simulate(design, rng)
        sample = crossed_sample(sums, gains, weights)
        for at, part, target in (
            (0, sample, truth.ravel()[:2]),
            (2, sample.differences([(0, 2), (1, 3)]), truth[0] - truth[1]),
        ):
            found = part.random_students() if design.random else part.fixed_students()
            hits[at : at + 2] += (found.ci_low[:2] <= target) & (target <= found.ci_high[:2])
    return hits / replications


def family_wise_error(replications: int, seed: int) -> float:
    """Share of leagues of six equal teachers in which Holm's method tells any two apart by their CA."""
    design = Design(40, (1, 9), 4, False, (0.35,) * 6, spread=0.0)
    rng = np.random.default_rng(seed)
    weights = bootstrap_weights(["all"] * design.clusters, resamples=0, seed=seed)
    pairs = list(itertools.combinations(range(0, 12, 2), 2))
    wrong = 0
    for k in range(replications):
        sample = crossed_sample(simulate(design, rng)[0], gains, weights).differences(pairs)
        wrong += (holm(sign_flip(sample.contributions(), flips=4999, seed=k).p) <= 0.05).any()
    return wrong / replications


def print_coverage(replications: int) -> bool:
    """Print the table; whether all of it lies within bounds."""
    print(f"coverage of 95 % intervals, {replications:,} replications")
    print(
        f"{'estimand':16} {'clusters':>8} {'items each':>10} {'students':>8}   "
        + "  ".join(f"{h:>8}" for h in HEADS)
    )
    fine = True
    for seed, design in enumerate(DESIGNS):
        shares = coverage(design, replications, seed)
        fine &= bool(((shares >= 0.93) & (shares <= 0.97)).all())
        name = "random students" if design.random else "fixed students"
        size = "-".join(str(n) for n in sorted(set(design.sizes)))
        row = "  ".join(f"{100 * share:7.1f}%" for share in shares)
        print(f"{name:16} {design.clusters:8} {size:>10} {design.students:8}   {row}", flush=True)
    error = family_wise_error(replications, seed=99)
    print(f"family-wise error of Holm's method over 15 pairs of equal teachers at 5 %: {100 * error:.1f} %")
    print(f"Monte Carlo standard error of a coverage: {100 * (0.05 * 0.95 / replications) ** 0.5:.1f} points")
    return fine and error <= 0.05


def curve(totals: NDArray, students: NDArray) -> NDArray:
    """CA of rounds 1..3, GA, regression and RA of sums (cells, right at 0..3, fixed in round 1)."""
    cells, blind, *right, fixed = np.moveaxis(totals, -1, 0)
    lost = blind + fixed - right[0]
    return np.stack(
        [student_mean(after - blind, cells, students) for after in right]
        + [
            student_ratio(fixed, cells - blind, students),
            student_ratio(lost, blind, students),
            student_mean(right[-1] - right[0], right[0], students),
        ],
        axis=-1,
    )


def league(teachers: int, students: int, items: int, size: int) -> NDArray:
    """Sums (C, U, S, 6) of random answers in clusters of `size` items."""
    rng = np.random.default_rng(1)
    shape = (items, teachers, students)
    right = [np.broadcast_to(rng.random((items, 1, students)) < 0.4, shape)]
    for _ in range(3):
        move = rng.random(shape, dtype=np.float32)
        right.append(np.where(right[-1], move > 0.1, move < 0.2))
    marks = np.stack([np.ones(shape, dtype=bool), *right, ~right[0] & right[1]], axis=-1)
    return np.add.reduceat(marks, np.arange(0, items, size), axis=0, dtype=np.int32)


def print_speed(teachers: int, students: int, items: int, size: int, resamples: int) -> bool:
    """Time a league and scipy on one statistic of it; whether the league keeps its bounds."""
    sums = league(teachers, students, items, size)
    clusters = sums.shape[0]
    print(f"{teachers} teachers x {students} students x {items:,} items x 4 rounds, {clusters:,} clusters")
    begin = time.perf_counter()
    weights = bootstrap_weights([str(k % 60) for k in range(clusters)], resamples=resamples, seed=1)
    sample = crossed_sample(sums, curve, weights)
    fixed = sample.fixed_students()
    sample.random_students()
    contributions = sample.contributions()
    values = time.perf_counter() - begin
    print(f"{fixed.shape[0]} statistics, {resamples:,} resamples, both kinds of students: {values:.1f} s")
    kinds = sample.value.size // teachers
    at = [
        [(kinds * a + k, kinds * b + k) for a, b in itertools.combinations(range(teachers), 2)]
        for k in (2, 3)
    ]
    for name, pairs in zip(("CA", "GA"), at, strict=True):
        difference = sample.differences(pairs)
        difference.fixed_students()
        difference.random_students()
        tests = sign_flip(contributions, flips=resamples, seed=1, pairs=pairs)
        scores = sample.value[pairs[0][0] :: kinds]
        ranks = rank_intervals(scores, sample.replicates[:, pairs[0][0] :: kinds])
        between = list(itertools.combinations(range(teachers), 2))
        letters = significance_groups(scores, between, holm(tests.p))
        print(
            f"{name}: {len(pairs)} differences, tests, {ranks.rank.size} ranks, {len(set(''.join(letters)))} groups"
        )
    ours, peak = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"in all {ours:.1f} s, peak memory {peak:.2f} GiB")

    begin = time.perf_counter()
    columns = [*(sums[:, 0, :, 4] - sums[:, 0, :, 1]).T, *sums[:, 0, :, 0].T]

    def gain(*drawn: NDArray, axis: int = -1) -> NDArray:
        tops, cells = (
            np.stack([part.sum(axis=axis) for part in half]) for half in (drawn[:students], drawn[students:])
        )
        return (tops / cells).mean(axis=0)

    theirs = scipy_stats.bootstrap(
        columns, gain, paired=True, vectorized=True, n_resamples=resamples, batch=100, method="percentile", rng=1
    )  # fmt: skip
    one = time.perf_counter() - begin
    low, high = theirs.confidence_interval
    print(
        f"scipy.stats.bootstrap: {one:.1f} s for one CA, {one * sample.value.size:,.0f} s for all statistics alone"
    )
    print(
        f"CA of the first teacher: {fixed[2].ci_low:.5f} to {fixed[2].ci_high:.5f}; scipy {low:.5f} to {high:.5f}"
    )
    return ours <= 60 and peak <= 4


def main() -> None:
    """Run what was asked for and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", help="both by default")
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--teachers", type=int, default=33)
    parser.add_argument("--students", type=int, default=4)
    parser.add_argument("--items", type=int, default=15_000)
    parser.add_argument("--cluster-size", type=int, default=2)
    parser.add_argument("--resamples", type=int, default=10_000)
    options = parser.parse_args()
    what = options.what or ["speed", "coverage"]
    if not set(what) <= {"speed", "coverage"}:
        parser.error("expected coverage, speed or both")
    fine = True
    if "speed" in what:
        fine &= print_speed(
            options.teachers, options.students, options.items, options.cluster_size, options.resamples
        )
    if "coverage" in what:
        begin = time.perf_counter()
        fine &= print_coverage(options.replications)
        print(f"{time.perf_counter() - begin:.0f} s")
    if not fine:
        raise SystemExit("a figure lies outside its bounds")


if __name__ == "__main__":
    main()
