"""The controls of a study: how its checks follow from predictions and placebos, and its verdict from the checks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from magister.audit.recompute._draws import student
from magister.audit.recompute._ledger import Floats, Ledger, Sheet
from magister.config.diagnosis import Checks

_MEASURES = {"loglik": 1.0, "auc": 1.0, "brier": -1.0, "share_kept": 1.0, "fit_loglik": 1.0}
_SCORED = ("loglik", "auc", "brier")
_RHAT = 1.05
Row = Mapping[str, Any]


def hold_checks(
    ledger: Ledger,
    checks: Sheet,
    predictions: Sheet,
    placebo: pa.Table,
    record: Mapping[str, Any],
    alpha: float,
) -> None:
    """Checks that follow from other files: convergence, held-out responses, placebos; and identities of predictions.

    Args:
        ledger: for findings.
        checks: DIAGNOSIS_CHECKS.
        predictions: PREDICTIONS.
        placebo: PLACEBO.
        record: fit.json.
        alpha: level of the placebo's test.
    """
    _hold_predictions(ledger, predictions, placebo)
    _hold_convergence(ledger, checks, record["diagnostics"])
    found = {(row["predictor"], row["measure"]): row for row in predictions.table.to_pylist()}
    for (predictor, measure), row in found.items():
        at = checks.find([("held_out", f"loglik_over_{predictor}")])
        if measure != "loglik" or predictor == "dina" or at[0] < 0:
            continue
        low, high = row["difference_ci_low"], row["difference_ci_high"]
        holds = np.nan if low is None or high is None else 1.0 if low > 0 else 0.0 if high < 0 else np.nan
        wanted = {"value": row["difference"], "low": low, "high": high, "n": row["n"], "holds": holds}
        wanted["expected"] = 0.0
        for column, value in wanted.items():
            number = np.nan if value is None else float(value)
            ledger.compare(checks, column, np.array([number]), "controls: held-out responses", rows=at)
    _hold_placebo(ledger, checks, placebo, alpha)
    _hold_replicated(ledger, checks)


def _hold_convergence(ledger: Ledger, checks: Sheet, diagnostics: Mapping[str, Any]) -> None:
    at = checks.find([("convergence", "converged")])
    if at[0] >= 0:
        ledger.compare(
            checks, "holds", np.array([float(diagnostics["converged"])]), "controls: convergence", rows=at
        )
    for name in ("rhat_items", "rhat_loglik", "q_jaccard", "alpha_agreement"):
        at = checks.find([("convergence", name)])
        if at[0] < 0:
            continue
        value = diagnostics[name]
        number = np.nan if value is None else float(value)
        ledger.compare(checks, "value", np.array([number]), "controls: convergence", rows=at)
        ledger.compare(
            checks, "n", np.array([float(diagnostics["sweeps"])]), "controls: convergence", rows=at
        )
        if name.startswith("rhat") and value is not None:
            ledger.compare(checks, "high", np.array([_RHAT]), "controls: convergence", rows=at)
            ledger.compare(
                checks, "holds", np.array([float(number <= _RHAT)]), "controls: convergence", rows=at
            )


def _hold_predictions(ledger: Ledger, sheet: Sheet, placebo: pa.Table) -> None:
    """Differences are those of the values, ends lie about them, and placebos' values are means over their draws."""
    rows = sheet.table.to_pylist()
    found = {(row["predictor"], row["measure"]): row for row in rows}
    drawn = placebo.sort_by("draw").to_pylist()
    for k, row in enumerate(rows):
        at = np.array([k])
        sign = -1.0 if row["measure"] == "brier" else 1.0
        base = found.get(("dina", row["measure"]), {}).get("value")
        if row["predictor"] == "placebo" and len(drawn) > 1:
            values = [one[row["measure"]] for one in drawn]
            if None not in values:
                ledger.compare(
                    sheet,
                    "value",
                    np.array([np.mean(values[1:])]),
                    "controls: placebos' predictions",
                    rows=at,
                )
            base = values[0]
        if row["predictor"] != "dina" and None not in (base, row["value"]):
            wanted = np.array([sign * (base - row["value"])])
            ledger.compare(sheet, "difference", wanted, "controls: differences", rows=at, tolerance=1e-8)
        for name, low, high in (
            ("value", "ci_low", "ci_high"),
            ("difference", "difference_ci_low", "difference_ci_high"),
        ):
            if row[low] is None or row[high] is None:
                continue
            # Student's intervals are symmetric, but for the bounds of a share.
            middle = (row[low] + row[high]) / 2
            free = name == "difference" or row["measure"] == "loglik" or (row[low] > 0 and row[high] < 1)
            check = "identity: an interval lies about its value"
            ledger.count(check, 1)
            off = not row[low] <= row[name] <= row[high] or (free and abs(middle - row[name]) > 1e-9)
            if off:
                place, seen = (
                    sheet.place(k, f"{low} + {name} + {high}"),
                    f"{row[low]}, {row[name]}, {row[high]}",
                )
                ledger.add(sheet.path, place, check, seen, "an interval about its value")
    ledger.uniform(sheet, ("n", "n_models", "n_items", "seed", "share", "level"))
    for measure, least, most in (("auc", 0.0, 1.0), ("brier", 0.0, 1.0), ("loglik", -np.inf, 0.0)):
        for k, row in enumerate(rows):
            if row["measure"] == measure and row["value"] is not None and not least <= row["value"] <= most:
                ledger.add(
                    sheet.path,
                    sheet.place(k, "value"),
                    f"identity: {measure} in its range",
                    row["value"],
                    f"{least} to {most}",
                )


def _hold_placebo(ledger: Ledger, checks: Sheet, placebo: pa.Table, alpha: float) -> None:
    """Each measure of the real prior beside the placebos' range, p by rank, and the joint test."""
    drawn = placebo.sort_by("draw").to_pylist()
    values: dict[str, Floats] = {}
    for name in _MEASURES:
        said = [row[name] for row in drawn]
        values[name] = np.array([np.nan if value is None else value for value in said], dtype=np.float64)
    p = {name: _p(sign * values[name]) for name, sign in _MEASURES.items()}
    scores = [_scores(values[name]) for name in ("loglik", "share_kept") if p[name] is not None]
    p["joint"] = _p(np.max(scores, axis=0)) if scores else None
    enough = len(drawn) - 1 >= max(1, math.ceil(1 / alpha - 1 - 1e-9))
    for name in (*_MEASURES, "joint"):
        at = checks.find([("placebo", name)])
        if at[0] < 0:
            continue
        check = "controls: placebos"
        known = p[name]
        rest = (
            values[name][1:]
            if name != "joint" and not np.isnan(values[name]).any() and len(drawn) > 1
            else np.zeros(0)
        )
        wanted = {
            "p": np.nan if known is None else known,
            "n": float(max(len(drawn) - 1, 0)),
            "value": values[name][0] if rest.size else np.nan,
            "expected": rest.mean() if rest.size else np.nan,
            "low": rest.min() if rest.size else np.nan,
            "high": rest.max() if rest.size else np.nan,
            "holds": np.nan if known is None or not enough else float(known <= alpha),
        }
        for part, number in wanted.items():
            ledger.compare(checks, part, np.array([number]), check, rows=at)


def _p(values: Floats) -> float | None:
    """Share of all fits, the real one among them, that are as good as the real one."""
    if values.size < 2 or np.isnan(values).any():
        return None
    return float(np.mean(values >= values[0]))


def _scores(values: Floats) -> Floats:
    spread = float(np.std(values))
    if spread <= 1e-12 * max(float(np.abs(values).max()), 1e-300):
        return np.zeros(values.size)
    return np.asarray((values - values.mean()) / spread)


def _hold_replicated(ledger: Ledger, checks: Sheet) -> None:
    """Replicated responses are not drawn again; what they came to must fit together."""
    for k, row in enumerate(checks.table.to_pylist()):
        if row["check"] != "posterior_predictive" or row["value"] is None:
            continue
        check = "identity: replicates' mean lies in their range, p in 0..1"
        ledger.count(check, 1)
        low, expected, high, p = (row[name] for name in ("low", "expected", "high", "p"))
        if not (low <= expected <= high and 0 <= p <= 1):
            ledger.add(
                checks.path,
                checks.place(k),
                check,
                f"{low}, {expected}, {high}; p {p}",
                "low <= expected <= high",
            )


def hold_verdict(
    ledger: Ledger,
    path: str,
    document: Mapping[str, Any],
    checks: pa.Table,
    sizes: tuple[int, int, int, int],
    rules: Checks,
) -> None:
    """The verdict and each rung of the ladder, decided again from the checks and the size of the study.

    Args:
        ledger: for findings.
        path: of support.json.
        document: what it says.
        checks: DIAGNOSIS_CHECKS.
        sizes: models, items, attributes and placebos.
        rules: what the verdict asks for.
    """
    rows = {(row["check"], row["statistic"]): row for row in checks.to_pylist()}
    wanted = _ladder(rows, sizes, rules)
    said = {rung["name"]: rung["says"] for rung in document["rungs"]}
    check = "verdict: the ladder"
    ledger.count(check, len(wanted) + 1)
    for name, verdict in wanted.items():
        if said.get(name) != verdict:
            ledger.add(path, f"rungs: {name}", check, said.get(name), verdict)
    support = "supported"
    if wanted["size"] != "supported":
        support = "undetermined"
    else:
        for worse in ("not_supported", "undetermined"):
            if worse in wanted.values():
                support = worse
                break
    if document["support"] != support:
        ledger.add(path, "support", check, document["support"], support)


def _ladder(
    rows: Mapping[tuple[str, str], Row], sizes: tuple[int, int, int, int], rules: Checks
) -> dict[str, str]:
    models, items, attributes, placebos = sizes
    enough = models >= rules.least_models and items >= rules.least_items and items >= attributes

    def known(against: str) -> Row | None:
        row = rows.get(("held_out", f"loglik_over_{against}"))
        return row if row is not None and None not in (row["value"], row["low"], row["high"]) else None

    def over(against: str) -> str:
        row = known(against)
        if row is None or row["low"] <= 0 <= row["high"]:
            return "undetermined"
        return "supported" if row["low"] > 0 else "not_supported"

    joint = rows.get(("placebo", "joint"))
    least = max(1, math.ceil(1 / rules.alpha - 1 - 1e-9))
    if joint is None or joint["p"] is None or placebos < least:
        placebo = "undetermined"
    else:
        placebo = "supported" if joint["p"] <= rules.alpha else "not_supported"
    converged = rows.get(("convergence", "converged"))
    fixed, same = known("fixed_q"), rows.get(("held_out", "loglik_over_fixed_q"))
    if same is not None and same["low"] is None and same["value"] == 0:
        q = "supported"
    elif fixed is None:
        q = "undetermined"
    else:
        gain = known("item_mean")
        allowed = 0.0 if gain is None else rules.tolerance * max(gain["value"], 0.0)
        q = "undetermined" if fixed["high"] < -allowed else "supported"
    held = [row["holds"] for (check, _), row in rows.items() if check == "posterior_predictive"]
    return {
        "size": "supported" if enough else "undetermined",
        "single_ability": over("2pl"),
        "item_mean": over("item_mean"),
        "placebo": placebo,
        "convergence": "supported" if converged is not None and converged["holds"] else "undetermined",
        "fixed_q": q,
        "posterior_predictive": "supported" if False not in held and True in held else "undetermined",
    }


__all__ = ["hold_checks", "hold_verdict", "student"]
