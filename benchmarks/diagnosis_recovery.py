"""Does a diagnosis find what is there, and say so; and does it say no where nothing is?

Usage: python benchmarks/diagnosis_recovery.py [--quick] [--models 50,200] [--attributes 8,28] [--threads 2]

Simulated studies, whose truth is known, under two ways of spoiling the Q-matrix that is believed in: `labels`, one
attribute an item with 20 % of the items under a wrong one, and `entries`, one to three attributes an item with 20 % of
all entries flipped; with attributes that correlate by 0, 0.5 and 0.8. Printed for each: the share of models x
attributes classified right, the share of items whose whole row of Q is right (and of the rows that were believed in),
the mean errors of c and g over items that both kinds of models answered, the calibration error of p, the seconds, and
whether the chains converged.

Two controls then take the whole way to the verdict. Positive: responses of a DINA model under a prior of which 80 % are
right; the placebo's p is printed and the verdict must be `supported`. Negative: responses that one ability explains,
with a prior that means nothing; the verdict must be `not_supported`. One that comes out otherwise is an error.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from magister.diagnosis.controls import Controls, Fitters, Plan, run_controls
from magister.diagnosis.fits import SaemFit
from magister.diagnosis.held_out import HeldOut
from magister.diagnosis.irt import fit_2pl
from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.prior import QPrior, point_prior, q_matrix
from magister.diagnosis.saem import SaemOptions, fit_saem
from magister.diagnosis.simulation import (
    Truth,
    flip,
    mislabel,
    simulate_2pl,
    simulate_dina,
    simulate_mastery,
    simulate_q,
)

ITEMS_PER_ATTRIBUTE = 8
LEAST_ITEMS = 60
LARGEST = (2000, 900, 28)
"""Models, items, attributes of the largest study."""
SHORT = SaemOptions(max_sweeps=1000)
"""Of a placebo: two chains of these."""


@dataclass(frozen=True)
class Case:
    """One kind of study."""

    regime: str
    models: int
    items: int
    attributes: int
    correlation: float


@dataclass(frozen=True)
class Recovery:
    """What a fit found of the truth; shares, but for the errors."""

    mastery: float
    rows: float
    believed: float
    c_error: float
    g_error: float
    calibration: float
    seconds: float
    fit: SaemFit


def items_of(models: int, attributes: int) -> int:
    """As many items as the size of a study allows: the largest has 900."""
    if (models, attributes) == (LARGEST[0], LARGEST[2]):
        return LARGEST[1]
    return max(LEAST_ITEMS, ITEMS_PER_ATTRIBUTE * attributes)


def prior_of(reference: NDArray[np.bool_], responses: ResponseMatrix) -> QPrior:
    """Belief in a Q-matrix: 0.8 in its entries, 1/K in the others."""
    names = [f"attribute {k:02d}" for k in range(1, reference.shape[1] + 1)]
    return point_prior(q_matrix(pd.DataFrame(reference.astype(int), index=responses.items, columns=names)))


def simulate(case: Case, seed: int) -> tuple[Truth, QPrior]:
    """A study and what is wrongly believed of its items."""
    rng = np.random.default_rng([seed, case.models, case.attributes, round(10 * case.correlation)])
    q = simulate_q(case.items, case.attributes, rng, most=1 if case.regime == "labels" else 3)
    alpha = simulate_mastery(case.models, case.attributes, case.correlation, rng)
    truth = simulate_dina(alpha, q, rng)
    spoiled = mislabel(q, 0.2, rng) if case.regime == "labels" else flip(q, 0.2, rng)
    return truth, prior_of(spoiled, truth.responses)


def calibration_error(p: NDArray[np.float64], truth: NDArray[np.bool_], bins: int = 10) -> float:
    """Expected calibration error: mean distance of p from the share that is true, over equal bins of p."""
    place = np.minimum((p.ravel() * bins).astype(int), bins - 1)
    n = np.bincount(place, minlength=bins)
    gaps = np.abs(
        np.bincount(place, weights=p.ravel(), minlength=bins)
        - np.bincount(place, weights=truth.ravel().astype(float), minlength=bins)
    )
    return float(gaps.sum() / n.sum())


def recover(case: Case, seed: int, threads: int) -> Recovery:
    """Simulate, fit and compare with the truth."""
    truth, prior = simulate(case, seed)
    begin = time.perf_counter()
    fit = fit_saem(truth.responses, prior, seed=seed, threads=threads)
    seconds = time.perf_counter() - begin
    able = (~truth.alpha).astype(np.float32) @ truth.q.T.astype(np.float32) == 0
    # An item that all or none can do has no c or no g.
    both = able.any(axis=0) & ~able.all(axis=0)
    return Recovery(
        mastery=float(((fit.alpha > 0.5) == truth.alpha).mean()),
        rows=float(((fit.q > 0.5) == truth.q).all(axis=1).mean()),
        believed=float((prior.reference == truth.q).all(axis=1).mean()),
        c_error=float(np.abs(fit.slip - truth.slip)[both].mean()),
        g_error=float(np.abs(fit.guess - truth.guess)[both].mean()),
        calibration=calibration_error(fit.alpha, truth.alpha),
        seconds=seconds,
        fit=fit,
    )


def table(
    models: Sequence[int], attributes: Sequence[int], correlations: Sequence[float], threads: int
) -> None:
    """Print the recovery of every kind of study."""
    print(f"{'regime':8}{'r':>4}{'N':>6}{'J':>5}{'K':>4}{'mastery':>9}{'Q rows':>8}{'believed':>10}", end="")
    print(f"{'|dc|':>7}{'|dg|':>7}{'ECE':>7}{'s':>7}  converged")
    for regime in ("labels", "entries"):
        for correlation in correlations:
            for k in attributes:
                for n in models:
                    case = Case(regime, n, items_of(n, k), k, correlation)
                    found = recover(case, 1, threads)
                    diagnostics = found.fit.diagnostics
                    print(
                        f"{regime:8}{correlation:4.1f}{n:6}{case.items:5}{k:4}{found.mastery:9.4f}{found.rows:8.3f}"
                        f"{found.believed:10.3f}{found.c_error:7.3f}{found.g_error:7.3f}{found.calibration:7.3f}"
                        f"{found.seconds:7.1f}  {diagnostics.converged or diagnostics.reason}",
                        flush=True,
                    )


def controlled(responses: ResponseMatrix, prior: QPrior, seed: int, threads: int) -> Controls:
    """The whole way from responses to the verdict."""

    def profile(rest: ResponseMatrix, believed: QPrior, seed: int, cells: HeldOut) -> SaemFit:
        return fit_saem(rest, believed, seed=seed, held_out=(cells.rows, cells.columns), threads=threads)

    def placebo(rest: ResponseMatrix, believed: QPrior, seed: int, cells: HeldOut) -> SaemFit:
        return fit_saem(
            rest,
            believed,
            seed=seed,
            chains=2,
            options=SHORT,
            held_out=(cells.rows, cells.columns),
            threads=threads,
        )

    whole = fit_saem(responses, prior, seed=seed, threads=threads)
    return run_controls(
        responses, prior, whole.diagnostics, Fitters(profile, placebo, fit_2pl), Plan(seed=seed)
    )


def controls(models: int, attributes: int, correlations: Sequence[float], threads: int) -> bool:
    """Print both controls; whether they came out right."""
    right = True
    for correlation in correlations:
        case = Case("labels", models, ITEMS_PER_ATTRIBUTE * attributes, attributes, correlation)
        truth, prior = simulate(case, 2)
        found = controlled(truth.responses, prior, 2, threads)
        right &= show(f"positive, DINA, r = {correlation:g}", found, "supported")
    rng = np.random.default_rng(3)
    items = ITEMS_PER_ATTRIBUTE * attributes
    single = simulate_2pl(models, items, rng)
    meaningless = prior_of(simulate_q(items, attributes, rng, most=1), single)
    return (
        show("negative, one ability", controlled(single, meaningless, 3, threads), "not_supported") and right
    )


def show(name: str, found: Controls, wanted: str) -> bool:
    """Print a verdict with what it rests on; whether it is the one wanted."""
    checks = {(row["check"], row["statistic"]): row for row in found.checks.to_pylist()}
    p = {name: checks["placebo", name]["p"] for name in ("joint", "loglik", "share_kept")}
    said = "unknown" if None in p.values() else ", ".join(f"{name} {value:.2f}" for name, value in p.items())
    ok = found.verdict.support == wanted
    print(f"\n{name}: {found.verdict.support}" + ("" if ok else f", but should be {wanted}"))
    print(f"  placebo p: {said}")
    for row in found.checks.to_pylist():
        if row["check"] == "held_out" and row["value"] is not None:
            ends = "" if row["low"] is None else f" [{row['low']:+.4f}, {row['high']:+.4f}]"
            print(f"  {row['statistic']}: {row['value']:+.4f}{ends}")
    for reason in found.verdict.reasons:
        print(f"  - {reason}")
    sys.stdout.flush()
    return ok


def numbers(text: str) -> list[int]:
    """A list of whole numbers."""
    return [int(part) for part in text.split(",")]


def main() -> None:
    """Print the table and the controls; exit code 1 if a control comes out wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small studies only")
    parser.add_argument("--models", type=numbers, help="50,200,500,2000 by default")
    parser.add_argument("--attributes", type=numbers, help="8,28 by default")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--controls-only", action="store_true")
    options = parser.parse_args()
    models = options.models or ([50, 200] if options.quick else [50, 200, 500, 2000])
    attributes = options.attributes or ([8] if options.quick else [8, 28])
    correlations = (0.0, 0.5) if options.quick else (0.0, 0.5, 0.8)
    if not options.controls_only:
        table(models, attributes, correlations, options.threads)
    size = 200 if options.quick else 500
    if not controls(size, 8, correlations[:2], options.threads):
        sys.exit(1)


if __name__ == "__main__":
    main()
