"""Selection lift: its measures by hand, its intervals, and the votes of seven models."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv

from magister.arena._outcomes import code_votes, mean_share, tables_of
from magister.arena.lift import (
    Resampling,
    expected_agreement,
    jackknife_ratings,
    pooled_order,
    selection_lift,
)
from magister.arena.redraws import against_draws
from magister.contracts.arena_tables import SELECTION_LIFT
from magister.errors import UserError

FEW = Resampling(200, seed=1)


def votes_of(rows: list[tuple[str, str, str, str, str]]) -> pa.Table:
    names = ("model_a", "model_b", "winner", "arm", "instruction_id")
    return pa.Table.from_pylist(
        [dict(zip(names, row, strict=True)) for row in rows],
        schema=pa.schema([(name, pa.string()) for name in names]),
    )


def simulated(chance: dict[str, float], ties: dict[str, float], each: int, seed: int = 0) -> pa.Table:
    """Four models; in an arm the better one of a pair wins a decisive vote with a chance of its own."""
    rng = np.random.default_rng(seed)
    rows = []
    for arm in chance:
        for a, b in itertools.combinations("wxyz", 2):
            for k in range(each):
                won = "a" if rng.random() < chance[arm] else "b"
                winner = "tie" if rng.random() < ties[arm] else won
                rows.append((a, b, winner, arm, f"{arm}{a}{b}{k}"))
    return votes_of(rows)


def found(table: pa.Table) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["measure"], row["arm"]): row for row in table.to_pylist()}


def test_shares_are_counted_by_arm() -> None:
    votes = votes_of(
        [
            ("x", "y", "a", "discrepant", "1"),
            ("y", "x", "a", "discrepant", "2"),
            ("x", "z", "a", "discrepant", "3"),
            ("y", "z", "a", "random", "4"),
            ("x", "z", "tie", "random", "5"),
            ("x", "y", "both_bad", "random", "6"),
            ("x", "y", "a", "random", "7"),
        ]
    )
    lift = selection_lift(votes, resampling=FEW)
    assert lift.schema.equals(SELECTION_LIFT.schema)
    rows = found(lift)
    assert len(rows) == 15
    assert rows["decisive", "discrepant"]["value"] == 1.0
    assert rows["decisive", "random"]["value"] == 0.5
    assert rows["decisive", "difference"]["value"] == 0.5
    assert (rows["decisive", "discrepant"]["n"], rows["decisive", "random"]["n"]) == (3, 4)
    # Without its own votes: x above y by z, x level with z through y (1/2, 0): z lower; y above z.
    assert rows["vote_agreement", "discrepant"]["value"] == pytest.approx(2 / 3)


def test_no_vote_speaks_for_itself() -> None:
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    votes = np.ones(3)
    # 0 beats 1, 1 beats 2, 2 beats 0: of every pair, the loser does better against the third.
    order = pooled_order(pairs, np.array([1.0, 0.0, 1.0]), votes, 3, mean_share)
    assert order.tolist() == [-1.0, 1.0, -1.0]
    assert np.isnan(pooled_order(pairs[:1], np.ones(1), np.ones(1), 2, mean_share)).all()


def test_two_models_have_no_ranking_but_their_own_votes() -> None:
    votes = votes_of(
        [("x", "y", "a", arm, f"{arm}{k}") for arm in ("discrepant", "random") for k in range(5)]
    )
    rows = found(selection_lift(votes, resampling=FEW))
    assert rows["decisive", "random"]["value"] == 1.0
    for measure in ("vote_agreement", "pair_agreement"):
        assert rows[measure, "difference"]["value"] is None
        assert rows[measure, "difference"]["reason"]


def test_an_arm_without_votes_has_no_number() -> None:
    votes = simulated({"discrepant": 0.9}, {"discrepant": 0.1}, 5)
    rows = found(selection_lift(votes, resampling=FEW))
    assert rows["decisive", "discrepant"]["value"] > 0.5
    for measure in ("decisive", "vote_agreement", "pair_agreement", "width", "relative_width"):
        row = rows[measure, "random"]
        assert (row["value"], row["ci_low"], row["status"] != "ok") == (None, None, True)
        assert row["reason"]


def test_a_selection_that_helps_is_seen() -> None:
    votes = simulated({"discrepant": 0.95, "random": 0.6}, {"discrepant": 0.0, "random": 0.5}, 60)
    rows = found(selection_lift(votes, resampling=FEW))
    for measure in ("decisive", "vote_agreement"):
        assert rows[measure, "difference"]["ci_low"] > 0, measure
    assert rows["relative_width", "difference"]["ci_high"] < 0
    assert rows["pair_agreement", "difference"]["value"] >= 0


def test_arms_alike_are_not_told_apart() -> None:
    outside = 0
    for seed in range(40):
        votes = simulated({"discrepant": 0.8, "random": 0.8}, {"discrepant": 0.2, "random": 0.2}, 20, seed)
        row = found(selection_lift(votes, resampling=Resampling(500, seed)))["vote_agreement", "difference"]
        outside += not row["ci_low"] <= 0 <= row["ci_high"]
    assert outside <= 6


@settings(deadline=None, max_examples=20)
@given(st.permutations(range(48)), st.booleans())
def test_neither_the_order_of_votes_nor_of_models_changes_a_number(order: list[int], turn: bool) -> None:
    votes = simulated({"discrepant": 0.9, "random": 0.6}, {"discrepant": 0.1, "random": 0.3}, 4)
    rows = votes.take(pa.array(order)).to_pylist()
    if turn:
        swap = {"a": "b", "b": "a", "tie": "tie"}
        rows = [
            row | {"model_a": row["model_b"], "model_b": row["model_a"], "winner": swap[row["winner"]]}
            for row in rows
        ]
    moved = pa.Table.from_pylist(rows, schema=votes.schema)
    assert selection_lift(moved, resampling=FEW).equals(selection_lift(votes, resampling=FEW))


def test_threads_of_the_linear_algebra_change_no_byte() -> None:
    script = (
        "import hashlib, sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_lift import FEW, selection_lift, simulated\n"
        "votes = simulated({'discrepant': .9, 'random': .6}, {'discrepant': .1, 'random': .3}, 150)\n"
        "print(hashlib.sha256(str(selection_lift(votes, resampling=FEW).to_pydict()).encode()).hexdigest())\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", script, str(Path(__file__).parent)],
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "4")
    }
    assert len(said) == 1


@given(
    st.lists(st.tuples(*[st.integers(0, 4)] * 3).filter(any), min_size=1, max_size=3),
    st.sampled_from([1, -1]),
)
def test_expected_agreement_is_the_mean_over_all_draws(
    counts: list[tuple[int, int, int]], order: int
) -> None:
    for drawn in range(1, min(map(sum, counts)) + 1):
        by_formula = expected_agreement(
            np.array(counts), np.full(len(counts), drawn), np.full(len(counts), float(order))
        )
        for value, (won, tied, lost) in zip(by_formula, counts, strict=True):
            votes = [1] * won + [0] * tied + [-1] * lost
            all_draws = [sum(part) * order for part in itertools.combinations(votes, drawn)]
            assert value == pytest.approx(np.mean([0.5 + 0.5 * np.sign(net) for net in all_draws]))


def test_the_jackknife_leaves_out_one_instruction_at_a_time() -> None:
    votes = simulated({"discrepant": 0.7}, {"discrepant": 0.2}, 3)
    shared = votes.set_column(4, "instruction_id", pa.array([f"i{k % 7}" for k in range(votes.num_rows)]))
    outcomes = code_votes(shared)
    level, influence = jackknife_ratings(outcomes, np.ones(outcomes.pair.size, dtype=bool), mean_share)

    def rate(keep: np.ndarray) -> np.ndarray:
        points, count = (
            np.bincount(outcomes.pair[keep], weights, len(outcomes.pairs))
            for weights in (outcomes.points[keep], np.ones(int(keep.sum())))
        )
        return mean_share(*tables_of(outcomes.pairs, points, count, 4))

    assert level == pytest.approx(rate(np.ones(outcomes.pair.size, dtype=bool)))
    without = np.array([rate(outcomes.cluster != c) for c in range(7)])
    assert (influence**2).sum(axis=0) == pytest.approx(
        6 / 7 * ((without - without.mean(axis=0)) ** 2).sum(axis=0)
    )


def test_a_mean_share_counts_opponents_alike() -> None:
    # 0 beats 1 once and loses to 2 nine times; 3 met nobody.
    points, votes = tables_of(np.array([[0, 1], [0, 2]]), np.array([1.0, 0.0]), np.array([1.0, 9.0]), 4)
    shares = mean_share(points, votes)
    assert shares[:3].tolist() == [0.5, 0.0, 1.0]
    assert math.isnan(shares[3])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("x", "y", "model_x", "random", "1"), "row 2 has the winner 'model_x'"),
        (("x", "x", "a", "random", "1"), "row 2 compares 'x' with itself"),
        (("x", "y", "a", "mad", "1"), "row 2 has the arm 'mad'; expected discrepant or random"),
    ],
)
def test_a_wrong_vote_is_named(row: tuple[str, str, str, str, str], said: str) -> None:
    with pytest.raises(UserError, match=said):
        selection_lift(votes_of([("x", "y", "a", "random", "0"), row]), resampling=FEW)


@pytest.mark.parametrize("column", ["winner", "arm"])
def test_a_lacking_column_is_named(column: str) -> None:
    votes = votes_of([("x", "y", "a", "random", "0")]).drop([column])
    with pytest.raises(UserError, match=rf"lack the column\(?s?\)? {column}"):
        selection_lift(votes, resampling=FEW)


# Against random draws


def test_a_random_draw_is_like_random_draws_and_a_bad_one_is_not() -> None:
    pool = simulated({"random": 0.9}, {"random": 0.1}, 50)
    # The better model is the first by name: a selection of its losses misleads.
    lost = [row for row in pool.to_pylist() if row["winner"] == "b"][:12]
    bad = against_draws(pa.Table.from_pylist(lost, schema=pool.schema), pool, draws=500, resampling=FEW)
    by_name = {row.measure: row for row in bad}
    assert by_name["vote_agreement"].value == 0.0
    assert by_name["vote_agreement"].above == 0.0
    assert by_name["decisive"].value == 1.0
    whole = {row.measure: row for row in against_draws(pool, pool, draws=50, resampling=FEW)}
    assert whole["spearman"].value == whole["spearman"].drawn == 1.0
    assert whole["pair_agreement"].above == 0.5


def test_a_selection_that_the_pool_does_not_hold_is_named() -> None:
    pool = simulated({"random": 0.9}, {"random": 0.1}, 2)
    with pytest.raises(UserError, match="expected the same models"):
        against_draws(votes_of([("w", "x", "a", "random", "0")]), pool)
    with pytest.raises(UserError, match="the pool has 2 votes on w and x, fewer than the 4 selected"):
        against_draws(pa.concat_tables([pool, pool]), pool)
    part = pa.Table.from_pylist(
        [row for row in pool.to_pylist() if row["model_a"] != "w" or row["model_b"] != "z"]
    )
    with pytest.raises(UserError, match="no votes on w and z"):
        against_draws(pool, part)


@pytest.mark.parametrize("name", ["bert", "embedding"])
def test_published_selections_do_not_order_models_better_than_random_votes(cases: Path, name: str) -> None:
    folder = cases / "arena"
    selected, pool = (
        csv.read_csv(folder / file).select(["model_a", "model_b", "winner", "prompt_sha12"])
        .rename_columns(["model_a", "model_b", "winner", "instruction_id"])
        for file in (f"arena_mad10_{name}_votes.csv", "arena7471_votes.csv")
    )  # fmt: skip
    rows = {row.measure: row for row in against_draws(selected, pool, draws=1000, resampling=FEW)}
    assert rows["spearman"].n == 210
    for measure in ("spearman", "pair_agreement", "vote_agreement", "decisive"):
        assert rows[measure].above < 0.975, measure
    assert rows["spearman"].drawn > 0.95
