"""What is wrong with a metric is read from its scores, with n, intervals and a reason where nothing can be said."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from score_tables import MODELS, PLAN, Rule, human, named, scores, shuffled, spread

from magister.config.rubrics_judging import MetricChecks
from magister.contracts.rubrics_score_tables import (
    JUDGE_AGREEMENT,
    METRIC_STATISTICS,
    RUBRIC_DIAGNOSIS,
    RUBRIC_FLAGS,
)
from magister.provenance._artifact import conform
from magister.rubrics.agreement import judge_agreement, pair_agreement, people_agreement
from magister.rubrics.diagnosis import Known, diagnose
from magister.rubrics.flags import flag_metrics

CHECKS = MetricChecks()


def stats(table: pa.Table, metric_id: str = "x") -> dict[str, dict[str, Any]]:
    return {row["statistic"]: row for row in table.to_pylist() if row["metric_id"] == metric_id}


def flags_of(rules: dict[str, Rule], known: Known | None = None, **more: Any) -> dict[str, dict[str, str]]:
    made = named(*rules)
    diagnosis = diagnose(scores(made, rules, **more), made, known or Known(), PLAN)
    assert conform(diagnosis, RUBRIC_DIAGNOSIS).equals(diagnosis.combine_chunks())
    flags = flag_metrics(diagnosis, made, CHECKS)
    assert conform(flags, RUBRIC_FLAGS).equals(flags.combine_chunks())
    found: dict[str, dict[str, str]] = {}
    for row in flags.to_pylist():
        found.setdefault(row["metric_id"], {})[row["flag"]] = row["evidence"]
    return found


def test_every_metric_has_a_row_per_statistic() -> None:
    made = named("x", "y")
    table = diagnose(scores(made, {"x": spread, "y": spread}), made, Known(), PLAN)
    assert table.num_rows == 2 * len(METRIC_STATISTICS)
    for row in table.to_pylist():
        assert (row["value"] is None) == (row["status"] == "not_computable")
        assert row["status"] == "ok" or row["reason"]


def test_a_metric_that_gives_everybody_the_top_is_too_lenient() -> None:
    found = flags_of({"x": lambda t, m, j, r: 5 if (t, m) != (0, 0) else 4, "y": spread})
    assert found["x"]["too_lenient"] == (
        "mean 4.97 on 1..5 over n = 36 dialogues; 97% of them have the highest score"
    )
    assert "too_lenient" not in found.get("y", {})


def test_a_metric_that_nobody_passes_is_too_strict() -> None:
    found = flags_of({"x": lambda t, m, j, r: 1 if t % 3 else 1 + m, "y": spread})
    assert "too_strict" in found["x"]
    assert "mean" in found["x"]["too_strict"]


def test_a_metric_with_one_score_for_all_tells_nobody_apart() -> None:
    found = flags_of({"x": lambda t, m, j, r: 3, "y": spread})
    assert found["x"] == {"low_discrimination": "all n = 36 dialogues have the same score, 3.00"}


def test_a_metric_that_follows_tasks_and_not_models_does_not_discriminate() -> None:
    found = flags_of({"x": lambda t, m, j, r: 1 + t % 5, "y": spread})
    assert found["x"]["low_discrimination"].startswith("0.0% of the variance lies between models")
    assert "models differ on 0% of the tasks" in found["x"]["low_discrimination"]


def test_judges_who_disagree_make_a_metric_unreliable() -> None:
    found = flags_of({"x": lambda t, m, j, r: 1 + (t + m + 2 * j * (t % 2)) % 5, "y": spread})
    assert "judges agree with alpha" in found["x"]["unreliable"]


def test_repeats_that_jump_make_a_metric_unreliable() -> None:
    found = flags_of({"x": lambda t, m, j, r: 1 + 2 * r + m / 2, "y": spread}, repeats=2, judges=("ann",))
    assert found["x"]["unreliable"] == "a judge's repeats spread by 1.41 on n = 36 dialogues"


def test_of_two_metrics_that_say_the_same_one_is_redundant() -> None:
    found = flags_of({"x": spread, "y": spread, "z": lambda t, m, j, r: 1 + (t + 2 * m) % 5})
    assert "x" not in found
    assert found["y"]["redundant"] == "correlates with x by 1.00 over n = 36 dialogues"


def test_a_metric_that_measures_length_is_off_target() -> None:
    lengths = {f"t{t:02}-{model}": 10 ** (1 + m) for t in range(12) for m, model in enumerate(MODELS)}
    found = flags_of({"x": lambda t, m, j, r: 1 + 2 * m, "y": spread}, Known(lengths=lengths))
    assert "length of what is said by 1.00" in found["x"]["off_target"]


def test_a_metric_that_misses_what_people_mean_is_off_target() -> None:
    made = named("x", "y")
    rules = {"x": spread, "y": spread}
    anchors = scores(made, rules, tasks=24, models=("expert",))
    people = {(f"t{t:02}-expert", "x"): 5.0 for t in range(24)} | {
        (f"t{t:02}-expert", "y"): 2.0 for t in range(24)
    }
    known = Known(human=human(made, people), anchors=anchors)
    table = diagnose(scores(made, rules), made, known, PLAN)
    row = stats(table)["human_deviation"]
    assert (row["n"], row["value"]) == (24, pytest.approx(8 / 3))
    assert stats(table)["human_bias"]["value"] == pytest.approx(-8 / 3)
    flagged = {(row["metric_id"], row["flag"]) for row in flag_metrics(table, made, CHECKS).to_pylist()}
    assert ("x", "off_target") in flagged
    assert ("y", "off_target") not in flagged


def test_too_few_dialogues_are_said_and_nothing_else_is() -> None:
    assert flags_of({"x": lambda t, m, j, r: 5, "y": lambda t, m, j, r: 1}, tasks=6) == {
        name: {"insufficient_data": "18 scored dialogues; 20 are needed"} for name in "xy"
    }


def test_what_fails_to_be_read_counts_as_missing_and_in_no_mean() -> None:
    made = named("x")
    table = diagnose(scores(made, {"x": lambda t, m, j, r: None if j or t == 0 else 4}), made, Known(), PLAN)
    found = stats(table)
    assert (found["mean"]["value"], found["mean"]["n"]) == (4.0, 33)
    assert found["missing_share"]["value"] == pytest.approx(39 / 72)


def test_vetoed_and_excluded_dialogues_say_nothing_about_a_metric() -> None:
    made = named("x")
    table = scores(made, {"x": spread}, status=lambda name, t, m: {0: "vetoed", 1: "excluded"}.get(t, ""))
    found = stats(diagnose(table, made, Known(), PLAN))
    assert found["mean"]["n"] == 30
    assert found["missing_share"]["value"] == 0


def test_held_out_tasks_are_not_diagnosed() -> None:
    made = named("x")
    table = scores(made, {"x": spread}, held_out=lambda t: t >= 8)
    assert stats(diagnose(table, made, Known(), PLAN))["mean"]["n"] == 24
    every = scores(made, {"x": spread}, held_out=lambda t: True)
    assert stats(diagnose(every, made, Known(), PLAN))["mean"]["n"] == 36


def test_shares_of_variance_are_those_of_a_worked_example() -> None:
    """Three models with means 2, 3 and 4 and 12 scores each, 1 off either way: SSB = 24, SSW = 36."""
    made = named("x")
    table = scores(made, {"x": lambda t, m, j, r: 2 + m + (1 if t % 2 else -1)})
    found = stats(diagnose(table, made, Known(), PLAN))
    between, within = 24.0, 36.0
    assert found["eta_squared"]["value"] == pytest.approx(between / (between + within))
    mean_square = within / 33
    omega = (between - 2 * mean_square) / (between + within + mean_square)
    assert found["omega_squared"]["value"] == pytest.approx(omega)
    assert found["eta_squared"]["ci_low"] <= found["eta_squared"]["value"] < found["eta_squared"]["ci_high"]


def test_item_total_correlation_is_with_the_others_alone() -> None:
    made = named("x", "y", "z")
    rules = {"x": spread, "y": lambda t, m, j, r: 6 - spread(t, m, j, r), "z": lambda t, m, j, r: 3}
    found = diagnose(scores(made, rules), made, Known(), PLAN)
    assert stats(found)["item_total_r"]["value"] == pytest.approx(-1)
    alone = named("x")
    assert stats(diagnose(scores(alone, {"x": spread}), alone, Known(), PLAN))["item_total_r"]["reason"] == (
        "the rubric has one metric"
    )


def test_a_lenient_judge_shows_no_preference_for_its_family() -> None:
    made = named("x")
    known = Known(families={"a": "one", "b": "two", "c": "two", "ann": "one", "bob": "two"})
    lenient = scores(made, {"x": lambda t, m, j, r: 2 + m / 2 + j})
    assert stats(diagnose(lenient, made, known, PLAN))["same_family_gap"]["value"] == pytest.approx(0)
    # Ann gives the model of her family one more point than the others.
    partial = scores(made, {"x": lambda t, m, j, r: 2 + m / 2 + (m == 0 and j == 0)})
    row = stats(diagnose(partial, made, known, PLAN))["same_family_gap"]
    assert row["value"] == pytest.approx(1)
    assert row["n"] == 36


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_changes_no_bit(seed: int) -> None:
    made = named("x", "y")
    noise = np.random.default_rng(5).integers(0, 2, (12, 3, 2, 2))
    rules = {
        "x": lambda t, m, j, r: 1 + m + int(noise[t, m, j, r]),
        "y": lambda t, m, j, r: 1 + (t + m) % 4 + j,
    }
    table = scores(made, rules, repeats=2)
    one, two = (diagnose(rows, made, Known(), PLAN) for rows in (table, shuffled(table, seed)))
    assert one.equals(two)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 5) | st.none(), min_size=6, max_size=6), st.integers(1, 4))
def test_no_scores_break_the_diagnosis(values: list[int | None], tasks: int) -> None:
    made = named("x", "y")
    rules: dict[str, Rule] = {
        "x": lambda t, m, j, r: values[(t + m + j) % 6],
        "y": lambda t, m, j, r: values[m],
    }
    table = diagnose(scores(made, rules, tasks=tasks), made, Known(), PLAN)
    for row in table.to_pylist():
        if row["value"] is not None and row["statistic"].endswith(("share", "eta_squared")):
            assert -1e-9 <= row["value"] <= 1 + 1e-9
        if row["ci_low"] is not None:
            assert row["ci_low"] - 1e-9 <= row["ci_high"]
    flag_metrics(table, made, CHECKS)


def test_people_who_rate_twice_agree_as_the_handed_case_says(cases: Path) -> None:
    path = cases / "rubrics/edubench/edubench_human_scores_long.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    made = {(row["row"], row["metric"], row["rater"]): float(row["score"]) for row in rows}
    units = sorted({(row["row"], row["metric"]) for row in rows})
    task = {row["row"]: f"{row['task']} {row['question_id']}" for row in rows}
    first, second = (np.array([made[*unit, rater] for unit in units]) for rater in ("human1", "human2"))
    found = pair_agreement(first, second, [task[row] for row, _ in units], PLAN)
    assert found["icc_single"].n == 5610
    assert found["icc_single"].value == pytest.approx(0.460, abs=5e-4)
    assert found["alpha_interval"].value == pytest.approx(0.451, abs=5e-4)
    assert found["pearson"].value == pytest.approx(0.477, abs=5e-4)
    assert found["mean_absolute_difference"].value == pytest.approx(1.32, abs=5e-3)
    for estimate in found.values():
        assert estimate.ci_low is not None
        assert estimate.ci_low < estimate.value < estimate.ci_high


def test_judges_are_compared_with_one_another_and_with_people() -> None:
    made = named("x")
    table = scores(made, {"x": lambda t, m, j, r: spread(t, m, 0, r) - j / 2})
    people = human(made, {(f"t{t:02}-a", "x"): 2.0 for t in range(12)})
    found = judge_agreement(table, PLAN, people)
    assert conform(found, JUDGE_AGREEMENT).equals(found.combine_chunks())
    by_pair = {
        (row["judge_a"], row["judge_b"], row["measure"]): row
        for row in found.to_pylist()
        if row["metric_id"] == "x"
    }
    assert by_pair["ann", "bob", "mean_difference"]["value"] == 0.5
    assert by_pair["ann", "bob", "pearson"]["value"] == pytest.approx(1)
    assert by_pair["ann", "people", "mean_absolute_difference"]["n"] == 12
    assert found.num_rows == 2 * 3 * 6


def test_people_are_compared_on_what_both_have_scored() -> None:
    made = named("x")
    table = pa.concat_tables(
        [
            human(made, {("1", "x"): 4.0, ("2", "x"): 2.0, ("3", "x"): 1.0}, "hal"),
            human(made, {("1", "x"): 3.0, ("2", "x"): 2.0}, "ida"),
        ]
    )
    ((pair, found),) = people_agreement(table, {}, PLAN).items()
    assert pair == ("hal", "ida")
    assert (found["mean_difference"].value, found["mean_difference"].n) == (0.5, 2)
