"""Metrics without one dialogue are those of the league without its rows."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from audit_projects import STUDENTS, trajectories
from hypothesis import given, settings
from hypothesis import strategies as st

from magister.audit.left_out import CONTROLS, Part, dialogues_left_out, largest
from magister.teaching._cube import Cube, trajectory_cubes
from magister.teaching._measure import Policy
from magister.teaching.metrics import teaching_metrics

NAMES = {"taught": "tea", "verdict_only": "tea", "sham": "sham", "oracle_tell": "oracle_tell"}


def unit(table: pa.Table, arm: str) -> Cube:
    return trajectory_cubes(table.filter(pc.equal(table["arm"], arm)))[0]


def metrics(table: pa.Table, policy: Policy) -> dict[tuple[str, ...], float | None]:
    rows = teaching_metrics(table, None, policy=policy, resamples=0, level=0.9, seed=0).to_pylist()
    key = ("arm", "metric", "slice_kind", "slice")
    return {(*(row[name] for name in key), str(row["round"])): row["value"] for row in rows}


def same(one: float | None, other: float) -> bool:
    return np.isnan(other) if one is None else math.isclose(one, other, abs_tol=1e-12)


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    lost=st.sampled_from([0.0, 0.15, 0.5]),
    policy=st.sampled_from(["wrong", "drop"]),
    student=st.sampled_from(STUDENTS),
    item=st.integers(0, 11),
    kind=st.sampled_from(["overall=all", "macro=datasets", "dataset=d1", "student=ann", "band=2"]),
)
def test_a_metric_without_a_dialogue_is_that_of_the_rows_without_it(
    seed: int, lost: float, policy: Policy, student: str, item: int, kind: str
) -> None:
    table = trajectories(seed, lost)
    table = table.filter(pc.equal(table["arm"], "taught"))
    left_out = pc.and_(pc.equal(table["student"], student), pc.equal(table["item_id"], f"i{item:02d}"))
    rest = metrics(table.filter(pc.invert(left_out)), policy)
    whole, cube = metrics(table, policy), unit(table, "taught")
    slice_kind, _, label = kind.partition("=")
    for (arm, metric, *where), value in whole.items():
        if arm != "taught" or where[:2] != [slice_kind, label] or metric in ("AA", *CONTROLS):
            continue
        part = Part(metric, int(where[2]), slice_kind, label, policy)
        found = dialogues_left_out({"taught": cube}, part)
        assert same(value, found.value), part
        places = [
            at
            for at, key in enumerate(zip(found.student, found.item, strict=True))
            if key == (student, f"i{item:02d}")
        ]
        without = found.without[places[0]] if places else found.value
        assert same(rest[arm, metric, *where], without), part


@pytest.mark.parametrize("metric", CONTROLS)
@pytest.mark.parametrize("arm", ["taught", "sham", "oracle_tell", "verdict_only"])
def test_a_dialogue_of_a_control_arm_moves_what_is_compared_with_it(metric: str, arm: str) -> None:
    table = trajectories(3, 0.0)
    arms = dict.fromkeys(["taught", *CONTROLS[metric]])
    found = dialogues_left_out(
        {name: unit(table, name) for name in arms}, Part(metric, 2, "overall", "all", "wrong")
    )
    assert same(metrics(table, "wrong")["taught", metric, "overall", "all", "2"], found.value)
    assert set(found.arm) == set(arms)
    if arm not in arms:
        return
    one = pc.and_(
        pc.equal(table["arm"], arm),
        pc.and_(pc.equal(table["student"], "bob"), pc.equal(table["item_id"], "i04")),
    )
    rows = table.filter(pc.invert(one)).to_pylist()
    at = next(
        n
        for n, key in enumerate(zip(found.arm, found.student, found.item, strict=True))
        if key == (arm, "bob", "i04")
    )
    # The arms are then no longer of the same cells: CA of each is worked out on its own.
    gain = {
        name: metrics(
            pa.Table.from_pylist([row for row in rows if row["arm"] == name], schema=table.schema), "wrong"
        )[name, "CA", "overall", "all", "2"]
        for name in NAMES
    }
    taught, sham, oracle, verdict = (
        gain[name] or 0.0 for name in ("taught", "sham", "oracle_tell", "verdict_only")
    )
    expected = {
        "net_CA": taught - sham,
        "headroom": (taught - sham) / (oracle - sham),
        "net_verdict": taught - verdict,
    }
    assert math.isclose(expected[metric], found.without[at], abs_tol=1e-12)


def test_without_a_dialogue_in_use_a_count_is_unknown_and_not_0() -> None:
    table = trajectories(2534, 0.5)
    part = Part("Fix", 1, "dataset", "d1", "drop")
    assert np.isnan(dialogues_left_out({"taught": unit(table, "taught")}, part).value)


def test_the_only_dialogue_leaves_nothing_behind() -> None:
    table = trajectories(0, 0.0)
    keep = pc.and_(pc.equal(table["item_id"], "i00"), pc.equal(table["student"], "ann"))
    found = dialogues_left_out(
        {"taught": unit(table.filter(keep), "taught")}, Part("CA", 2, "overall", "all", "wrong")
    )
    assert np.isnan(found.without).all()
    assert found.without.size == 1


def test_the_order_of_the_rows_changes_nothing() -> None:
    table = trajectories(1)
    shuffled = table.take(np.random.default_rng(0).permutation(table.num_rows))
    part = Part("RA", 2, "macro", "datasets", "wrong")
    one, two = (dialogues_left_out({"taught": unit(rows, "taught")}, part) for rows in (table, shuffled))
    assert (one.student, one.item) == (two.student, two.item)
    assert one.without.tobytes() == two.without.tobytes()


def test_the_largest_changes_come_first_and_equal_ones_by_name() -> None:
    change = np.array([0.1, -0.2, 0.0, 0.2, np.nan])
    names = ["e", "d", "c", "b", "a"]
    assert largest(change, lambda at: (names[at],), 3) == ([4, 3, 1], 0)
    assert largest(change, lambda at: (names[at],), 2) == ([4, 3], 1)


def test_what_changes_nothing_is_never_among_the_largest() -> None:
    assert largest(np.array([0.0, 1e-15]), lambda at: (str(at),), 5) == ([], 0)
    assert largest(np.empty(0), lambda at: (str(at),), 5) == ([], 0)
