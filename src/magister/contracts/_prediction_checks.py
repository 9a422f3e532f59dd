"""What predictions of held-out responses and placebos promise: one set of cells, and differences of their values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import Mask, absent, numbers, places, true
from magister.contracts._diagnosis_grid import Floats, Study
from magister.contracts._diagnosis_plan import DiagnosisPlan
from magister.contracts._estimates import EQUAL, close, interval_check, reason_check
from magister.contracts.diagnosis_tables import PREDICTION_MEASURES, PREDICTORS
from magister.contracts.gate import Expectation, RowCheck, RowCount

_SIZES = ("n", "n_models", "n_items")
_LOWER_IS_BETTER = "brier"


def held_out_cells(predictions: pa.Table) -> int:
    """Responses that were held out; 0 where tables do not agree on it."""
    found = set(predictions["n"].to_pylist())
    return int(found.pop() or 0) if len(found) == 1 else 0


def _bases(table: pa.Table, placebo: pa.Table, measure: np.ndarray, predictor: np.ndarray) -> Floats:
    """What each row is held against: DINA, and for placebos the real prior under the placebo's settings."""
    value = numbers(table["value"])
    of_dina, of_real = (np.full(len(PREDICTION_MEASURES), np.nan) for _ in range(2))
    dina = (predictor == PREDICTORS.index("dina")) & (measure >= 0)
    of_dina[measure[dina]] = value[dina]
    real = placebo.filter(pc.equal(placebo["draw"], 0))
    if real.num_rows == 1:
        of_real = np.array([numbers(real[name])[0] for name in PREDICTION_MEASURES])
    base = np.where(predictor == PREDICTORS.index("placebo"), of_real[measure], of_dina[measure])
    return np.where(dina, np.nan, base)


def prediction_checks(
    name: str, table: pa.Table, placebo: pa.Table, study: Study, plan: DiagnosisPlan
) -> list[Expectation]:
    """Checks on PREDICTIONS.

    Args:
        name: of the table.
        table: the predictions.
        placebo: PLACEBO of the same cells; without rows where none was asked for.
        study: what was fitted.
        plan: what the study was to hold.
    """
    measure, predictor = places(table["measure"], PREDICTION_MEASURES), places(table["predictor"], PREDICTORS)
    value, difference = numbers(table["value"]), numbers(table["difference"])
    low, high = numbers(table["ci_low"]), numbers(table["ci_high"])
    ends = [numbers(table[f"difference_ci_{end}"]) for end in ("low", "high")]
    sign = np.where(measure == PREDICTION_MEASURES.index(_LOWER_IS_BETTER), -1.0, 1.0)
    is_loglik = measure == PREDICTION_MEASURES.index("loglik")
    computed = ~true(pc.equal(table["status"], "not_computable"))
    sizes = [numbers(table[column]) for column in _SIZES]
    most = [int((~np.isnan(study.correct)).sum()), len(study.models), len(study.items)]
    alike = np.logical_and.reduce(
        [
            np.full(table.num_rows, len(np.unique(size)) == 1) & (size >= 0) & (size <= limit)
            for size, limit in zip(sizes, most, strict=True)
        ]
    )
    drawn = placebo.filter(pc.greater(placebo["draw"], 0))
    means = np.array(
        [numbers(drawn[column]).mean() if drawn.num_rows else np.nan for column in PREDICTION_MEASURES]
    )
    is_placebo = predictor == PREDICTORS.index("placebo")

    def check(rule: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck(name, rule, columns, expected, passed)

    return [
        RowCount(
            name,
            len(PREDICTORS) * len(PREDICTION_MEASURES),
            f"{len(PREDICTORS)} predictors x {len(PREDICTION_MEASURES)} measures",
        ),
        check(
            "cells_alike", _SIZES, "the same cells for all, no more than responses, models and items", alike
        ),
        check(
            "choice_as_configured",
            ("seed", "share", "level"),
            f"seed {plan.controls.seed}, share {plan.controls.share:g}, level {plan.level:g}",
            (numbers(table["seed"]) == plan.controls.seed)
            & (numbers(table["share"]) == plan.controls.share)
            & (numbers(table["level"]) == plan.level),
        ),
        check(
            "value_unless_not_computable",
            ("status", "value", "n"),
            "a value unless the status is not_computable, and none without held-out responses",
            (~np.isnan(value) == computed) & (~computed | (sizes[0] > 0)),
        ),
        check(
            "value_in_bounds",
            ("measure", "value"),
            "a log-likelihood below 0, areas and Brier scores from 0 to 1",
            np.isnan(value) | np.where(is_loglik, value <= 0, (value >= 0) & (value <= 1)),
        ),
        interval_check(name, "interval_where_ok", table, ("status", "ci_low", "ci_high")),
        check(
            "interval_around_value",
            ("value", "ci_low", "ci_high"),
            "an interval around the value",
            ~((low > value + EQUAL) | (high < value - EQUAL)),
        ),
        reason_check(name, "reason_unless_ok", table, ("status", "reason")),
        check(
            "difference_of_values",
            ("predictor", "measure", "value", "difference"),
            "DINA's value less this one, the other way round for Brier scores; for placebos the real prior's less",
            close(difference, sign * (_bases(table, placebo, measure, predictor) - value)),
        ),
        check(
            "difference_interval",
            ("difference", "difference_ci_low", "difference_ci_high"),
            "both ends around the difference, or none",
            (np.isnan(ends[0]) == np.isnan(ends[1]))
            & (np.isnan(ends[0]) | ~np.isnan(difference))
            & ~((ends[0] > difference + EQUAL) | (ends[1] < difference - EQUAL)),
        ),
        check(
            "placebo_mean_of_draws",
            ("predictor", "measure", "value"),
            "the mean over the shuffled priors",
            ~is_placebo | close(value, means[measure]),
        ),
    ]


def placebo_checks(table: pa.Table, predictions: pa.Table, plan: DiagnosisPlan) -> list[Expectation]:
    """Checks on PLACEBO.

    Args:
        table: fits under the real prior and under shuffled ones.
        predictions: PREDICTIONS.
        plan: what the study was to hold.
    """
    cells = held_out_cells(predictions)
    draws = plan.controls.placebos + 1 if cells else 0
    draw, loglik = numbers(table["draw"]), numbers(table["loglik"])
    known = ~absent(table["loglik"]) & ~absent(table["brier"]) & ~absent(table["fit_loglik"])

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("placebo", name, columns, expected, passed)

    return [
        RowCount(
            "placebo", draws, f"the real prior and {plan.controls.placebos} shuffled ones, of {cells} cells"
        ),
        check(
            "draw_asked_for",
            ("draw",),
            f"a draw from 0 to {plan.controls.placebos}",
            draw <= plan.controls.placebos,
        ),
        check("cells_of_predictions", ("n",), "the cells of the predictions", numbers(table["n"]) == cells),
        check(
            "measured",
            ("loglik", "brier", "fit_loglik"),
            "log-likelihoods of 0 or less, and a Brier score",
            known & (loglik <= 0) & (numbers(table["fit_loglik"]) <= 0),
        ),
    ]
