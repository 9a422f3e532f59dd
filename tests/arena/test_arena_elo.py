"""Elo without an order of the votes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from league_votes import round_robin, sequential_elo
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from magister.arena.elo import EloScale, mean_field, shuffled
from magister.arena.league import order_league
from magister.arena.tally import count_votes
from magister.arena.votes import code_votes


def simulated(models: int, games: NDArray, seed: int) -> tuple[NDArray, NDArray]:
    """Symmetric games and points of a league with these games per pair (upper triangle)."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, 1, models)
    upper = np.triu(games, 1)
    won = rng.binomial(upper, 1 / (1 + np.exp(strength[None, :] - strength[:, None])))
    wins = won + np.triu(upper - won, 1).T
    return (upper + upper.T).astype(float), wins.sum(axis=1).astype(float)


def exact(games: NDArray, points: NDArray) -> NDArray:
    """The path by an implicit solver with tight tolerances."""
    rate = 4 * np.log(10) / 400

    def slope(_: float, b: NDArray) -> NDArray:
        e = np.exp(b)
        return rate * (points - e * (games / (e[:, None] + e)).sum(axis=1))

    found = solve_ivp(slope, (0, 1), np.zeros(points.size), method="Radau", rtol=1e-8, atol=1e-9)
    return 1000 + found.y[:, -1] * 400 / np.log(10)


@pytest.mark.parametrize("scale", [3, 30, 100, 300, 3000])
def test_the_mean_field_solves_its_equation(scale: int) -> None:
    rng = np.random.default_rng(scale)
    # Very unequal numbers of games: some models arrive at once, others hardly move.
    games = rng.poisson(scale * rng.gamma(0.2, 5, (12, 12)))
    games, points = simulated(12, games, scale)
    assert np.abs(mean_field(games[None], points[None])[0] - exact(games, points)).max() < 0.05


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 6), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_the_mean_field_is_the_median_of_many_orders_within_two_points(
    models: int, games: int, seed: int
) -> None:
    league = order_league(code_votes(round_robin(models, games, seed)))
    tally = count_votes(league)
    found = mean_field(*tally.pairs(slice(0, models)).games(tally.counts[None])[:2])[0]
    orders = shuffled(league.low, league.high, league.outcome, models, orderings=4000, seed=1)
    assert np.abs(np.median(orders, axis=0) - found).max() < 2
    assert np.abs(orders.mean(axis=0) - found).max() < 2


def test_a_shuffle_is_elo_a_vote_at_a_time() -> None:
    league = order_league(code_votes(round_robin(4, 12)))
    cells = np.sort((league.low * 4 + league.high) * 3 + league.outcome)
    found = shuffled(league.low, league.high, league.outcome, 4, orderings=3, seed=9)
    for number, ratings in enumerate(found):
        stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence([9, 0x454C, number])))
        order = cells[stream.permutation(cells.size)]
        score = np.array([1, 0, 0.5])[order % 3]
        assert np.allclose(ratings, sequential_elo(order // 12, order // 3 % 4, score, 4), atol=1e-9)


def test_orders_do_not_depend_on_how_many_are_taken_nor_on_the_rows() -> None:
    league = order_league(code_votes(round_robin(3, 10)))
    many = shuffled(league.low, league.high, league.outcome, 3, orderings=20, seed=0)
    few = shuffled(league.low[::-1], league.high[::-1], league.outcome[::-1], 3, orderings=7, seed=0)
    assert (many[:7] == few).all()
    assert (shuffled(league.low, league.high, league.outcome, 3, orderings=20, seed=0) == many).all()


def test_the_mean_stays_where_it_started_and_one_vote_moves_half_of_k() -> None:
    games, points = np.array([[[0.0, 1], [1, 0]]]), np.array([[1.0, 0]])
    found = mean_field(games, points, EloScale(start=1500, scale=400, k=4))[0]
    assert found.mean() == pytest.approx(1500)
    assert found[0] - 1500 == pytest.approx(2, abs=0.02)


def test_a_batch_is_its_leagues_one_by_one() -> None:
    leagues = [simulated(5, np.full((5, 5), size), size) for size in (2, 40, 900)]
    together = mean_field(np.stack([g for g, _ in leagues]), np.stack([p for _, p in leagues]))
    alone = [mean_field(g[None], p[None])[0] for g, p in leagues]
    assert np.abs(together - alone).max() < 0.05
