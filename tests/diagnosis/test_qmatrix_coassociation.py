"""How often items are together, and the prior that follows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from qmatrix_cases import clouds, clustered, hand_runs, ids, partition

from magister.diagnosis.clusters import consensus
from magister.diagnosis.coassociation import graded_prior, membership, prior_of, rank_items
from magister.diagnosis.projection import unit_vectors
from magister.errors import UserError


def test_shares_are_counted_over_runs_that_drew_both_and_not_with_itself() -> None:
    # a01 = items 0, 1, 2; a02 = items 3, 4.
    runs = hand_runs([0, 0, 0, 1, 1], [0, 0, 1, 1, 1], [0, -1, 0, 0, 1])
    found = membership(runs, 2, partition(0, 0, 0, 1, 1))
    # Item 2 with 0 and 1: 2 of 2, 0 of 2, 1 of 1; with 3 and 4: 0 of 2, 2 of 2, 1 of 2.
    assert found.together[2].tolist() == [pytest.approx(3 / 5), pytest.approx(3 / 6)]
    assert found.together[3].tolist() == [pytest.approx(3 / 8), pytest.approx(2 / 3)]
    assert found.own[2] == found.together[2, 0]
    assert found.margin[2] == pytest.approx(3 / 5 - 3 / 6)
    assert found.shares.sum(axis=1) == pytest.approx(1.0)


def test_an_item_alone_is_as_stable_as_it_was_alone() -> None:
    runs = hand_runs([0, 0, 1], [0, 0, 1], [0, 1, 1], [0, 0, -1])
    found = membership(runs, 2, partition(0, 0, 1))
    assert found.own[2] == pytest.approx(2 / 3)
    assert found.together[2, 0] == pytest.approx(1 / 6)


@given(seed=st.integers(0, 2**31), n=st.integers(4, 14), count=st.integers(2, 6))
def test_shares_are_means_over_the_co_association_matrix_where_all_are_drawn(
    seed: int, n: int, count: int
) -> None:
    rng = np.random.default_rng(seed)
    runs = hand_runs(*rng.integers(0, 3, (count, n)).tolist(), k=3)
    parts = partition(*[0, 0, 1, 1], *rng.integers(0, 2, n - 4).tolist())
    found = membership(runs, 3, parts)
    labels = runs.of(3)
    matrix = (labels[:, :, None] == labels[:, None, :]).mean(axis=0)
    for item in range(n):
        for attribute in range(2):
            others = [other for other in range(n) if parts.labels[other] == attribute and other != item]
            assert found.together[item, attribute] == pytest.approx(matrix[item, others].mean())


def test_a_prior_is_high_where_runs_agree_and_spread_where_they_do_not() -> None:
    runs = hand_runs([0, 0, 0, 1, 1], [0, 0, 1, 1, 1])
    prior = graded_prior(membership(runs, 2, partition(0, 0, 0, 1, 1)), ceiling=0.9, r0=0.1)
    # Item 0: with item 1 always, with item 2 half the time, with a02 never.
    assert prior.probability[0].tolist() == [pytest.approx(0.9), pytest.approx(0.1)]
    # Item 2: half of its runs with each.
    assert prior.probability[2].tolist() == [pytest.approx(0.5), pytest.approx(0.5)]
    assert prior.reference.tolist() == [[True, False]] * 3 + [[False, True]] * 2


def test_a_prior_lies_within_its_bounds_and_sums_to_the_same_for_every_item() -> None:
    vectors, _ = clouds(6, 10, 0.5)
    runs = clustered(vectors, [6])
    prior = graded_prior(membership(runs, 6, consensus(runs, 6)))
    assert (prior.probability >= 1 / 6 - 1e-12).all()
    assert (prior.probability <= 0.95 + 1e-12).all()
    assert prior.probability.sum(axis=1) == pytest.approx(0.95 + 5 / 6)
    # Uncertain items are there, and say so.
    assert prior.probability.max(axis=1).min() < 0.8


def test_an_item_that_is_never_with_any_other_is_equally_likely_everywhere() -> None:
    runs = hand_runs([0, 0, 1, 2, 2], [0, 0, 1, 2, 2], k=3)
    prior = graded_prior(membership(runs, 3, partition(0, 0, 0, 1, 1)), ceiling=0.9, r0=0.1)
    assert prior.probability[2].tolist() == [pytest.approx(0.5), pytest.approx(0.5)]


def test_one_attribute_is_needed_by_every_item() -> None:
    runs = hand_runs([0, 0, 0], k=1)
    assert graded_prior(membership(runs, 1, partition(0, 0, 0))).probability.tolist() == [[0.95]] * 3


def test_the_point_prior_believes_the_same_of_every_entry() -> None:
    found = membership(hand_runs([0, 0, 1, 1], [0, 1, 1, 0]), 2, partition(0, 0, 1, 1))
    assert prior_of(found, kind="point").probability[0].tolist() == [0.8, 0.5]
    assert prior_of(found, kind="point", p_star=0.7, r0=0.2).probability[3].tolist() == [0.2, 0.7]
    assert (prior_of(found).probability == graded_prior(found).probability).all()


@pytest.mark.parametrize("bounds", [{"r0": 0.0}, {"r0": 0.95}, {"ceiling": 1.0}, {"ceiling": 0.4}])
def test_bounds_that_are_none_are_refused(bounds: dict[str, float]) -> None:
    found = membership(hand_runs([0, 0, 1, 1]), 2, partition(0, 0, 1, 1))
    with pytest.raises(UserError, match="expected 0 < r0 < ceiling < 1"):
        graded_prior(found, **bounds)


def test_other_items_are_refused() -> None:
    with pytest.raises(UserError, match="3 items and runs of 4"):
        membership(hand_runs([0, 0, 1, 1]), 2, partition(0, 0, 1))


def test_central_items_come_first_and_ties_go_by_the_mean_vector_and_then_by_id() -> None:
    runs = hand_runs([0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [0, 0, 0, 1, 1])
    found = membership(runs, 2, partition(0, 0, 0, 0, 1))
    unit = unit_vectors(np.array([[1, 0.4], [1, 0], [1, -0.4], [1, 0], [0, 1]]), ids(5))
    # Item 3 was once with item 4; of the others item 1 is nearest to the mean.
    ranks = rank_items(found, unit)
    assert ranks[1] == 1
    assert ranks[3] == 4
    assert sorted(ranks[:3].tolist()) == [1, 2, 3]
    assert ranks[4] == 1
