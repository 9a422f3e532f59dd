"""How fast are the reference fits of the diagnosis, beside other packages?

Usage: python benchmarks/exact_em.py [--attributes 5,8,10,12] [--sizes 3000x250,2765x903] [--threads 1]
           [--peer-limit 60]

DINA with a known Q-matrix on simulated responses of 2,000 models to 100 items (R's `din` took 0.5 s for 5 attributes,
2.5 for 8, 14 for 10 and 168 for 12 on one core), and the 2PL on simulated responses, the latter beside girth where it
can be imported (`PYTHONPATH` may name a folder that has it) and is not expected to run longer than the limit, by a run
on a tenth of the models and items; a package that is not there is said to be missing.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from magister.diagnosis import fit_2pl, fit_exact_em
from magister.diagnosis.simulation import simulate_2pl, simulate_dina, simulate_mastery, simulate_q

R_SECONDS = {5: 0.5, 8: 2.5, 10: 14.0, 12: 168.0}
GROWTH = 20
"""Ten times the items is ten times the work of girth, ten times the models less than that: much of it is overhead."""


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    found = work()
    return time.perf_counter() - begin, found


def dina(attributes: int, threads: int) -> None:
    rng = np.random.default_rng(attributes)
    truth = simulate_dina(simulate_mastery(2000, attributes, 0.5, rng), simulate_q(100, attributes, rng), rng)
    q = truth.q.astype(int)
    for method in ("em", "squarem"):
        seconds, fit = timed(lambda m=method: fit_exact_em(truth.responses, q, method=m, threads=threads))
        print(
            f"DINA 2000 x 100, K = {attributes:2d}, {method:7s} {seconds:7.2f} s"
            f" (R: {R_SECONDS.get(attributes, float('nan')):.1f} s), {fit.diagnostics['iterations']:.0f} steps,"
            f" log-likelihood {fit.loglik:.3f}, mastery right {np.mean((fit.alpha > 0.5) == truth.alpha):.4f}"
        )


def two_parameters(models: int, items: int, peer_limit: float) -> None:
    responses = simulate_2pl(models, items, np.random.default_rng(1))
    truth = np.random.default_rng(1)
    truth.standard_normal(models)
    slope = truth.uniform(0.8, 2.0, items)
    seconds, fit = timed(lambda: fit_2pl(responses))
    print(
        f"2PL {models} x {items}: {seconds:.2f} s, {fit.iterations} steps, "
        f"slopes off by {np.abs(fit.slope - slope).mean():.3f}"
    )
    try:
        girth = importlib.import_module("girth")
    except ImportError:
        print("  girth: missing")
        return
    whole = responses.correct.T.astype(np.int64)
    small = whole[: items // 10, : models // 10]
    trial, _ = timed(lambda: girth.twopl_mml(small))
    if trial * GROWTH > peer_limit:
        print(f"  girth: {trial:.2f} s for a tenth of the models and items; not run")
        return
    seconds, found = timed(lambda: girth.twopl_mml(whole))
    print(f"  girth: {seconds:.2f} s, slopes off by {np.abs(found['Discrimination'] - slope).mean():.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attributes", default="5,8,10,12")
    parser.add_argument("--sizes", default="3000x250,2765x903")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--peer-limit", type=float, default=60.0, help="seconds that another package may take"
    )
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    fit_exact_em(rng.integers(0, 2, (20, 4)), np.eye(4, dtype=int))  # compiled before any clock runs
    for attributes in map(int, filter(None, options.attributes.split(","))):
        dina(attributes, options.threads)
    for size in filter(None, options.sizes.split(",")):
        models, items = map(int, size.split("x"))
        two_parameters(models, items, options.peer_limit)


if __name__ == "__main__":
    main()
