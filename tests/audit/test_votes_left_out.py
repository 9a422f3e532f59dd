"""Ratings without one vote are those of the votes without it."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from audit_projects import votes
from hypothesis import given, settings
from hypothesis import strategies as st

from magister.arena.bradley_terry import Likelihood
from magister.arena.elo import EloScale
from magister.arena.ratings import Settings, rate_votes
from magister.arena.votes import code_votes
from magister.audit.votes_left_out import VotesLeftOut, votes_left_out

CODED = ["model_a", "model_b", "winner", "scenario", "annotator", "instruction_id", "root_id"]
MODELS = ["a1", "b1", "c1"]


def left_out(table: pa.Table, system: str, refitted: int = 256) -> VotesLeftOut:
    coded = code_votes(table.select(CODED), models=MODELS)
    return votes_left_out(coded, None, 0, system, EloScale(), refitted=refitted)


def rated(table: pa.Table, system: str) -> float:
    found = rate_votes(
        code_votes(table.select(CODED), models=MODELS),
        Settings(resamples=0, systems=(system,)),
        by_scenario=False,
    )
    return float(next(row["rating"] for row in found.table.to_pylist() if row["model"] == "a1"))


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), at=st.integers(0, 29), system=st.sampled_from(["bradley_terry", "elo"]))
def test_a_rating_without_a_vote_is_that_of_the_other_votes(seed: int, at: int, system: str) -> None:
    table = votes(seed, 30)
    found = left_out(table, system)
    assert math.isclose(found.value, rated(table, system), abs_tol=1e-5)
    rest = table.filter(pa.array(np.arange(table.num_rows) != at))
    place = found.votes.tolist().index(at)
    assert found.exact.all()
    if not np.isnan(found.without[place]):
        assert math.isclose(found.without[place], rated(rest, system), abs_tol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_newton_step_is_close_to_the_refit_and_orders_votes_alike(seed: int) -> None:
    table = votes(seed, 200)
    exact, step = left_out(table, "bradley_terry"), left_out(table, "bradley_terry", refitted=0)
    assert exact.exact.all()
    assert not step.exact.any()
    one, two = exact.value - exact.without, step.value - step.without
    assert np.abs(one - two).max() < 0.02 * np.abs(one).max()
    assert np.argmax(np.abs(one)) == np.argmax(np.abs(two))


def test_only_the_outcomes_that_move_it_most_are_rated_again() -> None:
    table = votes(1, 200)
    some = left_out(table, "elo", refitted=4)
    assert 0 < some.exact.sum() < table.num_rows
    exact = left_out(table, "elo")
    np.testing.assert_allclose(some.without[some.exact], exact.without[some.exact], atol=1e-9)
    assert np.abs(exact.value - exact.without).max() == np.abs(some.value - some.without[some.exact]).max()


def test_names_sides_and_the_order_of_rows_change_nothing() -> None:
    table = votes(2, 60)
    order = np.random.default_rng(0).permutation(table.num_rows)
    one, two = left_out(table, "bradley_terry"), left_out(table.take(order), "bradley_terry")
    changes = {
        int(order[at]): value for at, value in zip(two.votes.tolist(), two.without.tolist(), strict=True)
    }
    assert one.value == two.value
    assert dict(zip(one.votes.tolist(), one.without.tolist(), strict=True)) == changes


def test_a_vote_that_holds_the_league_together_has_no_rating_without_it() -> None:
    row = votes(0, 1).to_pylist()[0]
    table = pa.Table.from_pylist(
        [
            row | {"vote_id": "v0", "model_a": "a1", "model_b": "b1", "winner": "a", "instruction_id": "q0"},
            row | {"vote_id": "v1", "model_a": "b1", "model_b": "c1", "winner": "a", "instruction_id": "q1"},
            row | {"vote_id": "v2", "model_a": "b1", "model_b": "c1", "winner": "b", "instruction_id": "q2"},
        ],
        schema=votes(0, 1).schema,
    )
    found = left_out(table, "bradley_terry")
    assert np.isnan(found.without).tolist() == [True, False, False]


def test_a_model_without_votes_has_nothing_to_leave_out() -> None:
    row = votes(0, 1).to_pylist()[0] | {"model_a": "b1", "model_b": "c1"}
    with pytest.raises(ValueError, match="no votes"):
        left_out(pa.Table.from_pylist([row], schema=votes(0, 1).schema), "elo")


def test_ties_of_their_own_are_refused() -> None:
    coded = code_votes(votes(0, 10).select(CODED), models=MODELS)
    with pytest.raises(ValueError, match="half a win"):
        votes_left_out(coded, None, 0, "bradley_terry", EloScale(), Likelihood("davidson"))
