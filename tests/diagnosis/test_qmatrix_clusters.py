"""Clusters over many runs: found where they are, the same however items come, and more stable than one run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qmatrix_cases import clouds, clustered, ids

from magister.diagnosis.clusters import Clustering, cluster_runs, consensus, name_clusters
from magister.diagnosis.k_curve import adjusted_rand
from magister.errors import UserError


def purity(labels: np.ndarray, kinds: np.ndarray) -> float:
    return sum(np.bincount(kinds[labels == label]).max() for label in np.unique(labels)) / len(labels)


@pytest.mark.parametrize("method", ["ward", "average"])
def test_clouds_that_are_well_apart_are_found_exactly(method: str) -> None:
    vectors, group = clouds(5, 12, 0.1)
    runs = clustered(vectors, [5])
    found = consensus(runs, 5, method)  # type: ignore[arg-type]
    assert adjusted_rand(found.labels, group) == 1.0
    assert found.attributes == ("a01", "a02", "a03", "a04", "a05")


def test_clouds_are_found_through_umap_too() -> None:
    vectors, group = clouds(5, 24, 0.1)
    runs = clustered(vectors, [5], neighbours=10, dimensions=8, runs=4)
    assert adjusted_rand(consensus(runs, 5).labels, group) == 1.0


def test_processes_change_nothing() -> None:
    vectors, _ = clouds(4, 12, 0.3)
    settings = Clustering(neighbours=8, dimensions=4, runs=3)
    made = [
        cluster_runs(ids(48), [None] * 48, vectors, [3, 6], settings, workers=workers).labels.tobytes()
        for workers in (1, 2)
    ]
    assert made[0] == made[1]


@given(seed=st.integers(0, 2**31))
@settings(max_examples=20, deadline=None)
def test_the_order_of_items_changes_nothing(seed: int) -> None:
    vectors, _ = clouds(4, 6, 0.5)
    kinds = [("x", "y", None)[at % 3] for at in range(24)]
    order = np.random.default_rng(seed).permutation(24)
    how = Clustering(neighbours=24, runs=6)
    plain = cluster_runs(ids(24), kinds, vectors, [3, 7], how)
    mixed = cluster_runs(
        [ids(24)[at] for at in order], [kinds[at] for at in order], vectors[order], [7, 3], how
    )
    assert (plain.items, plain.types, plain.ks) == (mixed.items, mixed.types, mixed.ks)
    assert (plain.labels == mixed.labels).all()


def test_the_order_of_items_changes_nothing_through_umap() -> None:
    vectors, _ = clouds(4, 12, 0.4)
    order = np.random.default_rng(1).permutation(48)
    how = Clustering(neighbours=8, dimensions=4, runs=2)
    plain = cluster_runs(ids(48), [None] * 48, vectors, [4], how)
    mixed = cluster_runs([ids(48)[at] for at in order], [None] * 48, vectors[order], [4], how)
    assert (plain.labels == mixed.labels).all()


def test_purity_of_types_rises_with_the_weight() -> None:
    # Types that have nothing to do with the clouds.
    vectors, _ = clouds(4, 30, 0.25)
    kinds = np.random.default_rng(5).integers(0, 2, 120)
    found = [
        purity(
            consensus(clustered(vectors, [8], [f"t{kind}" for kind in kinds], type_weight=weight), 8).labels,
            kinds,
        )
        for weight in (0.0, 0.25, 0.5, 1.0, 2.0)
    ]
    assert found == sorted(found)
    assert found[0] < 0.75
    assert found[-1] == 1.0


def test_a_consensus_is_more_stable_than_one_run() -> None:
    vectors, _ = clouds(8, 15, 0.35)
    runs = [clustered(vectors, [8], runs=20, seed=seed) for seed in range(4)]
    single = [adjusted_rand(a.of(8)[0], b.of(8)[0]) for a in runs for b in runs if a is not b]
    joint = [consensus(made, 8).labels for made in runs]
    agreed = [adjusted_rand(a, b) for a in joint for b in joint if a is not b]
    assert np.mean(agreed) > np.mean(single) + 0.05


def test_every_run_leaves_out_a_tenth_and_no_item_is_left_out_twice_in_ten_runs() -> None:
    vectors, _ = clouds(4, 10, 0.3)
    left_out = clustered(vectors, [4], runs=20).of(4) == -1
    assert (left_out.sum(axis=1) == 4).all()
    assert (left_out[:10].sum(axis=0) == 1).all()
    assert not (left_out[:10] == left_out[10:]).all()


def test_attributes_are_named_by_size_and_then_by_their_smallest_item() -> None:
    found = name_clusters(tuple(ids(7)), np.array([5, 2, 2, 9, 9, 5, 9]))
    assert found.attributes == ("a01", "a02", "a03")
    assert found.labels.tolist() == [1, 2, 2, 0, 0, 1, 0]
    assert name_clusters(tuple(ids(150)), np.arange(150)).attributes[0] == "a001"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ks": [12]}, "k = 12 clusters of 12 items, of which a run draws 10; expected at most 9"),
        ({"ks": [0]}, "expected one or more, each from 1"),
        ({"ks": []}, "expected one or more"),
        ({"items": ["i0000"] * 12}, "'i0000' stands twice"),
        ({"types": [None]}, "1 types for 12 items"),
        ({"vectors": np.ones((12, 3)), "ks": [2]}, "only 1 different vectors"),
        ({"vectors": np.ones((5, 3))}, "for 12 items"),
    ],
)
def test_what_cannot_be_clustered_is_refused(change: dict[str, object], message: str) -> None:
    vectors, _ = clouds(3, 4, 0.1)
    given = {"items": ids(12), "types": [None] * 12, "vectors": vectors, "ks": [3]} | change
    with pytest.raises(UserError, match=message):
        cluster_runs(*given.values(), Clustering())  # type: ignore[arg-type]


def test_types_tell_copies_apart() -> None:
    kinds = ["x", "y"] * 6
    runs = cluster_runs(ids(12), kinds, np.ones((12, 3)), [2], Clustering(type_weight=0.5))
    assert consensus(runs, 2).labels.tolist() == [0, 1] * 6


@pytest.mark.parametrize(
    "change", [{"runs": 1}, {"share": 0.2}, {"type_weight": -1.0}, {"neighbours": float("nan")}]
)
def test_settings_that_make_no_sense_are_refused(change: dict[str, float]) -> None:
    with pytest.raises(UserError, match=next(iter(change))):
        Clustering(**change)  # type: ignore[arg-type]


def test_a_number_that_was_not_tried_is_refused() -> None:
    vectors, _ = clouds(3, 4, 0.1)
    with pytest.raises(UserError, match="k = 5; there are those for 2, 3"):
        consensus(clustered(vectors, [2, 3]), 5)
