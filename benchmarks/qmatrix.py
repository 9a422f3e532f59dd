"""How long clusters take, how much memory, and how far runs agree.

Usage: python benchmarks/qmatrix.py [--items 900 3000 12000] [--width 384] [--runs 3] [--workers 1] [--vectors FILE.npy]

Writes made-up vectors (40 topics with noise) unless a file of vectors is named, clusters some of them at k = 20, 28 and
36, and says for each number of items: seconds a run, seconds of the consensus at one k, the mean adjusted Rand index
between runs, and between the consensus partitions of two halves of the runs. Memory is the peak of the process so far.
The first run compiles UMAP and is timed apart.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import numpy as np

from magister.diagnosis.clusters import Clustering, Runs, cluster_runs, consensus
from magister.diagnosis.coassociation import membership
from magister.diagnosis.k_curve import adjusted_rand, stability

KS = (20, 28, 36)


def topics(items: int, width: int) -> np.ndarray:
    """Vectors of 40 topics of unequal size, near enough to one another that runs do not agree fully."""
    rng = np.random.default_rng(7)
    centres = rng.standard_normal((40, width))
    share = rng.dirichlet(np.full(40, 2.0))
    return centres[rng.choice(40, items, p=share)] + 2.5 * rng.standard_normal((items, width))


def halves(runs: Runs, k: int) -> float:
    """Agreement of the consensus partitions of two halves of the runs."""
    count = runs.labels.shape[1] // 2
    one, two = (
        consensus(Runs(runs.items, runs.types, runs.ks, part), k).labels
        for part in (runs.labels[:, :count], runs.labels[:, count : 2 * count])
    )
    return adjusted_rand(one, two)


def main() -> None:
    """Print a line per number of items and k."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, nargs="+", default=[900, 3000, 12000])
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--vectors", type=Path)
    arguments = parser.parse_args()

    def cluster(vectors: np.ndarray, runs: int) -> Runs:
        names = [f"i{number:06d}" for number in range(len(vectors))]
        settings = Clustering(runs=runs)
        return cluster_runs(names, [None] * len(names), vectors, KS, settings, workers=arguments.workers)

    cluster(topics(200, arguments.width), 2)
    for items in arguments.items:
        vectors = topics(items, arguments.width)
        if arguments.vectors is not None:
            every = np.load(arguments.vectors, mmap_mode="r")
            vectors = every[np.random.default_rng(7).permutation(len(every))[:items]]
        begin = time.perf_counter()
        runs = cluster(vectors, arguments.runs)
        each = (time.perf_counter() - begin) / arguments.runs
        for k in KS:
            begin = time.perf_counter()
            membership(runs, k, consensus(runs, k))
            joint = time.perf_counter() - begin
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"n {items:6}  k {k:3}  run {each:6.2f} s  consensus {joint:5.2f} s  peak {peak:5.0f} MB  "
                f"ARI of runs {stability(runs.of(k)).value:.3f}, of halves' consensus {halves(runs, k):.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
