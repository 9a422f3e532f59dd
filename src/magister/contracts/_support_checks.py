"""What the verdict on a study promises: its checks follow from the controls, and it follows from its checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import Mask, absent, numbers, true
from magister.contracts._diagnosis_grid import Floats, Study
from magister.contracts._diagnosis_plan import LADDER, ControlPlan, DiagnosisPlan
from magister.contracts._estimates import EQUAL, reason_check
from magister.contracts._saem_checks import RHAT
from magister.contracts.diagnosis_tables import PREDICTORS
from magister.contracts.gate import Expectation, RowCheck, RowCount

Row = dict[str, Any]
_SIGNS = {"loglik": 1.0, "auc": 1.0, "brier": -1.0, "share_kept": 1.0, "fit_loglik": 1.0}
_JOINT = ("loglik", "share_kept")
_DIAGNOSTICS = ("rhat_items", "rhat_loglik", "q_jaccard", "alpha_agreement")
_REPLICATED = ("score_sd", "score_skew", "item_share", "pair_correlation")
# Of the four posterior predictive checks together.
_ALPHA = 0.05
_VALUES = ("value", "expected", "low", "high", "p")
STATISTICS = {
    "convergence": ("converged", *_DIAGNOSTICS),
    "held_out": tuple(f"loglik_over_{name}" for name in PREDICTORS if name != "dina"),
    "placebo": (*_SIGNS, "joint"),
    "posterior_predictive": _REPLICATED,
}
"""Rows that the checks of every study have."""


def least_placebos(controls: ControlPlan) -> int:
    """Draws with which p can get to alpha."""
    return max(1, math.ceil(1 / controls.alpha - 1 - EQUAL))


def _p(values: Floats) -> float | None:
    """Share of all draws, the real one with them, that do as well as the real one, which is first."""
    if len(values) < 2 or np.isnan(values).any():
        return None
    return (1 + int((values[1:] >= values[0]).sum())) / len(values)


def _placebo_rows(table: pa.Table, controls: ControlPlan) -> dict[str, Row]:
    """By statistic, what the placebos come to."""
    drawn = table.sort_by("draw")
    signed = {name: sign * numbers(drawn[name]) for name, sign in _SIGNS.items()}
    found: dict[str, Row] = {}
    for name, sign in _SIGNS.items():
        values, p = sign * signed[name], _p(signed[name])
        known = len(values) > 1 and not np.isnan(values).any()
        rest = values[1:]
        found[name] = {"p": p} | (
            {"value": values[0], "expected": rest.mean(), "low": rest.min(), "high": rest.max()}
            if known
            else {}
        )
    scores = []
    for name in _JOINT:
        if found[name]["p"] is not None:
            spread = signed[name].std()
            flat = spread <= 1e-12 * max(float(np.abs(signed[name]).max()), 1e-300)
            scores.append(
                np.zeros(len(signed[name])) if flat else (signed[name] - signed[name].mean()) / spread
            )
    found["joint"] = {"p": _p(np.max(scores, axis=0)) if scores else None}
    enough = max(table.num_rows - 1, 0) >= least_placebos(controls)
    for row in found.values():
        row["holds"] = None if row["p"] is None or not enough else row["p"] <= controls.alpha
        row["n"] = max(table.num_rows - 1, 0)
    return found


def _held_out_rows(predictions: pa.Table) -> dict[str, Row]:
    """By statistic, how DINA's log-likelihood compares."""
    found: dict[str, Row] = {}
    for row in predictions.to_pylist():
        if row["measure"] != "loglik" or row["predictor"] == "dina":
            continue
        low, high = row["difference_ci_low"], row["difference_ci_high"]
        bounded = low is not None and high is not None
        found[f"loglik_over_{row['predictor']}"] = {
            "value": row["difference"],
            "expected": 0.0,
            "low": low,
            "high": high,
            "n": row["n"],
            "holds": True if bounded and low > 0 else False if bounded and high < 0 else None,
        }
    return found


def _convergence_rows(fit: pa.Table) -> dict[str, Row]:
    """By statistic, what the fit says of its chains."""
    (row,) = fit.to_pylist() if fit.num_rows == 1 else ({},)
    common = {"n": row.get("sweeps")}
    found: dict[str, Row] = {"converged": common | {"holds": row.get("converged")}}
    for name in _DIAGNOSTICS:
        value = row.get(name)
        known = value is not None and name.startswith("rhat")
        found[name] = common | {"value": value}
        found[name] |= {"high": RHAT, "holds": bool(value <= RHAT)} if known else {}
    return found


def _told(table: pa.Table, plan: DiagnosisPlan, study: Study) -> tuple[Mask, dict[str, Mask]]:
    """Rows of statistics that are asked, and per column whether they say what the controls do."""
    given = study.given
    wanted = {
        "convergence": _convergence_rows(given.fit),
        "held_out": _held_out_rows(given.predictions),
        "placebo": _placebo_rows(given.placebo, plan.controls),
    }
    asked = np.zeros(table.num_rows, dtype=bool)
    alike = {name: np.ones(table.num_rows, dtype=bool) for name in (*_VALUES, "n", "holds")}
    for place, row in enumerate(table.to_pylist()):
        asked[place] = row["statistic"] in STATISTICS.get(row["check"], ())
        if row["check"] not in wanted:
            continue
        known = wanted[row["check"]].get(row["statistic"], {})
        for name, passed in alike.items():
            passed[place] = _equal(row[name], known.get(name))
    return asked, alike


def _equal(one: Any, other: Any) -> bool:
    if one is None or other is None or isinstance(one, bool):
        return one is other or one == other
    return bool(abs(one - other) <= EQUAL)


def check_checks(study: Study, plan: DiagnosisPlan) -> list[Expectation]:
    """Checks on DIAGNOSIS_CHECKS.

    Args:
        study: what was fitted.
        plan: what the study was to hold.
    """
    table = study.given.checks
    asked, alike = _told(table, plan, study)
    low, high, p = (numbers(table[name]) for name in ("low", "high", "p"))
    replicated = true(pc.equal(table["check"], "posterior_predictive"))
    limit = _ALPHA / len(_REPLICATED)
    holds = true(table["holds"])
    open_ = absent(table["holds"])
    computed = ~true(pc.equal(table["status"], "not_computable"))
    told = true(pc.not_equal(table["reason"], ""))
    by_p = np.where(open_, told, computed & (holds == (p > limit)))
    named = ~true(pc.equal(table["statistic"], "converged")) & ~true(pc.equal(table["statistic"], "joint"))

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("checks", name, columns, expected, passed)

    return [
        RowCount("checks", sum(map(len, STATISTICS.values())), "the statistics of all checks"),
        check("statistic_of_check", ("check", "statistic"), "a statistic of its check", asked),
        check(
            "values_of_controls",
            ("check", "statistic", "value", "expected", "low", "high", "n"),
            "what fit, predictions and placebos come to",
            np.logical_and.reduce([alike[name] for name in ("value", "expected", "low", "high", "n")]),
        ),
        check(
            "p_of_placebos",
            ("check", "statistic", "p"),
            "(1 + placebos that do as well) / (1 + placebos); none of fits and predictions",
            alike["p"],
        ),
        check(
            "holds_by_values",
            ("check", "statistic", "low", "high", "p", "holds"),
            "what the interval, p or R-hat says, and unknown where they leave it open",
            alike["holds"],
        ),
        check(
            "replicates_by_p",
            ("statistic", "p", "holds", "reason"),
            f"whether p of replicated responses is above {limit:g}; a reason where that is open",
            ~replicated | by_p,
        ),
        check(
            "value_unless_not_computable",
            ("status", "value"),
            "a value unless the status is not_computable",
            ~named | (computed == ~absent(table["value"])),
        ),
        check("ends_in_order", ("low", "high"), "low before high", ~(low > high)),
        reason_check("checks", "reason_unless_ok", table, ("status", "reason")),
    ]


@dataclass(frozen=True)
class _Case:
    """What the ladder looks at."""

    rows: Mapping[tuple[str, str], Row]
    sizes: tuple[int, int, int]
    placebos: int
    controls: ControlPlan

    def over(self, rival: str) -> Row | None:
        """The comparison with a rival; None where its interval is not known."""
        row = self.rows.get(("held_out", f"loglik_over_{rival}"))
        return None if row is None or any(row[name] is None for name in ("value", "low", "high")) else row


def _size(case: _Case) -> str:
    models, items, attributes = case.sizes
    few = models < case.controls.least_models or items < case.controls.least_items
    return "undetermined" if few or items < attributes else "supported"


def _better(case: _Case, rival: str) -> str:
    row = case.over(rival)
    if row is None:
        return "undetermined"
    return "not_supported" if row["high"] < 0 else "supported" if row["low"] > 0 else "undetermined"


def _shuffled(case: _Case) -> str:
    p = case.rows.get(("placebo", "joint"), {}).get("p")
    if p is None or case.placebos < least_placebos(case.controls):
        return "undetermined"
    return "supported" if p <= case.controls.alpha else "not_supported"


def _converged(case: _Case) -> str:
    return "supported" if case.rows.get(("convergence", "converged"), {}).get("holds") else "undetermined"


def _corrected(case: _Case) -> str:
    found = case.rows.get(("held_out", "loglik_over_fixed_q"), {})
    if found.get("value") == 0 and found.get("low") is None:
        return "supported"
    row, gain = case.over("fixed_q"), case.over("item_mean")
    if row is None:
        return "undetermined"
    lost = 0.0 if gain is None else case.controls.tolerance * max(gain["value"], 0.0)
    return "undetermined" if row["high"] < -lost else "supported"


def _reproduced(case: _Case) -> str:
    said = [row["holds"] for (check, _), row in case.rows.items() if check == "posterior_predictive"]
    return "supported" if True in said and False not in said else "undetermined"


_ASKED: dict[str, Callable[[_Case], str]] = {
    "size": _size,
    "single_ability": lambda case: _better(case, "2pl"),
    "item_mean": lambda case: _better(case, "item_mean"),
    "placebo": _shuffled,
    "convergence": _converged,
    "fixed_q": _corrected,
    "posterior_predictive": _reproduced,
}


def verdict_of(said: Mapping[str, str]) -> str:
    """The verdict that answers to the ladder come to."""
    if said.get("size") != "supported":
        return "undetermined"
    for verdict in ("not_supported", "undetermined"):
        if verdict in said.values():
            return verdict
    return "supported"


def support_checks(study: Study, plan: DiagnosisPlan) -> list[Expectation]:
    """Checks on VERDICT and RUNGS.

    Args:
        study: what was fitted.
        plan: what the study was to hold.
    """
    given = study.given
    case = _Case(
        {(row["check"], row["statistic"]): row for row in given.checks.to_pylist()},
        (len(study.models), len(study.items), len(study.attributes)),
        max(given.placebo.num_rows - 1, 0),
        plan.controls,
    )
    said = {name: question(case) for name, question in _ASKED.items()}
    verdict = verdict_of(said)
    rungs = given.rungs.to_pylist()
    follows = np.array([said.get(row["name"]) == row["says"] for row in rungs], dtype=bool)
    deciding = [row for row in rungs if row["says"] == verdict]
    if said["size"] != "supported":
        deciding = [row for row in rungs if row["name"] == "size"]
    reasons = sorted(row["reason"] for row in deciding)
    told = [sorted(row or []) == reasons for row in given.verdict["reasons"].to_pylist()]
    return [
        RowCount("rungs", len(LADDER), "the questions of the ladder"),
        RowCheck(
            "rungs",
            "says_what_checks_say",
            ("name", "says"),
            "what the checks and the size of the study come to",
            follows,
        ),
        RowCheck(
            "rungs",
            "reason_there",
            ("name", "reason"),
            "a reason",
            true(pc.not_equal(given.rungs["reason"], "")),
        ),
        RowCount("support", 1, "one verdict"),
        RowCheck(
            "support",
            "verdict_by_ladder",
            ("support",),
            f"{verdict}: a study too small is undetermined, one control against profiles is enough, and supported "
            "takes all of them",
            true(pc.equal(given.verdict["support"], verdict)),
        ),
        RowCheck(
            "support",
            "reasons_of_ladder",
            ("support", "reasons"),
            "the reasons of the questions that decided",
            np.array(told, dtype=bool),
        ),
    ]
