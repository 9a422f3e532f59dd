"""Time and memory of fits by SAEM, without a model.

python benchmarks/saem.py [--sizes 2765x903x28 10000x2000x40] [--sweeps 4800] [--growth]

Prints what a sweep takes in time of the processor, which a busy machine does not change much, what a chain of so many
sweeps takes, and what two chains take on two threads. Ends with an error where a sweep of the first size takes more
than 3 ms of the processor's time, or of the second more than 51 ms.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from dataclasses import replace

import numpy as np

from magister.diagnosis._chain import BLOCKS, Run, merge_blocks, new_run, pack_data, run_block, start_chain
from magister.diagnosis.prior import QPrior, point_prior
from magister.diagnosis.saem import SaemOptions, fit_saem
from magister.diagnosis.simulation import Truth, mislabel, simulate_dina, simulate_mastery, simulate_q

LIMITS = {(2765, 903, 28): 3.0, (10_000, 2_000, 40): 51.0}
"""Milliseconds a sweep."""


def simulate(models: int, items: int, attributes: int) -> tuple[Truth, QPrior]:
    """Responses, and a prior that names the wrong attribute for a fifth of the simple items."""
    rng = np.random.default_rng(1)
    alpha = simulate_mastery(models, attributes, 0.5, rng)
    truth = simulate_dina(alpha, simulate_q(items, attributes, rng), rng)
    wrong = mislabel(truth.q, 0.2, rng)
    names = tuple(f"attribute {number:02d}" for number in range(1, attributes + 1))
    return truth, point_prior(QPrior(truth.responses.items, names, wrong, wrong.astype(float)))


def chain_of(truth: Truth, prior: QPrior, options: SaemOptions) -> Run:
    """A chain before its first sweep."""
    none = (np.zeros(0, np.intp), np.zeros(0, np.intp))
    data = pack_data(truth.responses, prior, options, none)
    return new_run(data, start_chain(truth.responses, prior, 1, 1, 1), options, (1, 2), 1)


def sweep_time(truth: Truth, prior: QPrior, options: SaemOptions) -> float:
    """Milliseconds a sweep of the processor's time, the least of some blocks of sequential sweeps."""
    run = chain_of(truth, prior, options)
    found = []
    while run.sweep < 800:
        if run.blocks == BLOCKS:
            merge_blocks(run)
        begin = time.thread_time()
        run_block(run)
        found.append((time.thread_time() - begin) / run.length * 1e3)
    return min(found[8:])


def peak() -> float:
    """Peak memory of the process in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def compare(size: tuple[int, int, int], sweeps: int) -> bool:
    """Print the figures of a size; whether they are within its limit."""
    truth, prior = simulate(*size)
    options = SaemOptions()
    name = " x ".join(f"{number:,}" for number in size)
    before = peak()
    each = sweep_time(truth, prior, options)
    limit = LIMITS.get(size, np.inf)
    print(f"{name}: {each:.2f} ms a sweep of the processor's time (limit {limit})", flush=True)
    long = replace(options, min_sweeps=sweeps, max_sweeps=sweeps)
    for chains in (1, 2):
        begin, used = time.perf_counter(), time.process_time()
        fit = fit_saem(truth.responses, prior, seed=1, chains=chains, options=long, threads=chains)
        seconds, used = time.perf_counter() - begin, time.process_time() - used
        rows = ((fit.q > 0.5) == truth.q).all(axis=1).mean()
        print(
            f"{name}: {chains} chain(s) of {fit.diagnostics.sweeps:,} sweeps on {chains} thread(s): {seconds:.1f} s, "
            f"{used:.1f} s of the processor's; mastery right {((fit.alpha > 0.5) == truth.alpha).mean():.4f}, rows "
            f"of Q right {rows:.4f}; peak memory {peak():.2f} GiB ({before:.2f} before)",
            flush=True,
        )
    return each <= limit


def growth() -> None:
    """Print how a sweep grows with the number of attributes, of models and of items."""
    for size in (
        *((2000, 500, attributes) for attributes in (5, 10, 20, 40, 80)),
        *((models, 500, 20) for models in (500, 2000, 8000)),
        *((2000, items, 20) for items in (125, 500, 2000)),
    ):
        each = sweep_time(*simulate(*size), SaemOptions())
        print(f"{size[0]:>6,} x {size[1]:>5,} x {size[2]:>3}: {each:.2f} ms a sweep", flush=True)


def main() -> None:
    """Run and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", nargs="+", default=["2765x903x28", "10000x2000x40"])
    parser.add_argument("--sweeps", type=int, default=4800)
    parser.add_argument("--growth", action="store_true")
    options = parser.parse_args()
    begin = time.perf_counter()
    run_block(chain_of(*simulate(64, 20, 3), SaemOptions()))
    print(f"compiling, or loading what was compiled: {time.perf_counter() - begin:.1f} s")
    fine = True
    for text in options.sizes:
        models, items, attributes = (int(number) for number in text.split("x"))
        sweeps = options.sweeps if models * items < 5_000_000 else options.sweeps // 10
        fine = compare((models, items, attributes), sweeps) and fine
    if options.growth:
        growth()
    if not fine:
        sys.exit("slower than the limits")


if __name__ == "__main__":
    main()
