"""Neighbours are exact; types pull by a known distance; UMAP's bytes do not depend on threads."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from qmatrix_cases import clouds, ids
from threadpoolctl import threadpool_limits

from magister.diagnosis.projection import (
    among,
    nearest,
    project,
    rms_scaled,
    type_columns,
    umap_size,
    unit_vectors,
)
from magister.errors import UserError


def test_lengths_of_vectors_do_not_matter_and_huge_ones_do_not_overflow() -> None:
    vectors, _ = clouds(3, 4, 0.3)
    scale = np.array([1e-200, 1.0, 1e200] * 4)[:, None]
    assert (unit_vectors(vectors * scale, ids(12)) == unit_vectors(vectors, ids(12))).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
def test_an_item_without_a_vector_is_named(value: float) -> None:
    vectors, _ = clouds(2, 3, 0.1)
    vectors[4] = value
    with pytest.raises(UserError, match=r"1 of 6 items have no vector.*first: i0004"):
        unit_vectors(vectors, ids(6))


def test_neighbours_are_the_nearest_by_cosine_with_itself_first_and_ties_by_place() -> None:
    unit = unit_vectors(np.array([[1, 0], [1, 0], [0, 1], [1, 1], [1, 0.0]]), ids(5))
    found = nearest(unit, 3)
    assert found.rows.tolist() == [[0, 1, 4], [1, 0, 4], [2, 3, 0], [3, 0, 1], [4, 0, 1]]
    assert found.distances[0].tolist() == [0, 0, 0]


@given(seed=st.integers(0, 2**31), count=st.integers(1, 8), spare=st.integers(0, 4))
def test_neighbours_among_a_sample_are_those_of_the_sample_alone(seed: int, count: int, spare: int) -> None:
    rng = np.random.default_rng(seed)
    # Few values, so that there are ties.
    unit = unit_vectors(rng.integers(1, 4, (30, 3)).astype(float), ids(30))
    sample = np.sort(rng.permutation(30)[:20])
    found = among(nearest(unit, count + spare), sample, unit, count)
    alone = nearest(unit[sample], count)
    assert (found.rows == alone.rows).all()
    assert (found.distances == alone.distances).all()


def test_scaled_points_have_root_mean_square_length_one() -> None:
    points = rms_scaled(np.random.default_rng(0).standard_normal((40, 5)) * 7 + 3)
    assert np.square(points).sum(axis=1).mean() == pytest.approx(1.0)
    assert not rms_scaled(np.ones((4, 2))).any()


def test_items_of_two_types_are_put_the_weight_apart() -> None:
    columns = type_columns(["a", "b", "a", None], 0.5)
    apart = np.sqrt(np.square(columns[:, None] - columns[None]).sum(axis=2))
    assert apart[0, 1] == pytest.approx(0.5)
    assert apart[0, 2] == 0
    # An item of unknown type is nearer to the commoner type, and as far from none as types are from each other.
    assert 0 < apart[3, 0] < apart[3, 1] < 0.5
    assert type_columns([None, None], 0.5).shape == (2, 0)


def test_few_items_get_few_dimensions() -> None:
    assert [umap_size(n, 50, 384) for n in (8, 60, 200, 900)] == [2, 15, 50, 50]
    assert umap_size(900, 50, 10) == 10


def test_umap_gives_the_same_bytes_on_any_number_of_threads() -> None:
    vectors, _ = clouds(4, 20, 0.2)
    unit = unit_vectors(vectors, ids(80))
    near = nearest(unit, 10)
    made = []
    before = numba.get_num_threads()
    for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
        numba.set_num_threads(threads)
        with threadpool_limits(threads):
            made.append(project(unit, near, 5, seed=3).tobytes())
        assert numba.get_num_threads() == threads
    numba.set_num_threads(before)
    assert made[0] == made[1]
    assert project(unit, near, 5, seed=4).tobytes() != made[0]
