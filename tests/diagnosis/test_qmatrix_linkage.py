"""Trees in little memory are those of a search over all pairs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform

from magister.diagnosis.k_curve import adjusted_rand
from magister.diagnosis.linkage import apart, cut_tree, matrix_tree, ward_tree


def same(labels: np.ndarray, points: np.ndarray, k: int, method: str) -> bool:
    expected = fcluster(linkage(points, method), k, "maxclust") - 1
    return adjusted_rand(labels, expected) == 1.0


@given(n=st.integers(3, 40), width=st.integers(1, 6), seed=st.integers(0, 2**31), data=st.data())
def test_wards_tree_is_the_one_of_all_pairs(n: int, width: int, seed: int, data: st.DataObject) -> None:
    points = np.random.default_rng(seed).standard_normal((n, width))
    k = data.draw(st.integers(1, n))
    assert same(cut_tree(ward_tree(points), [k])[0], points, k, "ward")


@given(n=st.integers(3, 40), seed=st.integers(0, 2**31), data=st.data())
def test_trees_by_a_matrix_are_the_ones_of_all_pairs(n: int, seed: int, data: st.DataObject) -> None:
    points = np.random.default_rng(seed).standard_normal((n, 4))
    k = data.draw(st.integers(1, n))
    far = squareform(pdist(points))
    assert same(cut_tree(matrix_tree(far.astype(np.float32), "average"), [k])[0], points, k, "average")
    assert same(cut_tree(matrix_tree((far**2).astype(np.float32), "ward"), [k])[0], points, k, "ward")


def test_cuts_of_one_tree_are_nested_and_as_many_as_asked_for() -> None:
    points = np.random.default_rng(3).standard_normal((50, 3))
    cuts = cut_tree(ward_tree(points), [1, 4, 9, 50])
    assert [len(set(row.tolist())) for row in cuts] == [1, 4, 9, 50]
    for coarse, fine in pairwise(cuts):
        assert len(set(zip(coarse.tolist(), fine.tolist(), strict=True))) == len(set(fine.tolist()))


def test_points_that_are_the_same_are_joined_first() -> None:
    points = np.array([[0.0], [5.0], [0.0], [9.0], [5.0]])
    assert cut_tree(ward_tree(points), [3])[0].tolist() == [0, 1, 0, 2, 1]


def test_one_point_is_one_cluster() -> None:
    assert cut_tree(ward_tree(np.zeros((1, 2))), [1]).tolist() == [[0]]


def test_distances_count_only_runs_that_drew_both() -> None:
    labels = np.array([[0, 0, -1, 1], [0, 1, 1, 1], [-1, -1, 2, -1]], np.int16)
    far = apart(labels)
    assert far[0, 1] == pytest.approx(1 / 3)
    assert far[1, 2] == 1.0  # together once? no: drawn together once, in other clusters
    assert far[0, 2] == 1.0  # never drawn together
    assert (far == far.T).all()
    assert not far.diagonal().any()
