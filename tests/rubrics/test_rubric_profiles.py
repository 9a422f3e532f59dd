"""Profiles, ranks and the board: every number with its n and interval, every loss counted."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rubric_tables import metric, rubric
from score_tables import MODELS, PLAN, Rule, named, scores, shuffled

from magister.contracts.rubrics_score_tables import OVERALL, RUBRIC_PROFILES, RUBRIC_STANDINGS
from magister.display import columns
from magister.errors import UserError
from magister.provenance._artifact import conform
from magister.rubrics._board_text import render_markdown, render_text
from magister.rubrics.agreement import judge_agreement
from magister.rubrics.board import beside, rubrics_board
from magister.rubrics.panel import dialogue_scores, metric_scores
from magister.rubrics.profiles import board_rows, dimension_profiles

MADE = rubric(metric("a", weight=0.25), metric("b", weight=0.75), metric("c", "values"))


def better(task: int, model: int, judge: int, repeat: int) -> float:
    return float(min(5, 2 + model + (task % 4 == 0)))


RULES: dict[str, Rule] = {"a": better, "b": better, "c": lambda t, m, j, r: 3}


def profiles(table: pa.Table, policy: Any = "unknown", **more: Any) -> dict[tuple[str, str], dict[str, Any]]:
    found = dimension_profiles(metric_scores(table), MADE, policy, PLAN, **more)
    assert conform(found, RUBRIC_PROFILES).equals(found.combine_chunks())
    return {(row["model"], row["dim"]): row for row in found.to_pylist()}


def test_a_profile_is_the_mean_over_dialogues_with_an_interval_over_tasks() -> None:
    found = profiles(scores(MADE, RULES))
    row = found["a", "pedagogy"]
    assert (row["value"], row["n"], row["n_clusters"], row["n_missing"]) == (2.25, 12, 12, 0)
    assert row["ci_low"] < 2.25 < row["ci_high"]
    assert found["a", "values"]["value"] == 3.0
    assert found["a", OVERALL]["value"] == pytest.approx(0.5 * 2.25 + 0.5 * 3)
    assert (found["a", "values"]["ci_low"], found["a", "values"]["status"]) == (None, "no_interval")


def test_overall_is_the_score_of_the_dialogues() -> None:
    table = metric_scores(scores(MADE, RULES | {"c": lambda t, m, j, r: 1 + (t + m) % 5}))
    totals = dialogue_scores(table, MADE, "unknown")
    found = dimension_profiles(table, MADE, "unknown", PLAN).to_pylist()
    for model in MODELS:
        own = [row["value"] for row in totals.to_pylist() if row["model"] == model]
        (row,) = [row for row in found if (row["model"], row["dim"]) == (model, OVERALL)]
        assert row["value"] == pytest.approx(np.mean(own))


def test_dialogues_without_a_score_are_counted_and_count_nothing() -> None:
    table = scores(MADE, RULES, status=lambda name, t, m: "error" if (name, m) == ("a", 0) and t < 5 else "")
    found = profiles(table)
    assert (found["a", "pedagogy"]["n"], found["a", "pedagogy"]["n_missing"]) == (7, 5)
    assert found["a", "values"]["n_missing"] == 0
    loose = profiles(table, "renormalise")
    assert (loose["a", "pedagogy"]["n"], loose["a", "pedagogy"]["n_missing"]) == (12, 0)


def test_a_model_without_any_score_has_a_row_that_says_so() -> None:
    found = profiles(scores(MADE, RULES), models=("z",))
    row = found["z", OVERALL]
    assert (row["value"], row["status"], row["n"], row["reason"]) == (
        None,
        "not_computable",
        0,
        "no observations",
    )


def test_vetoed_dialogues_count_with_the_rules_score() -> None:
    table = scores(MADE, {name: lambda t, m, j, r: 1.0 if t == 0 else 3.0 for name in "abc"},
                   status=lambda name, t, m: "vetoed" if t == 0 else "")  # fmt: skip
    row = profiles(table)["a", OVERALL]
    assert (row["n_vetoed"], row["n"], row["value"]) == (1, 12, pytest.approx((1 + 11 * 3) / 12))


def test_scores_of_another_version_are_refused() -> None:
    with pytest.raises(UserError, match="score the dialogues by this version first"):
        dimension_profiles(metric_scores(scores(MADE, RULES)), named("a", "b", "c"), "unknown", PLAN)


def board(rules: dict[str, Rule] | None = None, **more: Any) -> pa.Table:
    table = board_rows(metric_scores(scores(MADE, rules or RULES, **more)), MADE, 2, "unknown", PLAN)
    assert conform(table, RUBRIC_STANDINGS).equals(table.combine_chunks())
    return table


def test_ranks_and_groups_follow_the_scores() -> None:
    found = {(row["model"], row["dim"]): row for row in board().to_pylist()}
    assert [found[model, "pedagogy"]["rank"] for model in MODELS] == [3, 2, 1]
    assert [found[model, "pedagogy"]["group"] for model in MODELS] == ["c", "b", "a"]
    # All have one score there: one rank and one letter.
    assert {(found[model, "values"]["rank"], found[model, "values"]["group"]) for model in MODELS} == {
        (1, "a")
    }
    row = found["c", OVERALL]
    assert (row["rank_low"], row["rank_high"]) == (1, 1)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_changes_no_bit_of_the_board(seed: int) -> None:
    rules = RULES | {"c": lambda t, m, j, r: 1 + (t * (m + 1) + j) % 5}
    table = metric_scores(scores(MADE, rules))
    one, two = (board_rows(rows, MADE, 0, "unknown", PLAN) for rows in (table, shuffled(table, seed)))
    assert one.equals(two)


def test_the_board_fits_a_terminal_and_holds_every_model_and_dimension() -> None:
    table = rubrics_board({"ours": board()})
    beside_it = {
        "agreement": "ann and bob alpha 0.90",
        "flags": {"a": ["too_strict"]},
        "evolution": "best of 3",
    }
    documents = {"ours": {"sums": beside_it}}
    text = render_text(table, documents)
    assert all(columns(line) <= 80 for line in text.splitlines())
    assert "judges: ann and bob alpha 0.90" in text
    assert "metrics flagged still: a too_strict" in text
    page = render_markdown(table, documents)
    for name in (*MODELS, "pedagogy", "values"):
        assert name in text
        assert name in page
    assert "| 1 | c | 3.62" in page


def test_an_empty_board_says_so() -> None:
    empty = rubrics_board({})
    assert render_text(empty, {}) == render_markdown(empty, {}) == "No scenario has been scored yet.\n"


def test_lost_dialogues_stand_below_the_table() -> None:
    text = render_text(
        rubrics_board({"ours": board(status=lambda name, t, m: "error" if t == 0 else "")}), {}
    )
    assert "3 of 36 dialogues have no score (policy unknown); none counts as a low one" in text


@settings(deadline=None, max_examples=30)
@given(st.lists(st.text(min_size=1, max_size=40), min_size=3, max_size=3, unique=True))
def test_names_of_any_kind_break_no_line(names: list[str]) -> None:
    table = rubrics_board({"ours": board(models=tuple(names))})
    assert all(columns(line) <= 80 for line in render_text(table, {}).splitlines())


def test_beside_the_board_stand_agreement_flags_and_the_rubrics_way() -> None:
    agreement = judge_agreement(scores(MADE, RULES), PLAN)
    made = {
        "iteration": 0, "best": 0, "flags": {"a": {"too_strict": "x"}}, "stop_reason": "patience",
        "objective": {"value": 0.5}, "terms": {"missing": {"value": 0.0}},
    }  # fmt: skip
    found = beside(agreement, [{"status": "frozen", "same_as": 0}, made])
    assert found["agreement"].startswith("ann and bob alpha 1.00")
    assert found["flags"] == {"a": ["too_strict"]}
    assert found["evolution"] == "best of 1 iteration is number 0; stopped: patience"
    assert found["objective"] == [{"iteration": 0, "value": 0.5, "terms": {"missing": 0.0}}]


def test_a_judge_that_failed_is_named_with_its_numbers() -> None:
    lost = scores(MADE, RULES, status=lambda name, t, m: "parse_error" if t == 0 else "")
    found = beside(judge_agreement(lost, PLAN), [], lost)
    assert set(found["judges"]) == {"ann", "bob"}
    assert found["judges"]["ann"]["parse_error"] > 0
    text = render_text(rubrics_board({"ours": board()}), {"ours": {"sums": found}})
    assert re.search(r"judge ann: \d+ of \d+ scores; parse error \d+", text)
    assert beside(judge_agreement(lost, PLAN), [], scores(MADE, RULES))["judges"] == {}
