"""What a league's votes can say: who is connected, who is bounded, in which order models stand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from league_votes import frame, round_robin

from magister.arena.league import open_ends, order_league
from magister.arena.tally import BLOCK, count_votes, resampling_units
from magister.arena.votes import code_votes


def beats(*pairs: tuple[int, int], models: int, ties: tuple[tuple[int, int], ...] = ()) -> tuple:
    wins, tied = np.zeros((models, models), dtype=np.int64), np.zeros((models, models), dtype=np.int64)
    for i, j in pairs:
        wins[i, j] += 1
    for i, j in ties:
        tied[i, j] += 1
        tied[j, i] += 1
    return open_ends(wins, tied)


@pytest.mark.parametrize(
    ("pairs", "ties", "models", "low", "high"),
    [
        (((0, 1), (1, 0)), (), 2, [], []),
        (((0, 1),), (), 2, [1], [0]),
        ((), ((0, 1),), 2, [], []),
        # A circle holds itself.
        (((0, 1), (1, 2), (2, 0)), (), 3, [], []),
        # Two that are even, one that lost to both, one that beat both.
        (((0, 1), (1, 0), (0, 2), (1, 2)), (), 3, [2], []),
        (((0, 1), (1, 0), (2, 0), (2, 1)), (), 3, [], [2]),
        # A chain: the one between two open ends has none.
        (((0, 1), (1, 2)), (), 3, [1, 2], [0, 1]),
        # Neither of the last two met the core both ways, nor one another.
        (((0, 1), (1, 0), (0, 2), (3, 2)), (), 4, [2, 3], [3]),
        # A tie holds a chain together from the bottom only.
        (((0, 1), (1, 2)), ((0, 2),), 3, [], []),
    ],
)
def test_ends_are_open_where_no_maximum_exists(
    pairs: tuple, ties: tuple, models: int, low: list[int], high: list[int]
) -> None:
    found = beats(*pairs, models=models, ties=ties)
    assert [np.flatnonzero(side).tolist() for side in found] == [low, high]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_order_of_models_does_not_depend_on_their_names(data: st.DataObject) -> None:
    models = data.draw(st.integers(2, 7))
    names = [f"m{k}" for k in range(models)]
    match = st.tuples(st.sampled_from(names), st.sampled_from(names), st.sampled_from(["a", "b", "tie"]))
    matches = [m for m in data.draw(st.lists(match, min_size=1, max_size=25)) if m[0] != m[1]]
    if not matches:
        return
    renamed = dict(zip(names, data.draw(st.permutations(names)), strict=True))
    other = [(renamed[a], renamed[b], said) for a, b, said in data.draw(st.permutations(matches))]
    tallies = [count_votes(order_league(code_votes(frame(rows)))) for rows in (matches, other)]
    for name in ("low", "high", "outcome", "counts"):
        assert getattr(tallies[0], name).tolist() == getattr(tallies[1], name).tolist()
    for name in ("component", "alike"):
        assert getattr(tallies[0].league, name).tolist() == getattr(tallies[1].league, name).tolist()


def test_models_that_only_names_tell_apart_are_alike() -> None:
    circle = [("x", "y", "a"), ("y", "z", "a"), ("z", "x", "a")]
    assert len(set(order_league(code_votes(frame(circle))).alike.tolist())) == 1
    chain = circle[:2]
    assert len(set(order_league(code_votes(frame(chain))).alike.tolist())) == 3


def test_annotators_and_instructions_tell_models_apart_too() -> None:
    rows = frame([("x", "y", "a"), ("y", "x", "a")], instruction_id=["i", "j"])
    assert len(set(order_league(code_votes(rows)).alike.tolist())) == 2


def test_components_are_numbered_by_size() -> None:
    rows = frame([("p", "q", "a"), ("x", "y", "a"), ("y", "z", "tie")])
    votes = code_votes(rows)
    league = order_league(votes)
    parts = [{votes.models[code] for code in league.models[part]} for part in league.slices]
    assert parts == [{"x", "y", "z"}, {"p", "q"}]
    assert league.component.tolist() == [1, 1, 1, 2, 2]


# resamples


def drawn(rows: object, blocks: int = 4) -> tuple:
    votes = code_votes(rows)  # type: ignore[arg-type]
    league = order_league(votes)
    tally = count_votes(league)
    units = resampling_units(
        tally, votes.cluster[league.votes], votes.scenario[league.votes], votes.scenarios, "instruction"
    )
    return tally, units, np.concatenate([units.totals(block, BLOCK, 0) for block in range(blocks)])


def test_a_resample_has_as_many_votes_as_the_league() -> None:
    tally, units, totals = drawn(round_robin(5, 30))
    assert units.count == tally.counts.sum() == 300
    assert (totals.sum(axis=1) == 300).all()


def test_cells_of_single_votes_are_multinomial() -> None:
    # More votes than are drawn one by one: the other way of drawing is held to the same law.
    for games in (10, 600):
        tally, _, totals = drawn(round_robin(3, games), blocks=12)
        n = tally.counts.sum()
        share = tally.counts / n
        assert totals.sum(axis=1).tolist() == [n] * totals.shape[0]
        error = np.sqrt(n * share * (1 - share) / totals.shape[0])
        assert (np.abs(totals.mean(axis=0) - tally.counts) < 5 * error).all()
        assert np.allclose(totals.var(axis=0), n * share * (1 - share), rtol=0.25)
        assert np.allclose(np.corrcoef(totals[:, 0], totals[:, 1])[0, 1], 0, atol=0.3)


def test_votes_on_an_instruction_are_drawn_together() -> None:
    rows = round_robin(2, 40).assign(instruction_id=np.repeat(np.arange(8), 5))
    _, units, totals = drawn(rows)
    assert units.count == 8
    assert (totals.sum(axis=1) == 40).all()
    by_cluster = rows.groupby("instruction_id").size()
    assert by_cluster.eq(5).all()
    # Any total is a sum of eight contents; the sum of one cell over all units bounds it.
    assert totals.max() <= 8 * int(units.contents.max())


@pytest.mark.parametrize(("few", "kept"), [(12, True), (9, False)])
def test_a_scenario_keeps_its_number_of_instructions_if_it_has_enough(few: int, kept: bool) -> None:
    rows = frame(
        [("x", "y", "a")] * 30 + [("x", "y", "b")] * few,
        scenario=["math"] * 30 + ["code"] * few,
        instruction_id=range(30 + few),
    )
    tally, _, totals = drawn(rows)
    assert sorted(tally.counts.tolist()) == [few, 30]
    assert (totals.sum(axis=1) == 30 + few).all()
    assert bool((np.sort(totals, axis=1) == [few, 30]).all()) == kept


def test_units_per_model_count_instructions_once() -> None:
    rows = frame(
        [("x", "y", "a"), ("x", "y", "b"), ("x", "z", "a"), ("y", "z", "tie")],
        instruction_id=["i", "i", "j", "j"],
    )
    votes = code_votes(rows)
    league = order_league(votes)
    tally = count_votes(league)
    units = resampling_units(
        tally, votes.cluster[league.votes], votes.scenario[league.votes], (), "instruction"
    )
    found = {votes.models[c]: n for c, n in zip(league.models, units.per_model(tally).tolist(), strict=True)}
    assert found == {"x": 2, "y": 2, "z": 1}
