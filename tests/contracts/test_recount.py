"""The recount of the gate against the metrics: two ways to count, one number."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from gate_tables import table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from magister.contracts._league import Grid, LeaguePlan
from magister.contracts._recount import replies_of, slices_of
from magister.contracts._recount_checks import recount_checks
from magister.contracts._reply_checks import sized
from magister.contracts.schemas import ANSWERS, BANDS, ITEMS, STATUSES, TEACHER_ARMS, TRAJECTORIES
from magister.teaching.metrics import teaching_metrics
from magister.teaching.trajectories import item_facts, zero_shot_table

Rows = list[dict[str, Any]]
ARMS = ["sham", "oracle_tell", "verdict_only", "self_revise"]
FEW: Any = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


class League:
    """A league of replies that are drawn: several data sets, bands, flags and numbers of options, and failures."""

    def __init__(self, seed: int, rounds: int = 3, n_items: int = 14, failing: float = 0.05) -> None:
        self.rng = np.random.default_rng(seed)
        self.plan = LeaguePlan(
            "main", ["ann", "bob", "cid"], ["tom", "una"], ARMS, rounds, ["demo", "sums", "texts"]
        )
        self.failing = failing
        items = [self._item(n) for n in range(n_items)]
        self.items = table(ITEMS, items)
        self.bands = table(BANDS, [self._band(row) for row in items if self.rng.random() < 0.9])
        self.zero_shot = table(ANSWERS, self._own(items))
        self.trajectories = self._played(items)

    def _item(self, n: int) -> dict[str, Any]:
        options = int(self.rng.integers(2, 5))
        flags = {name: bool(self.rng.random() < 0.3) for name in ("needs_options", "options_in_question")}
        return {
            "item_id": f"i{n:02}", "dataset": self.plan.datasets[n % 3], "cluster_id": f"c{n // 2}",
            "domain": ("maths", "law")[int(self.rng.random() < 0.4)], "question": "?", "passage": None,
            "options": [str(k) for k in range(options)], "origins": ["native"] * options, "key": "A", "gold": "0",
            "multi": False, "rewrite_status": "native", "review": None, **flags,
        }  # fmt: skip

    def _band(self, item: dict[str, Any]) -> dict[str, Any]:
        band = {"item_id": item["item_id"], "band": int(self.rng.integers(1, 4)), "pass_pattern": "1"}
        return band | {"n_answered": 1, "unsolved": False, "monotone": True}

    def _reply(self) -> dict[str, Any]:
        draw = self.rng.random()
        if draw < self.failing:
            return {"status": "error", "correct": None}
        if draw < 3 * self.failing:
            return {"status": str(self.rng.choice(STATUSES[1:-1])), "correct": False}
        return {"status": "ok", "correct": bool(self.rng.random() < 0.5)}

    def _own(self, items: Rows) -> Rows:
        text = {"request_id": "z", "rule": "any", "text": "A"}
        return [
            {"model": name, "item_id": item["item_id"]} | text | self._reply()
            for name, item in itertools.product(self.plan.teachers, items)
        ]

    def _played(self, items: Rows) -> pa.Table:
        rows: Rows = []
        blind = {key: self._reply() for key in itertools.product(self.plan.students, range(len(items)))}
        for (arm, teacher), student, n in itertools.product(
            self.plan.exchanges, self.plan.students, range(len(items))
        ):
            for t in range(self.plan.rounds + 1):
                speaks = arm in TEACHER_ARMS and t > 0
                told = {
                    "verdict": str(self.rng.choice(["correct", "wrong", "none"])) if speaks else "none",
                    "leak": str(self.rng.choice(["none", "none", "none", "option", "gold"]))
                    if speaks
                    else "none",
                    "guide_status": "error" if speaks and self.rng.random() < self.failing / 2 else "ok",
                }
                place = {"league": "main", "arm": arm, "teacher": teacher, "student": student, "round": t}
                rows.append(
                    place
                    | {"item_id": items[n]["item_id"]}
                    | told
                    | (self._reply() if t else blind[student, n])
                )
        facts = item_facts(self.items, self.bands)
        played = pa.Table.from_pylist(rows).join(facts, "item_id")
        none = {
            name: pa.nulls(played.num_rows, pa.string())
            for name in ("answer", "request_id", "guide_request_id")
        }
        for name, column in none.items():
            played = played.append_column(name, column)
        return played.select(TRAJECTORIES.schema.names).cast(TRAJECTORIES.schema)

    def metrics(self, policy: Any) -> pa.Table:
        own = zero_shot_table("main", self.items, self.bands, self.zero_shot)
        return teaching_metrics(self.trajectories, own, policy=policy, resamples=0, level=0.95, seed=0)

    def recounted(self, metrics: pa.Table) -> dict[str, Rows]:
        """Rows of the metrics that break each check, and wanted rows that are not there once."""
        grid = Grid(self.plan, self.items["item_id"].to_pylist())
        replies = replies_of(self.trajectories, grid, grid.number(self.trajectories))
        slices = slices_of(sized(self.items), self.bands)
        (_, wanted), checks = recount_checks(metrics, replies, self.zero_shot, grid, slices)
        found = {check.name: metrics.filter(pa.array(~check.passed)).to_pylist() for check in checks}
        found["metric_rows"] = wanted.filter(pc.not_equal(wanted["n_rows"], 1)).to_pylist()
        return {name: rows for name, rows in found.items() if rows}


@pytest.mark.parametrize("policy", ["wrong", "drop"])
@FEW
@given(
    seed=st.integers(0, 2**20),
    rounds=st.integers(1, 4),
    n_items=st.integers(1, 16),
    failing=st.sampled_from([0.0, 0.05, 0.3]),
)
def test_both_ways_to_count_agree(policy: str, seed: int, rounds: int, n_items: int, failing: float) -> None:
    drawn = League(seed, rounds, n_items, failing)
    assert drawn.recounted(drawn.metrics(policy)) == {}


DRAWN = League(3, rounds=2, n_items=12)
METRICS = DRAWN.metrics("wrong")


def changed(where: dict[str, Any], value: float) -> pa.Table:
    rows = METRICS.to_pylist()
    for row in rows:
        if all(row[name] == found for name, found in where.items()):
            row["value"] = value
    return pa.Table.from_pylist(rows, schema=METRICS.schema)


@pytest.mark.parametrize("metric", sorted(set(METRICS["metric"].to_pylist())))
def test_a_value_that_the_replies_do_not_give_is_named(metric: str) -> None:
    where = {"arm": "taught", "teacher": "una", "metric": metric}
    found = DRAWN.recounted(changed(where, 0.123456789))
    assert {row["metric"] for row in found["value_recounted"]} == {metric}
    assert {row["slice_kind"] for row in found["value_recounted"]} >= {"overall", "domain", "dataset", "band"}


def test_a_loser_whose_rows_all_agree_on_a_win_is_named() -> None:
    found = DRAWN.recounted(changed({"arm": "taught", "teacher": "tom", "metric": "CA"}, 0.75))
    kinds = {row["slice_kind"] for row in found["value_recounted"]}
    assert kinds == set(METRICS["slice_kind"].to_pylist())


@pytest.mark.parametrize("kind", sorted(set(METRICS["slice_kind"].to_pylist())))
def test_rows_that_vanish_from_a_slice_are_missed(kind: str) -> None:
    gone = (pc.field("slice_kind") == kind) & (pc.field("metric") == "CA") & (pc.field("teacher") == "tom")
    missed = DRAWN.recounted(METRICS.filter(~gone))["metric_rows"]
    assert len(missed) == METRICS.filter(gone).num_rows
    assert {(row["slice_kind"], row["metric"], row["teacher"]) for row in missed} == {(kind, "CA", "tom")}


def test_the_count_does_not_depend_on_the_order_of_rows() -> None:
    order = np.random.default_rng(0).permutation(DRAWN.trajectories.num_rows)
    mixed = League(3, rounds=2, n_items=12)
    mixed.trajectories = DRAWN.trajectories.take(pa.array(order))
    mixed.zero_shot = DRAWN.zero_shot.take(pa.array(np.arange(DRAWN.zero_shot.num_rows)[::-1]))
    assert mixed.recounted(METRICS) == {}


def test_rows_of_the_other_policy_are_counted_under_theirs() -> None:
    drop = DRAWN.metrics("drop")
    mine, theirs = pc.field("teacher") == "tom", pc.field("teacher") != "tom"
    assert DRAWN.recounted(pa.concat_tables([METRICS.filter(mine), drop.filter(theirs)])) == {}
