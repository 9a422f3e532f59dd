"""What the profiles of models and attributes promise: every number follows from the chains."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import (
    Mask,
    absent,
    agree,
    facts,
    member,
    numbers,
    places,
    same,
    true,
)
from magister.contracts._diagnosis_grid import Axis, Floats, Grid, Study, on_the_edge
from magister.contracts._diagnosis_plan import DUPLICATE_FROM, NEEDED, DiagnosisPlan
from magister.contracts._estimates import EQUAL, close, interval_check, reason_check
from magister.contracts.gate import Expectation, RowCheck, RowCount

_LOW, _HIGH = 0.2, 0.8
_LEAST_ITEMS = 0.5
_LEAST_MODELS = 4
# A correlation is a quotient of sums that may be small.
_ROUNDING = 1e-6


def mastery_checks(study: Study) -> list[Expectation]:
    """Checks on MASTERY.

    Args:
        study: what was fitted.
    """
    table = study.given.mastery
    grid = Grid(table, (study.models, study.attributes))
    chains = study.saem("mastery", study.models, study.attributes)
    p, told = numbers(table["p"]), numbers(table["n_items"])
    by_responses = true(pc.equal(table["basis"], "responses"))
    sd = np.sqrt(np.clip(p * (1 - p), 0, None))
    # What was averaged in another order may fall on the other side of a limit.
    near = np.abs(told - _LEAST_ITEMS) <= EQUAL
    state = np.where(
        by_responses & (p >= _HIGH),
        "mastered",
        np.where(by_responses & (p <= _LOW), "not_mastered", "undetermined"),
    )
    errors = chains.cube("mcse")
    error = grid.read(errors[0] if len(errors) else np.full(grid.shape, np.nan))
    _, label = facts(table, study.given.attributes, "attribute", ("label",))
    verdict = study.given.verdict["support"].unique()

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("mastery", name, columns, expected, passed)

    return [
        RowCount("mastery", grid.cells, f"{len(study.models)} models x {len(study.attributes)} attributes"),
        check("model_of_fit", ("model",), "a model that was fitted", grid.on("model")),
        check("attribute_of_fit", ("attribute",), "an attribute of the study", grid.on("attribute")),
        check(
            "label_of_attribute",
            ("attribute", "label"),
            "the label of the attribute",
            same(table["label"], label["label"]) | ~grid.on("attribute"),
        ),
        check(
            "mean_of_chains", ("p",), "the mean over chains", ~grid.known | close(p, grid.read(study.mastery))
        ),
        check(
            "sd_of_p",
            ("p", "sd"),
            "sqrt(p (1 - p))",
            close(numbers(table["sd"]), sd),
        ),
        check(
            "error_of_fit",
            ("mcse",),
            "the Monte Carlo error of the fit",
            ~grid.known | close(numbers(table["mcse"]), error),
        ),
        check(
            "items_unlocked",
            ("n_items",),
            "the mean over chains of the answered items that tell of it",
            ~grid.known | close(told, grid.read(study.by_kept(chains.cube("unlocked")))),
        ),
        check(
            "basis_of_items",
            ("n_items", "basis"),
            f"responses from {_LEAST_ITEMS:g} items on, below the prior",
            (by_responses == (told >= _LEAST_ITEMS)) | near,
        ),
        check(
            "state_of_p",
            ("p", "basis", "state"),
            f"mastered from {_HIGH:g}, not_mastered to {_LOW:g}, undetermined between and where only the prior tells",
            same(table["state"], pa.chunked_array([pa.array(state, pa.string())])),
        ),
        check(
            "support_of_verdict",
            ("support",),
            "what the controls of the study say",
            member(table["support"], pa.chunked_array([verdict])),
        ),
    ]


def _correlations(p: Floats) -> Floats:
    """K x K over models; NaN where an attribute does not vary."""
    centred = p - p.mean(axis=0) if len(p) else p
    spread = np.sqrt((centred**2).sum(axis=0))
    spread = np.where(spread > 1e-9 * np.sqrt(max(len(p), 1)), spread, np.nan)
    products = np.stack([(centred[:, [k]] * centred).sum(axis=0) for k in range(centred.shape[1])])
    return np.asarray(np.clip(products / np.outer(spread, spread), -1, 1))


def _twins(found: Floats, edge: float) -> list[int]:
    """For each attribute the first one that the same models master and that is none's twin; -1 for none."""
    twins: list[int] = []
    for k in range(len(found)):
        first = (other for other in range(k) if twins[other] < 0 and found[k, other] >= DUPLICATE_FROM + edge)
        twins.append(next(first, -1))
    return twins


def _as_twins(column: pa.ChunkedArray, place: np.ndarray, p: Floats, names: list[str]) -> Mask:
    """Rows that name the twin that correlations say, but for rounding."""
    said = np.where(absent(column), -1, places(column, names))
    found = _correlations(p)
    passed = np.zeros(len(said), dtype=bool)
    for edge in (0.0, _ROUNDING, -_ROUNDING):
        twins = np.array([*_twins(found, edge), -2], dtype=np.int64)
        passed |= said == twins[place]
    return passed & (absent(column) | (said >= 0))


def _equal_lists(one: pa.ChunkedArray, other: pa.ChunkedArray) -> Mask:
    """Rows that hold the same texts in the same order."""
    pairs = zip(one.to_pylist(), other.to_pylist(), strict=True)
    return np.array([own == others for own, others in pairs], dtype=bool)


def attribute_profile_checks(study: Study, plan: DiagnosisPlan) -> list[Expectation]:
    """Checks on ATTRIBUTE_PROFILES.

    Args:
        study: what was fitted.
        plan: what the study was to hold.
    """
    name, table = "attribute_profiles", study.given.profiles
    grid = Grid(table, (study.attributes,))
    p = study.mastery
    _, known = facts(table, study.given.attributes, "attribute", ("label", "status", "terms"))
    named = agree(table["label"], known["label"]) & agree(table["label_status"], known["status"])
    named &= _equal_lists(table["terms"], known["terms"])
    needing, edge = (study.q > NEEDED).sum(axis=0), on_the_edge(study.q).sum(axis=0)
    n_items, prevalence = numbers(table["n_items"]), numbers(table["prevalence"])
    low, high = numbers(table["ci_low"]), numbers(table["ci_high"])
    (place,) = grid.index

    def of(values: Floats) -> Floats:
        return grid.read(np.asarray(values, dtype=np.float64))

    def mean_of(values: Floats) -> Floats:
        return of(values.mean(axis=0) if len(values) else np.full(grid.shape, np.nan))

    def check(rule: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck(name, rule, columns, expected, passed)

    return [
        RowCount(name, grid.cells, "the attributes of the study"),
        check("attribute_of_fit", ("attribute",), "an attribute of the study", grid.known),
        check(
            "label_of_attribute",
            ("attribute", "label", "label_status", "terms"),
            "label, status and terms of the attribute",
            named | ~grid.known,
        ),
        check(
            "models_counted",
            ("n_models",),
            "the models that were fitted",
            numbers(table["n_models"]) == len(study.models),
        ),
        check(
            "items_counted",
            ("n_items",),
            "the items whose posterior needs it",
            ~grid.known | (np.abs(n_items - of(needing)) <= of(edge)),
        ),
        check(
            "prevalence_of_mastery",
            ("prevalence",),
            "mean mastery over models",
            ~grid.known | close(prevalence, mean_of(p)),
        ),
        interval_check(name, "interval_where_ok", table, ("status", "ci_low", "ci_high")),
        check(
            "interval_around_prevalence",
            ("prevalence", "ci_low", "ci_high"),
            "an interval around the prevalence",
            ~((low > prevalence + EQUAL) | (high < prevalence - EQUAL)),
        ),
        reason_check(name, "reason_unless_ok", table, ("status", "reason")),
        check("level_as_configured", ("level",), f"{plan.level:g}", numbers(table["level"]) == plan.level),
        check(
            "accuracy_of_mastery",
            ("accuracy",),
            "the mean over models of max(p, 1 - p)",
            ~grid.known | close(numbers(table["accuracy"]), mean_of(np.maximum(p, 1 - p))),
        ),
        check(
            "consistency_of_mastery",
            ("consistency",),
            "the mean over models of p^2 + (1 - p)^2",
            ~grid.known | close(numbers(table["consistency"]), mean_of(p**2 + (1 - p) ** 2)),
        ),
        check(
            "twin_by_correlation",
            ("attribute", "duplicate_of"),
            f"the first attribute with a correlation of {DUPLICATE_FROM:g} or more that is itself no duplicate",
            _as_twins(table["duplicate_of"], place, p, study.attributes.names) | ~grid.known,
        ),
    ]


def correlation_checks(study: Study) -> list[Expectation]:
    """Checks on ATTRIBUTE_CORRELATIONS.

    Args:
        study: what was fitted.
    """
    name, table = "attribute_correlations", study.given.correlations
    names, n = study.attributes.names, len(study.models)
    grid = Grid(table, (Axis("attribute_a", names), Axis("attribute_b", names)))
    value = numbers(table["correlation"])
    wanted = grid.read(_correlations(study.mastery))
    if n < _LEAST_MODELS:
        wanted = np.full(wanted.shape, np.nan)
    alike = (np.isnan(value) & np.isnan(wanted)) | (np.abs(value - wanted) <= _ROUNDING)
    ok = true(pc.equal(table["status"], "ok"))
    k = len(names)

    def check(rule: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck(name, rule, columns, expected, passed)

    return [
        RowCount(name, k * (k - 1) // 2, f"the pairs of {k} attributes"),
        check(
            "pair_of_study",
            ("attribute_a", "attribute_b"),
            "two attributes of the study, in the order of their names",
            grid.known & true(pc.less(table["attribute_a"], table["attribute_b"])),
        ),
        check("models_counted", ("n",), "the models that were fitted", numbers(table["n"]) == n),
        check(
            "correlation_of_mastery",
            ("attribute_a", "attribute_b", "correlation"),
            f"that of mastery over models; none of fewer than {_LEAST_MODELS} models or without variation",
            ~grid.known | alike,
        ),
        check(
            "value_where_ok",
            ("status", "correlation"),
            "a value where the status is ok, and only there",
            ok == ~np.isnan(value),
        ),
        reason_check(name, "reason_unless_ok", table, ("status", "reason")),
    ]
