"""Standings: who is told apart from whom, and by how much."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from teaching_tables import shuffled

from magister.contracts.schemas import COMPARISONS, STANDINGS, TRAJECTORIES
from magister.errors import UserError
from magister.stats import bootstrap_weights, expanded_intervals, holm
from magister.teaching.metrics import teaching_metrics
from magister.teaching.standings import standings

CHOICES: dict[str, Any] = {"policy": "wrong", "resamples": 400, "level": 0.95, "seed": 3}


def league(
    right: dict[str, np.ndarray], *, clusters: int | None = None, dataset: str = "d", verdict: str = "wrong"
) -> pa.Table:
    """Trajectories of teachers from whether a reply is right, arrays of shape (S, N, R)."""
    rows = []
    for teacher, marks in right.items():
        for s, n, t in np.ndindex(marks.shape):
            rows.append(
                {
                    "league": "main", "arm": "taught", "teacher": teacher, "student": f"s{s}",
                    "item_id": f"{dataset}{n:04d}", "round": t, "dataset": dataset, "domain": "k",
                    "cluster_id": f"{dataset}{n % (clusters or marks.shape[1]):04d}", "n_options": 4,
                    "status": "ok", "correct": bool(marks[s, n, t]), "verdict": verdict if t == 1 else "none",
                    "guide_status": "ok" if t else "not_asked", "leak": "none",
                }
            )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=TRAJECTORIES.schema)


def drawn(rng: np.random.Generator, fix: float, start: np.ndarray, rounds: int = 2) -> np.ndarray:
    """Replies of students who fix a wrong answer with probability `fix` a round and never lose a right one."""
    marks = [start]
    for _ in range(rounds):
        marks.append(marks[-1] | (rng.random(start.shape) < fix))
    return np.stack(marks, axis=-1)


def four_teachers(seed: int, items: int = 60, students: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    start = rng.random((students, items)) < 0.3
    return {
        name: drawn(rng, fix, start)
        for name, fix in (("best", 0.9), ("good", 0.4), ("peer", 0.4), ("poor", 0.02))
    }


def of(table: pa.Table, **where: str) -> list[dict[str, Any]]:
    return [row for row in table.to_pylist() if all(row[name] == value for name, value in where.items())]


def test_teachers_far_apart_are_ranked_and_peers_share_a_group() -> None:
    ranked, compared = standings(league(four_teachers(1)), None, **CHOICES)
    gain = {row["teacher"]: row for row in of(ranked, metric="CA")}
    assert (gain["best"]["rank"], gain["best"]["rank_low"], gain["best"]["rank_high"]) == (1, 1, 1)
    assert gain["best"]["p_first"] == 1.0
    assert (gain["poor"]["rank"], gain["poor"]["p_first"]) == (4, 0.0)
    assert {gain["good"]["rank_low"], gain["peer"]["rank_low"]} == {2}
    assert {gain["good"]["rank_high"], gain["peer"]["rank_high"]} == {3}
    assert [gain[name]["group"] for name in ("best", "good", "peer", "poor")] == ["a", "b", "b", "c"]
    pairs = {(row["first"], row["second"]): row for row in of(compared, metric="CA")}
    assert len(pairs) == 6
    assert pairs["best", "poor"]["p_holm"] <= 0.05 < pairs["good", "peer"]["p_holm"]
    assert pairs["best", "good"]["ci_low"] > 0


@pytest.mark.parametrize("policy", ["wrong", "drop"])
def test_values_are_those_of_the_metrics(policy: Any) -> None:
    rng = np.random.default_rng(5)
    rows = league(four_teachers(5, items=30), clusters=10).to_pylist()
    for row in rows:
        roll = rng.random()
        if roll < 0.02:
            row |= {"status": "error", "correct": None}
        elif roll < 0.1:
            row |= {"status": "no_answer", "correct": False}
        if row["round"] == 1:
            row["verdict"] = ("correct", "wrong", "none")[int(rng.integers(3))]
    table = pa.Table.from_pylist(rows, schema=TRAJECTORIES.schema)
    choices = CHOICES | {"policy": policy}
    metrics = teaching_metrics(table, None, **choices)
    ranked, _ = standings(table, None, **choices)
    for row in ranked.to_pylist():
        measured = of(
            metrics, metric=row["metric"], teacher=row["teacher"], slice_kind="overall", arm="taught"
        )
        mine = max(measured, key=lambda other: other["round"])
        assert row["round"] == mine["round"]
        assert row["value"] == pytest.approx(mine["value"], abs=1e-12)
        for name in ("n_items", "n_students", "n_clusters", "n_cells", "n_dropped"):
            assert row[name] == mine[name], (row["metric"], name)


def test_difference_is_that_of_the_values_with_the_interval_of_shared_resamples() -> None:
    right = four_teachers(7, items=40)
    table = league(right)
    ranked, compared = standings(table, None, **CHOICES)
    value = {row["teacher"]: row["value"] for row in of(ranked, metric="CA")}
    (pair,) = of(compared, metric="CA", first="good", second="peer")
    assert pair["difference"] == pytest.approx(value["good"] - value["peer"], abs=1e-12)
    weights = bootstrap_weights(["d"] * 40, resamples=400, seed=3)
    gain = (right["good"][..., -1].astype(float) - right["peer"][..., -1]).mean(axis=0)
    expected = expanded_intervals([gain.mean()], weights.totals(gain[:, None]) / 40, weights)[0]
    assert (pair["ci_low"], pair["ci_high"]) == pytest.approx((expected.ci_low, expected.ci_high), abs=1e-12)


def test_p_values_are_held_to_account_for_the_number_of_pairs() -> None:
    _, compared = standings(league(four_teachers(2)), None, **CHOICES)
    for metric in ("CA", "GA", "JA"):
        rows = of(compared, metric=metric)
        known = np.array([np.nan if row["p"] is None else row["p"] for row in rows])
        shown = [row["p_holm"] for row in rows]
        assert [None if np.isnan(p) else p for p in holm(known)] == shown


def test_equal_teachers_share_rank_and_first_place() -> None:
    start = np.random.default_rng(3).random((2, 20)) < 0.5
    marks = drawn(np.random.default_rng(4), 0.5, start)
    ranked, compared = standings(league({"a": marks, "b": marks}), None, **CHOICES)
    rows = of(ranked, metric="CA")
    assert [(row["rank"], row["p_first"], row["group"]) for row in rows] == [(1, 1.0, "a")] * 2
    (pair,) = of(compared, metric="CA")
    assert (pair["difference"], pair["ci_low"], pair["p"], pair["status"]) == (0.0, None, 1.0, "no_interval")
    assert pair["reason"]


def test_few_students_widen_the_interval_for_students_like_these() -> None:
    rng = np.random.default_rng(9)
    start = rng.random((3, 80)) < 0.3
    right = {"t": drawn(rng, 0.5, start), "u": drawn(rng, 0.3, start)}
    # One student follows nobody.
    for marks in right.values():
        marks[0, :, 1:] = marks[0, :, :1]
    table = league(right)
    ranked, _ = standings(table, None, **CHOICES)
    overall = of(
        teaching_metrics(table, None, **CHOICES), metric="CA", slice_kind="overall", teacher="t", round=2
    )
    (row,) = of(ranked, metric="CA", teacher="t")
    assert row["random_status"] == "ok"
    assert row["random_ci_high"] - row["random_ci_low"] > 2 * (overall[0]["ci_high"] - overall[0]["ci_low"])


def test_one_student_and_aa_have_no_interval_for_other_students() -> None:
    table = league({name: marks[:1] for name, marks in four_teachers(4).items()})
    own = table.filter(pc.equal(table["round"], 0)).drop_columns("student")
    ranked, compared = standings(table, own, **CHOICES)
    for row in [*of(ranked, metric="CA"), *of(compared, metric="CA")]:
        assert (row["random_ci_low"], row["random_status"]) == (None, "no_interval")
        assert "one student" in row["random_reason"]
    for row in [*of(ranked, metric="AA"), *of(compared, metric="AA")]:
        assert row["random_reason"] == "AA has no students"


def test_teachers_of_other_items_have_no_rank_among_each_other() -> None:
    rng = np.random.default_rng(6)
    start = rng.random((2, 12)) < 0.5
    apart = pa.concat_tables(
        [
            league({"t": drawn(rng, 0.5, start), "u": drawn(rng, 0.2, start)}),
            league({"v": drawn(rng, 0.5, start)}, dataset="e"),
        ]
    )
    ranked, compared = standings(apart, None, **CHOICES)
    assert {(row["rank"], row["group"]) for row in ranked.to_pylist()} == {(None, "")}
    assert all("different items" in row["rank_reason"] for row in ranked.to_pylist())
    assert {(row["first"], row["second"]) for row in compared.to_pylist()} == {("t", "u")}


def test_control_arms_are_not_ranked() -> None:
    table = league(four_teachers(8, items=10))
    position = table.column_names.index("arm")
    arms = pc.if_else(pc.equal(table["teacher"], "poor"), "verdict_only", "taught")
    ranked, _ = standings(table.set_column(position, table.schema.field(position), arms), None, **CHOICES)
    assert {row["teacher"] for row in ranked.to_pylist()} == {"best", "good", "peer"}


def test_one_teacher_is_ranked_and_has_no_pair() -> None:
    ranked, compared = standings(league({"t": four_teachers(2)["good"]}), None, **CHOICES)
    assert [row["rank"] for row in of(ranked, metric="CA")] == [1]
    assert compared.num_rows == 0
    assert compared.schema.equals(COMPARISONS.schema)


@given(st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_order_of_rows_changes_no_byte(seed: int) -> None:
    table = league(four_teachers(seed, items=12, students=2), clusters=6)
    choices = CHOICES | {"resamples": 150}
    for one, other in zip(
        standings(table, None, **choices), standings(shuffled(table, seed), None, **choices), strict=True
    ):
        assert one.equals(other)


@given(st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_letters_say_what_the_adjusted_p_values_say(seed: int) -> None:
    ranked, compared = standings(
        league(four_teachers(seed, items=15), clusters=15), None, **(CHOICES | {"resamples": 200})
    )
    group = {row["teacher"]: set(row["group"]) for row in of(ranked, metric="CA")}
    for row in of(compared, metric="CA"):
        together = bool(group[row["first"]] & group[row["second"]])
        assert together == (row["p_holm"] > 0.05)


def test_settings_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(UserError, match="at least 1 resample"):
        standings(league(four_teachers(1, items=4)), None, **(CHOICES | {"resamples": 0}))


def test_no_trajectories_give_empty_tables() -> None:
    ranked, compared = standings(TRAJECTORIES.schema.empty_table(), None, **CHOICES)
    assert (ranked.num_rows, compared.num_rows) == (0, 0)
    assert ranked.schema.equals(STANDINGS.schema)
