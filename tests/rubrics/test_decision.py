"""A version is kept for a reason that is shown; the earlier wins a tie; a stop is a stop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from score_tables import PLAN, Rule, human, named, scores, shuffled, spread

from magister.config.rubrics_judging import Objective
from magister.contracts.rubrics_score_tables import RUBRIC_FLAGS
from magister.errors import UserError
from magister.rubrics.decision import decide, lineage, select_best
from magister.rubrics.diagnosis import Known
from magister.rubrics.iterations import frozen, is_frozen
from magister.rubrics.objective import Evidence, objective
from magister.stats import Estimate

MADE = named("x", "y")
WEIGHTS = Objective()


def terms(rules: dict[str, Rule], known: Known | None = None, **more: Any) -> dict[str, float | None]:
    found = objective(scores(MADE, rules, **more), MADE, known or Known(), WEIGHTS, PLAN)
    return {"value": found.value.value} | {name: term.value for name, term in found.terms.items()}


def test_each_term_is_shown_and_they_add_up() -> None:
    anchors = scores(MADE, {"x": spread, "y": spread}, tasks=5, models=("expert",))
    people = {(f"t{t:02}-expert", name): 3.0 for t in range(5) for name in "xy"}
    known = Known(human=human(MADE, people), anchors=anchors)
    rules: dict[str, Rule] = {
        "x": lambda t, m, j, r: 1 + m + j,
        "y": lambda t, m, j, r: None if t == 0 else 1 + 2 * m,
    }
    found = terms(rules, known)
    assert found["discrimination"] == pytest.approx(1)
    assert found["unreliability"] == pytest.approx(0.5 * 1 / 4)
    assert found["missing"] == pytest.approx(0.5 / 12)
    # Spread gives model 0 a 3 on every third task (0 and 3 of five), else a 2.
    assert found["human"] == pytest.approx(3 / 5 / 4)
    expected = found["discrimination"] - 0.5 * (found["unreliability"] + found["human"] + found["missing"])  # type: ignore[operator]
    assert found["value"] == pytest.approx(expected)


def test_terms_that_nothing_was_asked_for_are_left_out() -> None:
    assert set(terms({"x": spread, "y": spread}, judges=("ann",))) == {"value", "discrimination", "missing"}
    repeated = terms({"x": lambda t, m, j, r: 1 + m + r, "y": spread}, judges=("ann",), repeats=2)
    assert repeated["unreliability"] == pytest.approx(0.5 * 1 / 4)


def test_a_metric_that_gives_everybody_the_same_counts_nothing() -> None:
    half = terms({"x": lambda t, m, j, r: 3, "y": lambda t, m, j, r: 1 + m})
    assert half["discrimination"] == pytest.approx(0.5)


def test_only_held_out_tasks_count() -> None:
    rules: dict[str, Rule] = {"x": lambda t, m, j, r: 1 + m if t > 7 else 3, "y": lambda t, m, j, r: 1 + m}
    assert terms(rules, held_out=lambda t: t > 7)["discrimination"] == pytest.approx(1)
    assert terms(rules, held_out=lambda t: t <= 7)["discrimination"] == pytest.approx(0.5)


def test_one_model_cannot_be_told_apart() -> None:
    found = objective(scores(MADE, {"x": spread, "y": spread}, models=("a",)), MADE, Known(), WEIGHTS, PLAN)
    assert (found.value.value, found.value.reason) == (None, "one model: nothing lies between models")


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_changes_no_bit_of_the_objective(seed: int) -> None:
    table = scores(
        MADE, {"x": lambda t, m, j, r: 1 + (t * m + j) % 5, "y": lambda t, m, j, r: 1 + (t + 2 * m) % 4}
    )
    one, two = (objective(rows, MADE, Known(), WEIGHTS, PLAN) for rows in (table, shuffled(table, seed)))
    assert one == two


def evidence(value: float | None, se: float | None = 0.02) -> Evidence:
    found = Estimate(value, None, None, se, 10, 10) if value is not None else Estimate.absent("undefined")
    return Evidence(found, {"discrimination": found})


def flags(*kinds: str) -> pa.Table:
    rows = [
        {
            "scenario": "sums", "rubric_sha": MADE.sha, "metric_id": "x", "flag": kind, "statistic": "mean", "n": 40,
            "evidence": f"it is {kind}",
        }
        for kind in kinds
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=RUBRIC_FLAGS.schema)


def run(
    *values: float | None, kinds: tuple[str, ...] = ("too_strict",), last: int = 9, **options: Any
) -> list[dict]:
    """Decisions on versions of these objectives, until the loop stops."""
    history: list[dict] = []
    for number, value in enumerate(values):
        one = decide(number, last, MADE, evidence(value), flags(*kinds), history, Objective(**options))
        history.append(one)
        if one["stop"]:
            break
    return history


def test_a_worse_version_is_rolled_back_by_selection() -> None:
    found = run(0.3, 0.6, 0.4, patience=5)
    assert [one["best"] for one in found] == [0, 1, 1]
    assert found[-1]["gain"] == "-0.2000 against iteration 1: worse"
    assert found[-1]["best_objective"] == 0.6


def test_a_tie_goes_to_the_earlier_version() -> None:
    assert [one["best"] for one in run(0.5, 0.5, 0.505, 0.52, patience=9)] == [0, 0, 0, 3]


def test_the_loop_stops_after_iterations_without_a_clear_gain() -> None:
    found = run(0.3, 0.5, 0.51, 0.515, 0.9, patience=2, min_delta=0.0)
    # 0.51 and 0.515 are better, but not by their standard error of 0.02.
    assert [one["without_gain"] for one in found] == [0, 0, 1, 2]
    assert found[-1]["stop_reason"] == "patience"
    assert found[-1]["best"] == 3


def test_the_loop_stops_when_nothing_is_flagged_or_can_be_shown() -> None:
    assert run(0.3, kinds=())[0]["stop_reason"] == "nothing_flagged"
    assert run(0.3, kinds=("insufficient_data",))[0]["stop_reason"] == "insufficient_data"


def test_a_clean_version_that_is_worse_does_not_end_the_loop() -> None:
    first = decide(0, 9, MADE, evidence(0.5), flags("too_strict"), [], WEIGHTS)
    second = decide(1, 9, MADE, evidence(0.1), flags(), [first], WEIGHTS)
    assert (second["best"], second["stop"]) == (0, False)


def test_the_loop_stops_at_its_budget() -> None:
    assert [one["stop_reason"] for one in run(0.1, 0.3, 0.5, last=2, patience=9)] == [None, None, "budget"]
    by_calls = decide(0, 9, MADE, evidence(0.1), flags("redundant"), [], Objective(max_calls=100), calls=100)
    assert by_calls["stop_reason"] == "budget"


def test_an_unknown_objective_never_beats_a_known_one() -> None:
    assert [one["best"] for one in run(None, 0.1, None, patience=9)] == [0, 1, 1]
    assert run(None)[0]["status"] == "not_computable"


def test_after_the_stop_there_are_stubs_and_no_decision() -> None:
    history = run(0.3, 0.6, 0.4, 0.4, patience=2)
    stub = frozen(history[-1])
    assert stub == {"status": "frozen", "same_as": 1}
    assert is_frozen(stub)
    assert frozen(stub) == stub
    assert not is_frozen(history[-1])
    assert select_best([*history, stub, stub]) == 1
    with pytest.raises(UserError, match="the loop stopped at iteration 3"):
        decide(4, 9, MADE, evidence(0.9), flags(), history, WEIGHTS)
    with pytest.raises(UserError, match="did not stop the loop"):
        frozen(history[0])
    with pytest.raises(UserError, match="no decision"):
        select_best([stub])


def test_a_gap_in_the_history_is_an_error() -> None:
    with pytest.raises(UserError, match="decisions of iterations 0 to 1 are expected, found \\[0\\]"):
        decide(2, 9, MADE, evidence(0.9), flags(), run(0.3), WEIGHTS)


@given(st.lists(st.floats(-1, 1) | st.none(), min_size=1, max_size=9), st.integers(1, 4), st.floats(0, 0.2))
def test_the_best_version_is_never_beaten_by_more_than_a_tie(
    values: list[float | None], patience: int, delta: float
) -> None:
    found = run(*values, patience=patience, min_delta=delta)
    for number, one in enumerate(found):
        known = [value for value in values[: number + 1] if value is not None]
        best = one["best_objective"]
        assert (best is None) == (not known)
        if known:
            assert max(known) <= best + delta * (number + 1) + 1e-12
        assert one["best"] <= number
    assert found[-1]["stop"] or len(found) == len(values)


def test_the_way_to_the_best_version_is_told_from_the_first_on() -> None:
    first = MADE
    second = first.refined([replace(first.metric("x"), desc="one")])
    third = first.refined([replace(first.metric("x"), desc="two")])
    fourth = third.refined([replace(third.metric("y"), desc="three")])
    assert lineage({0: first, 1: second, 2: third, 3: fourth}, 3) == [(0, 2), (2, 3)]
    # Back to what it was: no way runs in a circle.
    back = third.refined([first.metric("x")])
    assert back.sha == first.sha
    assert lineage({0: first, 1: third, 2: back}, 2) == [(0, 1), (1, 2)]
    assert lineage({0: first}, 0) == []
