"""What the curve of numbers of attributes promises: measures as they were taken, and the choice that follows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import Mask, absent, numbers, positions, taken, true
from magister.contracts._diagnosis_grid import Floats
from magister.contracts._diagnosis_plan import ClusterPlan
from magister.contracts._estimates import close, interval_check, reason_check
from magister.contracts.diagnosis_tables import K_MEASURES
from magister.contracts.gate import Expectation, RowCheck, RowCount

_VALUES = ("value", "ci_low", "ci_high", "n")


def _smallest(table: pa.Table, tried: Mapping[int, pa.Table]) -> Floats:
    """Items of the smallest attribute of each row's number."""
    sizes = {
        k: min(clusters["attribute"].value_counts().field("counts").to_pylist(), default=0)
        for k, clusters in tried.items()
    }
    return np.array([float(sizes.get(k, np.nan)) for k in table["k"].to_pylist()], dtype=np.float64)


def _held_out(tried: Mapping[int, pa.Table]) -> pa.Table:
    """The log-likelihood of held-out responses by number."""
    parts = []
    for k, table in tried.items():
        own = table.filter(
            pc.and_(pc.equal(table["predictor"], "dina"), pc.equal(table["measure"], "loglik"))
        )
        parts.append(own.select(_VALUES).append_column("k", pa.array([k] * own.num_rows, pa.int32())))
    if parts:
        return pa.concat_tables(parts)
    empty = {name: pa.array([], pa.int32() if name == "n" else pa.float64()) for name in _VALUES}
    return pa.table(empty | {"k": pa.array([], pa.int32())})


def chosen_number(table: pa.Table) -> int | None:
    """The number that a curve says is taken; None unless it is one."""
    found = set(table.filter(pc.fill_null(table["chosen"], False))["k"].to_pylist())
    return found.pop() if len(found) == 1 else None


def best_number(table: pa.Table, plan: ClusterPlan) -> int | None:
    """The number that the measures speak for; None where they leave none.

    Of those whose attributes have enough items and are stable enough, the one that predicts best, else the most
    stable one; where none is stable enough the most stable one. The smaller of equals.
    """
    by_k: dict[int, dict[str, float]] = {}
    for row in table.to_pylist():
        value = -np.inf if row["value"] is None else row["value"]
        by_k.setdefault(row["k"], {})[row["measure"]] = value
    if len(by_k) == 1:
        return next(iter(by_k))
    lacking = dict.fromkeys(K_MEASURES, -np.inf)
    measured = {k: lacking | values for k, values in by_k.items()}
    large = {k: row for k, row in measured.items() if row["smallest"] >= plan.least_items}
    stable = {k: row for k, row in large.items() if row["stability"] >= plan.least_stability}
    measure = "held_out_loglik"
    if not stable or all(np.isinf(row[measure]) for row in stable.values()):
        measure = "stability"
    left = stable or large
    return min(left, key=lambda k: (-left[k][measure], k)) if left else None


def curve_checks(
    table: pa.Table,
    tried: Mapping[int, pa.Table],
    predictions: Mapping[int, pa.Table],
    plan: ClusterPlan,
) -> list[Expectation]:
    """Checks on K_CURVE.

    Args:
        table: the curve.
        tried: Q_CLUSTERS by number of attributes.
        predictions: PREDICTIONS by number of attributes.
        plan: how attributes are found.
    """
    value = numbers(table["value"])
    status = {name: true(pc.equal(table["status"], name)) for name in ("ok", "not_computable")}
    measure = {name: true(pc.equal(table["measure"], name)) for name in K_MEASURES}
    chosen, k = true(table["chosen"]), numbers(table["k"])
    best = best_number(table, plan)
    held = _held_out(predictions)
    told = taken(held, positions(table, held, ["k"]), _VALUES)
    as_held = np.logical_and.reduce([close(numbers(table[name]), numbers(told[name])) for name in _VALUES])
    shares = measure["stability"] | measure["silhouette"]
    between = (~shares | (np.abs(value) <= 1)) & (~measure["smallest"] | (value >= 1))

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("k_curve", name, columns, expected, passed)

    numbers_tried = len(set(plan.tried))
    return [
        RowCount(
            "k_curve",
            numbers_tried * len(K_MEASURES),
            f"{numbers_tried} numbers x {len(K_MEASURES)} measures",
        ),
        check("number_tried", ("k",), "a number of attributes that is tried", np.isin(k, list(plan.tried))),
        check(
            "chosen_by_measures",
            ("k", "chosen"),
            f"chosen: {best}, by size, stability and prediction; no other number",
            chosen == (k == (np.nan if best is None else best)),
        ),
        check(
            "choice_explained",
            ("k", "chosen", "reason"),
            "why, beside the stability of the chosen number",
            ~(chosen & measure["stability"]) | true(pc.not_equal(table["reason"], "")),
        ),
        check(
            "smallest_counted",
            ("k", "value"),
            "the items of the smallest attribute",
            ~measure["smallest"] | (value == _smallest(table, tried)),
        ),
        check(
            "prediction_as_made",
            ("k", *_VALUES),
            "as among the predictions with this number of attributes",
            ~measure["held_out_loglik"] | as_held,
        ),
        check(
            "value_in_bounds",
            ("measure", "value"),
            "from -1 to 1 of stability and silhouette, 1 or more items",
            absent(table["value"]) | between,
        ),
        check(
            "value_unless_not_computable",
            ("status", "value"),
            "a value unless the status is not_computable",
            absent(table["value"]) == status["not_computable"],
        ),
        interval_check("k_curve", "interval_where_ok", table, ("status", "ci_low", "ci_high")),
        reason_check("k_curve", "reason_unless_ok", table, ("status", "reason")),
    ]
