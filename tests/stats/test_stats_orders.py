"""Orders of the same models on two boards."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from magister.stats import model_orders, order_agreement, shared_ranks, swapped_pairs

boards = st.integers(4, 9).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 5), min_size=n, max_size=n), min_size=2, max_size=2)
)


@given(boards)
def test_coefficients_are_those_of_scipy(given_boards: list[list[int]]) -> None:
    first, second = (np.array(board, dtype=float) / 7 for board in given_boards)
    rho, tau = order_agreement(model_orders(first[:, None]), model_orders(second[:, None]))
    if len(set(given_boards[0])) == 1 or len(set(given_boards[1])) == 1:
        assert np.isnan(rho[0])
        assert np.isnan(tau[0])
    else:
        assert rho[0] == pytest.approx(scipy_stats.spearmanr(first, second).statistic)
        assert tau[0] == pytest.approx(scipy_stats.kendalltau(first, second).statistic)


@given(boards)
def test_a_board_orders_the_models_as_itself_exactly(given_boards: list[list[int]]) -> None:
    board = model_orders(np.array(given_boards[0], dtype=float)[:, None])
    rho, tau = order_agreement(board, board)
    assert {rho[0], tau[0]} <= {1.0} or len(set(given_boards[0])) == 1
    assert swapped_pairs(board, board)[0] == 0


def test_boards_are_compared_resample_by_resample() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.random((6, 20)), rng.random((6, 20))
    rho, tau = order_agreement(model_orders(first), model_orders(second))
    for b in (0, 19):
        assert rho[b] == pytest.approx(scipy_stats.spearmanr(first[:, b], second[:, b]).statistic)
        assert tau[b] == pytest.approx(scipy_stats.kendalltau(first[:, b], second[:, b]).statistic)


def test_one_board_stands_against_many() -> None:
    rng = np.random.default_rng(2)
    fixed, drawn = rng.random((5, 1)), rng.random((5, 7))
    rho, _ = order_agreement(model_orders(drawn), model_orders(fixed))
    assert rho.shape == (7,)
    assert rho[3] == pytest.approx(scipy_stats.spearmanr(fixed[:, 0], drawn[:, 3]).statistic)


def test_scores_that_differ_by_rounding_are_tied_as_in_the_ranks() -> None:
    scores = np.array([0.1 + 0.2, 0.3, 0.1, 0.5])
    assert list(shared_ranks(scores)) == [2, 2, 4, 1]
    orders = model_orders(scores[:, None])
    assert orders.sign[0, 0] == 0
    # A lead is a mid-rank, counted from the middle and doubled: 3, 0, 0, -3 from best to worst.
    assert list(orders.lead[:, 0]) == [0, 0, -3, 3]


def test_a_tie_contradicts_no_order() -> None:
    one, other = (model_orders(np.array(s)[:, None]) for s in ([3.0, 2.0, 1.0], [1.0, 1.0, 2.0]))
    # Of three pairs, the first is tied on the second board and the other two are turned round.
    assert swapped_pairs(one, other)[0] == 2


def test_a_model_without_a_score_leaves_the_board_unknown() -> None:
    board = np.array([[1.0, 1.0], [2.0, np.nan], [3.0, 3.0], [4.0, 4.0]])
    rho, tau = order_agreement(model_orders(board), model_orders(board[:, :1]))
    assert list(np.isnan(rho)) == [False, True]
    assert list(np.isnan(tau)) == [False, True]
