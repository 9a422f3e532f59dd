"""The controls of a study: rival predictions, placebos and checks, and the verdict that follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.contracts.diagnosis_tables import DIAGNOSIS_CHECKS, PLACEBO
from magister.diagnosis.fits import Diagnostics, IrtFit, SaemFit
from magister.diagnosis.held_out import LEAST_KEPT, HeldOut, hold_out, item_means, score_predictions
from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.placebo import MEASURES, PlaceboRun, placebo_p, run_placebo
from magister.diagnosis.predictive import predictive_checks
from magister.diagnosis.prior import QPrior
from magister.diagnosis.support import Rules, Study, Verdict, decide

Array = NDArray[np.float64]
Row = dict[str, Any]
RHAT = 1.05
"""Chains that differ more than this have not converged."""
_BARE = dict.fromkeys(("value", "expected", "low", "high", "p", "holds"))


class FitSaem(Protocol):
    """Fits responses under a prior and predicts the cells that were held out."""

    def __call__(self, responses: ResponseMatrix, prior: QPrior, seed: int, held_out: HeldOut) -> SaemFit: ...


@dataclass(frozen=True)
class Fitters:
    """How models are fitted.

    Attributes:
        profile: as the published profiles are fitted.
        placebo: for the real and the shuffled priors; it may be shorter.
        irt: the two-parameter logistic model of responses with missing cells.
    """

    profile: FitSaem
    placebo: FitSaem
    irt: Callable[[ResponseMatrix], IrtFit]


@dataclass(frozen=True)
class Plan:
    """How much the controls do.

    Attributes:
        seed: of cells, placebos, fits and replicates.
        share: of each model's responses that is held out.
        placebos: shuffled priors.
        replicates: of the posterior predictive checks.
        level: of the intervals.
        least_kept: responses that every model and item keeps.
    """

    seed: int
    share: float = 0.1
    placebos: int = 19
    replicates: int = 200
    level: float = 0.95
    least_kept: int = LEAST_KEPT


@dataclass(frozen=True)
class Controls:
    """What the controls of a study came to.

    Attributes:
        predictions: PREDICTIONS table.
        placebo: PLACEBO table.
        checks: DIAGNOSIS_CHECKS table.
        verdict: what they say together.
    """

    predictions: pa.Table
    placebo: pa.Table
    checks: pa.Table
    verdict: Verdict


def run_controls(
    responses: ResponseMatrix,
    prior: QPrior,
    diagnostics: Diagnostics,
    fitters: Fitters,
    plan: Plan,
    rules: Rules | None = None,
) -> Controls:
    """Put a study's profiles to the test.

    Args:
        responses: N x J.
        prior: J x K.
        diagnostics: of the fit that the profiles come from.
        fitters: how models are fitted.
        plan: how much is done.
        rules: what the verdict asks for.

    Returns:
        Tables and verdict.
    """
    cells = hold_out(responses, share=plan.share, seed=plan.seed, least_kept=plan.least_kept)
    rest = responses.masked(cells.rows, cells.columns)
    fit = fitters.profile(rest, prior, plan.seed, cells)
    replicated = predictive_checks(rest, fit, replicates=plan.replicates, seed=plan.seed)
    if not cells.rows.size:
        why = f"no model and item have more than {plan.least_kept} responses: none can be held out"
        predictions = score_predictions(responses, cells, {}, level=plan.level, absent=_all(why))
        run = PlaceboRun(PLACEBO.schema.empty_table(), np.zeros(0), np.zeros((0, 0)))
    else:
        predictions, run = _rivals(responses, prior, fit, cells, fitters, plan)
    checks = check_table(diagnostics, predictions, run.table, replicated, rules)
    study = Study(len(responses.models), len(responses.items), len(prior.attributes), len(run.predicted))
    return Controls(predictions, run.table, checks, decide(checks.to_pylist(), study, rules))


def _rivals(
    responses: ResponseMatrix, prior: QPrior, fit: SaemFit, cells: HeldOut, fitters: Fitters, plan: Plan
) -> tuple[pa.Table, PlaceboRun]:
    """Predictions of all that the profiles must stand up to."""
    rest = responses.masked(cells.rows, cells.columns)
    fixed = QPrior(prior.items, prior.attributes, prior.reference, prior.reference.astype(np.float64))
    predicted = {
        "dina": fit.held_out,
        "fixed_q": fitters.profile(rest, fixed, plan.seed, cells).held_out,
        "item_mean": item_means(responses, cells),
    }
    absent = {}
    irt = fitters.irt(rest)
    if irt.converged:
        predicted["2pl"] = irt.predicted[cells.rows, cells.columns]
    else:
        absent["2pl"] = f"the 2PL model has not converged in {irt.iterations} iterations"

    def fit_prior(believed: QPrior, seed: int) -> SaemFit:
        return fitters.placebo(rest, believed, seed, cells)

    run = run_placebo(responses, cells, prior, fit_prior, draws=plan.placebos, seed=plan.seed)
    against = {}
    if len(run.predicted):
        predicted["placebo"], against["placebo"] = run.predicted, run.real
    else:
        absent["placebo"] = "no placebo was asked for"
    return score_predictions(
        responses, cells, predicted, level=plan.level, against=against, absent=absent
    ), run


def _all(reason: str) -> dict[str, str]:
    return dict.fromkeys(("dina", "fixed_q", "item_mean", "2pl", "placebo"), reason)


def check_table(
    diagnostics: Diagnostics,
    predictions: pa.Table,
    placebo: pa.Table,
    replicated: list[Row],
    rules: Rules | None = None,
) -> pa.Table:
    """All checks of a study in one table.

    Args:
        diagnostics: of the fit that the profiles come from.
        predictions: PREDICTIONS table.
        placebo: PLACEBO table.
        replicated: rows of `predictive_checks`.
        rules: what the verdict asks for.

    Returns:
        DIAGNOSIS_CHECKS table, sorted by its key.
    """
    rows = [
        *_convergence(diagnostics),
        *_held_out(predictions),
        *_placebo(placebo, rules or Rules()),
        *replicated,
    ]
    table = pa.Table.from_pylist(rows, schema=DIAGNOSIS_CHECKS.schema)
    return table.sort_by([(name, "ascending") for name in DIAGNOSIS_CHECKS.key])


def _convergence(found: Diagnostics) -> list[Row]:
    common = {"check": "convergence", "n": found.sweeps} | _BARE
    rows: list[Row] = [
        common
        | {
            "statistic": "converged",
            "holds": found.converged,
            "status": "ok",
            "reason": found.reason,
        }
    ]
    for name in ("rhat_items", "rhat_loglik", "q_jaccard", "alpha_agreement"):
        value = getattr(found, name)
        row = common | {"statistic": name}
        if np.isnan(value):
            row |= {"status": "not_computable", "reason": "too few chains or sweeps"}
        else:
            row |= {"value": float(value), "status": "ok", "reason": ""}
            if name.startswith("rhat"):
                row |= {"high": RHAT, "holds": bool(value <= RHAT)}
        rows.append(row)
    return rows


def _held_out(predictions: pa.Table) -> list[Row]:
    """Differences of the log-likelihood from every other predictor."""
    rows = []
    for row in predictions.to_pylist():
        if row["measure"] != "loglik" or row["predictor"] == "dina":
            continue
        low, high = row["difference_ci_low"], row["difference_ci_high"]
        holds = None if low is None or high is None else True if low > 0 else False if high < 0 else None
        status = row["status"]
        if row["difference"] is not None and low is None:
            status = "no_interval"
        elif row["difference"] is None:
            status = "not_computable"
        reason = row["reason"] or ("" if status == "ok" else "the two predictors do not differ")
        rows.append(
            _BARE
            | {"check": "held_out", "statistic": f"loglik_over_{row['predictor']}", "n": row["n"]}
            | {"value": row["difference"], "expected": 0.0, "low": low, "high": high, "holds": holds}
            | {"status": status, "reason": reason}
        )
    return rows


def _placebo(table: pa.Table, rules: Rules) -> list[Row]:
    """Every measure of the real prior beside the placebos' range, with its p, and the joint test."""
    drawn = table.sort_by("draw").to_pylist()
    found = placebo_p(table)
    draws = max(len(drawn) - 1, 0)
    enough = draws >= rules.least_placebos
    rows = []
    for name in (*MEASURES, "joint"):
        p = found[name]
        values = [row[name] for row in drawn if name in row and row[name] is not None]
        rest = values[1:] if len(values) == len(drawn) else []
        rows.append(
            _BARE
            | {"check": "placebo", "statistic": name, "n": draws, "p": p}
            | {
                "value": values[0] if rest else None,
                "expected": float(np.mean(rest)) if rest else None,
                "low": min(rest) if rest else None,
                "high": max(rest) if rest else None,
                "holds": None if p is None or not enough else p <= rules.alpha,
                "status": "not_computable" if p is None else "ok",
                "reason": "no placebo to compare with"
                if p is None
                else ""
                if enough
                else f"p cannot get to {rules.alpha:g} with {draws} placebos",
            }
        )
    return rows
