"""Numbers of a planned arena, and rounds that go from coarse to fine."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from magister.arena.planning import (
    ALL_PAIRS_UP_TO,
    Design,
    anchor_count,
    choose_anchors,
    coarse_pairs,
    highest_elo,
    next_pairs,
    pair_budget,
    plan_arena,
    rating_covariance,
)
from magister.errors import UserError


def played(order: tuple[int, ...], opponents: int, k: float = 4.0) -> float:
    """Rating of a model that wins games in this order of opponents."""
    own, others = 1000.0, [1000.0] * opponents
    for at in order:
        won = k * (1 - 1 / (1 + 10 ** ((others[at] - own) / 400)))
        own, others[at] = own + won, others[at] - won
    return own


def test_the_plan_of_eight_models_shows_the_bound_of_280_votes() -> None:
    one, every = plan_arena(Design(8))
    assert (one.scope, one.pairs, one.comparisons, one.votes, one.drawn) == ("scenario", 28, 280, 280, 84)
    # 70 wins in 70 games: no 1,132 comes from one scenario's votes.
    assert one.highest_elo == pytest.approx(1113.5, abs=0.05)
    assert math.ceil(one.highest_elo) == 1114
    assert (every.scope, every.votes, every.new_model) == ("overall", 1120, 320)
    assert every.highest_elo > 1132


@pytest.mark.parametrize(("opponents", "games"), [(2, 3), (3, 2), (2, 4)])
def test_no_order_of_games_gains_more_than_one_opponent_after_another(opponents: int, games: int) -> None:
    bound = highest_elo(opponents, games, 32.0)
    orders = set(itertools.permutations(np.repeat(np.arange(opponents), games).tolist()))
    reached = [played(order, opponents, 32.0) for order in orders]
    assert max(reached) == pytest.approx(bound, abs=1e-9)
    assert min(reached) < bound


@given(st.integers(1, 30), st.integers(1, 200), st.floats(0.5, 64))
def test_a_bound_is_not_beyond_what_points_there_are(opponents: int, games: int, k: float) -> None:
    bound = highest_elo(opponents, games, k)
    assert 1000 < bound <= 1000 + k * opponents * games
    assert bound <= highest_elo(opponents, games + 1, k) + 1e-9


def test_half_widths_are_those_of_fishers_information() -> None:
    # Two equal models: the difference has information n / 4 per squared unit, a rating half of its error.
    (plan, _) = plan_arena(Design(2, k=100, ties=0.0, spread=0.0))
    error = 400 / math.log(10) / math.sqrt(100 / 4)
    assert plan.half_width == pytest.approx(1.959964 * error / 2)
    four = plan_arena(Design(2, k=400, ties=0.0, spread=0.0))[0]
    assert four.half_width == pytest.approx(plan.half_width / 2)


def test_expected_half_widths_are_those_of_simulated_ratings() -> None:
    # Three models, all pairs: maximum likelihood by Newton steps on simulated votes.
    truth = np.array([1100.0, 1000.0, 900.0])
    each = 400
    rng = np.random.default_rng(0)
    unit = math.log(10) / 400
    a, b = np.array([0, 0, 1]), np.array([1, 2, 2])
    won = rng.binomial(each, 1 / (1 + np.exp(-(truth[a] - truth[b]) * unit)), size=(2000, 3))
    incidence = np.zeros((3, 3))
    incidence[np.arange(3), a], incidence[np.arange(3), b] = 1.0, -1.0
    found = np.tile(truth * unit, (2000, 1))
    for _ in range(20):
        p = 1 / (1 + np.exp(-found @ incidence.T))
        slope = (won - each * p) @ incidence
        curve = np.einsum("kp,pi,pj->kij", each * p * (1 - p), incidence, incidence) + 1 / 3
        found += np.linalg.solve(curve, slope[..., None])[..., 0]
    spread = (found / unit - (found / unit).mean(axis=1, keepdims=True)).std(axis=0)
    votes = each * (1.0 - np.eye(3))
    assert np.sqrt(np.diag(rating_covariance(truth, votes))) == pytest.approx(spread, rel=0.06)


def test_ties_and_annotators_who_agree_tell_less() -> None:
    sure = plan_arena(Design(6, ties=0.0))[0].half_width
    assert plan_arena(Design(6, ties=0.5))[0].half_width == pytest.approx(sure * math.sqrt(2))
    assert plan_arena(Design(6, ties=0.0, annotators=3, alike=1.0))[0].half_width == pytest.approx(sure)
    alone = plan_arena(Design(6, ties=0.0, annotators=3, alike=0.0))[0]
    assert alone.half_width == pytest.approx(sure / math.sqrt(3))
    assert (alone.votes, alone.hours) == (15 * 10 * 3, 15 * 10 * 3 / 60)


@pytest.mark.parametrize("models", [2, 12, 13, 40, 120])
def test_votes_of_many_models_grow_about_as_n_log_n(models: int) -> None:
    plans = {(plan.schedule, plan.scope): plan for plan in plan_arena(Design(models))}
    whole = plans["all_pairs", "scenario"]
    assert whole.pairs == models * (models - 1) // 2
    if models <= ALL_PAIRS_UP_TO:
        assert len(plans) == 2
        return
    fine = plans["coarse_to_fine", "scenario"]
    assert fine.pairs <= pair_budget(models) == min(whole.pairs, math.ceil(models * math.log2(models)))
    assert fine.comparisons == fine.pairs * 10
    assert whole.half_width < fine.half_width < 200


def test_every_model_meets_every_anchor_first() -> None:
    names = [f"m{k:02}" for k in range(30)]
    anchors = choose_anchors(names, seed=3)
    assert len(anchors) == anchor_count(30) == 3
    assert anchors == choose_anchors(names[::-1], seed=3)
    assert anchors != choose_anchors(names, seed=4)
    pairs = coarse_pairs(names, anchors)
    assert len(pairs) == 3 * 27 + 3
    assert all(set(pair) & set(anchors) for pair in pairs)


def test_known_ratings_put_anchors_from_low_to_high() -> None:
    names = [f"m{k:02}" for k in range(30)]
    prior = [float((7 * k) % 30) for k in range(30)]
    anchors = choose_anchors(names, prior=prior)
    heights = sorted(prior[names.index(anchor)] for anchor in anchors)
    assert heights[0] < 10 <= heights[1] < 20 <= heights[2]
    with pytest.raises(UserError, match="2 ratings for 30 models"):
        choose_anchors(names, prior=[1.0, 2.0])
    with pytest.raises(UserError, match="models repeat"):
        choose_anchors(["a", "a"])


def chain(ratings: list[float], votes: float) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Models that have each met the first."""
    n = len(ratings)
    met = np.zeros((n, n))
    met[0, 1:] = met[1:, 0] = votes
    return [f"m{k}" for k in range(n)], np.array(ratings), met


def test_neighbours_whose_intervals_overlap_come_next_and_far_ones_do_not() -> None:
    names, ratings, met = chain([1000.0, 1300.0, 1310.0, 700.0, 705.0], 60.0)
    found = next_pairs(names, ratings, met)
    assert {step.pair for step in found} == {("m1", "m2"), ("m3", "m4")}
    assert all(step.gain > 0 and step.overlap > 0 for step in found)


def test_the_less_is_known_of_a_pair_the_sooner_it_comes() -> None:
    names, ratings, met = chain([1000.0] * 5, 40.0)
    met[0, 3:] = met[3:, 0] = 10.0
    assert [step.pair for step in next_pairs(names, ratings, met)] == [("m3", "m4"), ("m1", "m2")]
    assert [step.pair for step in next_pairs(names, ratings, met, most=1)] == [("m3", "m4")]


@given(st.permutations(range(7)))
def test_the_order_of_models_changes_no_round(order: list[int]) -> None:
    names, ratings, met = chain([1000.0, 1010.0, 1010.0, 990.0, 990.0, 1040.0, 960.0], 20.0)
    first = [(step.pair, step.gain) for step in next_pairs(names, ratings, met)]
    moved = next_pairs([names[k] for k in order], ratings[order], met[np.ix_(order, order)])
    assert [(step.pair, step.gain) for step in moved] == first
    assert len({name for pair, _ in first for name in pair}) == 2 * len(first)


def test_rounds_by_gain_tell_neighbours_apart_better_than_pairs_at_random() -> None:
    ratings = np.linspace(800, 1200, 24)
    names = [f"m{k:02}" for k in range(24)]
    anchors = choose_anchors(names, prior=ratings.tolist())
    start = np.zeros((24, 24))
    for a, b in coarse_pairs(names, anchors):
        start[names.index(a), names.index(b)] = start[names.index(b), names.index(a)] = 10

    def error(votes: np.ndarray) -> float:
        covariance = rating_covariance(ratings, votes)
        variance = np.diag(covariance)
        return float((variance[:-1] + variance[1:] - 2 * np.diag(covariance, 1)).mean())

    planned, added = start.copy(), 0
    for _ in range(2):
        for step in next_pairs(names, ratings, planned):
            a, b = (names.index(name) for name in step.pair)
            planned[a, b] = planned[b, a] = 10
            added += 1
    rng = np.random.default_rng(0)
    open_pairs = np.argwhere(np.triu(start == 0, 1))
    random = []
    for _ in range(50):
        votes = start.copy()
        for a, b in open_pairs[rng.choice(len(open_pairs), added, replace=False)]:
            votes[a, b] = votes[b, a] = 10
        random.append(error(votes))
    assert error(planned) < min(random)


def test_a_round_that_cannot_be_planned_is_named() -> None:
    names, ratings, met = chain([1000.0] * 4, 10.0)
    apart = met.copy()
    apart[0, 3] = apart[3, 0] = 0.0
    with pytest.raises(UserError, match="do not connect all models"):
        next_pairs(names, ratings, apart)
    with pytest.raises(UserError, match="not all finite"):
        next_pairs(names, np.array([np.inf, 0, 0, 0]), met)
    with pytest.raises(UserError, match=r"expected \(4,\) and \(4, 4\)"):
        next_pairs(names, ratings[:2], met)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"models": 1}, "models is 1; expected 2 or more"),
        ({"k": 0}, "k is 0"),
        ({"scenarios": 0}, "scenarios is 0"),
        ({"annotators": 0}, "annotators is 0"),
        ({"random_share": 2.0}, "random share is 2"),
        ({"ties": 1.0}, "ties is 1; expected 0 or more, below 1"),
        ({"spread": -1.0}, "spread is -1"),
        ({"alike": 1.1}, "alike is 1.1"),
        ({"level": 1.0}, "level is 1"),
        ({"seconds": float("nan")}, "seconds is nan"),
    ],
)
def test_a_design_that_is_none_is_named(change: dict[str, float], said: str) -> None:
    with pytest.raises(UserError) as error:
        Design(**({"models": 8} | change))  # type: ignore[arg-type]
    assert said in str(error.value)
