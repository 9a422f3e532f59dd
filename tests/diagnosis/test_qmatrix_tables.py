"""Tables of the Q-matrix say what was found and give it back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from qmatrix_cases import clouds, clustered, hand_runs, ids, items_table, partition

from magister.contracts.diagnosis_tables import CLUSTER_RUNS, Q_ATTRIBUTES, Q_CLUSTERS, Q_PRIOR
from magister.diagnosis.clusters import consensus
from magister.diagnosis.coassociation import graded_prior, membership
from magister.diagnosis.labels import term_labels
from magister.diagnosis.prior import QPrior
from magister.diagnosis.projection import unit_vectors
from magister.diagnosis.qmatrix_tables import (
    attributes_table,
    clusters_table,
    frozen_runs,
    given_attributes,
    made_from,
    prior_table,
    read_partition,
    read_prior,
    read_runs,
    runs_table,
)
from magister.diagnosis.review import Decision
from magister.errors import UserError
from magister.provenance import conform

VECTORS, _ = clouds(4, 8, 0.3)
KINDS = ["x", "y", None, "x"] * 8
RUNS = clustered(VECTORS, [3, 4], KINDS)
MEMBER = membership(RUNS, 4, consensus(RUNS, 4))
UNIT = unit_vectors(VECTORS, ids(32))


def mixed(table: pa.Table) -> pa.Table:
    return table.take(np.random.default_rng(0).permutation(table.num_rows))


def test_runs_come_back_from_their_table_in_any_order_of_rows() -> None:
    table = runs_table(RUNS, "m")
    assert conform(table, CLUSTER_RUNS).equals(table)
    back = read_runs(mixed(table))
    assert (back.items, back.types, back.ks) == (RUNS.items, RUNS.types, RUNS.ks)
    assert (back.labels == RUNS.labels).all()


def test_runs_of_other_items_at_another_number_are_refused() -> None:
    table = runs_table(RUNS, "m")
    with pytest.raises(UserError, match="63 rows for 2 numbers of clusters"):
        read_runs(table.slice(1))
    with pytest.raises(UserError, match="0 rows"):
        read_runs(table.slice(0, 0))


def test_frozen_runs_are_taken_for_the_same_items_and_settings_only() -> None:
    items = items_table({name: (f"text {name}", "x") for name in ids(3)})
    settings = {"k": [3]}
    source = made_from(items, {"name": "e"}, settings)
    assert source == made_from(mixed(items), {"name": "e"}, settings)
    others = [
        made_from(items, {"name": "f"}, settings),
        made_from(items, {"name": "e"}, {"k": [4]}),
        made_from(items.slice(1), {"name": "e"}, settings),
    ]
    table = runs_table(RUNS, source)
    assert frozen_runs(table, source, "f.parquet") is table
    for other in others:
        with pytest.raises(UserError, match=r"f\.parquet: these clusters were made from other"):
            frozen_runs(table, other, "f.parquet")


def test_clusters_come_back_from_their_table() -> None:
    table = clusters_table(MEMBER, RUNS.types, UNIT)
    assert conform(table, Q_CLUSTERS).equals(table)
    back = read_partition(mixed(table))
    assert (back.items, back.attributes) == (MEMBER.partition.items, MEMBER.partition.attributes)
    assert (back.labels == MEMBER.partition.labels).all()
    for attribute, size in zip(back.attributes, back.sizes.tolist(), strict=True):
        ranks = table.filter(pc.equal(table["attribute"], attribute))["rank"].to_pylist()
        assert sorted(ranks) == list(range(1, size + 1))


def test_a_prior_comes_back_from_its_table_in_the_order_that_is_wanted() -> None:
    prior = graded_prior(MEMBER)
    table = prior_table(prior)
    assert conform(table, Q_PRIOR).equals(table)
    back = read_prior(mixed(table))
    assert (back.items, back.attributes) == (prior.items, prior.attributes)
    assert (back.probability == prior.probability).all()
    assert (back.reference == prior.reference).all()
    some = read_prior(table, ["i0005", "i0002"])
    assert some.items == ("i0005", "i0002")
    assert (some.probability == prior.probability[[5, 2]]).all()


def test_a_prior_that_is_none_is_refused() -> None:
    table = prior_table(graded_prior(MEMBER))
    with pytest.raises(UserError, match="expected each pair once"):
        read_prior(table.slice(1))
    with pytest.raises(UserError, match="1 of 2 items have none, first: 'zz'"):
        read_prior(table, ["i0001", "zz"])
    place = table.schema.get_field_index("probability")
    high = table.set_column(place, "probability", pa.array([1.5] + [0.5] * (table.num_rows - 1)))
    with pytest.raises(UserError, match=r"item 'i0000', attribute 'a01': expected a probability, found 1\.5"):
        read_prior(high)
    none = table.set_column(3, "reference", pa.array([False] * table.num_rows))
    with pytest.raises(UserError, match="'i0000' needs no attribute"):
        read_prior(none)


def attributes(decisions: dict[str, Decision]) -> list[dict[str, object]]:
    member = membership(hand_runs([0, 0, 0, 1, 1], [0, 0, 1, 1, 1]), 2, partition(0, 0, 0, 1, 1))
    terms = {"a01": ["sum"], "a02": ["word"]}
    table = attributes_table(member, ["x", None, "y", "y", "y"], term_labels(terms), terms, decisions)
    assert conform(table, Q_ATTRIBUTES).equals(table)
    return table.to_pylist()


def test_attributes_nobody_decided_on_are_provisional() -> None:
    first, second = attributes({})
    assert (first["status"], first["label_source"], first["reviewer"]) == ("provisional", "terms", None)
    # Of equally common types the first by the alphabet; unknown ones do not count.
    assert (first["item_type"], first["purity"]) == ("x", 0.5)
    assert (second["item_type"], second["purity"]) == ("y", 1.0)
    assert first["stability"] == pytest.approx((3 / 4 + 3 / 4 + 1 / 2) / 3)


def test_decisions_stand_with_their_attribute() -> None:
    first, second = attributes(
        {
            "a01": Decision("a01", "rename", "Ann", "adding", note="clear"),
            "a02": Decision("a02", "accept", "Bob"),
            "a05": Decision("a05", "merge", "Ann", target="a01", note="same"),
        }
    )
    assert (first["label"], first["label_source"], first["status"]) == ("adding", "reviewer", "reviewed")
    assert first["note"] == "clear; with a05: same"
    assert (second["label"], second["label_source"], second["reviewer"]) == ("word", "terms", "Bob")


def test_what_others_became_part_of_stays_provisional_until_decided() -> None:
    first, _ = attributes({"a05": Decision("a05", "merge", "Ann", target="a01")})
    assert (first["status"], first["note"]) == ("provisional", "with a05")


def test_attributes_of_a_given_matrix_are_given() -> None:
    q = np.array([[1, 0], [1, 1], [0, 1]], bool)
    prior = QPrior(("i", "j", "k"), ("b", "a"), q, q.astype(float))
    table = given_attributes(prior, ["x", "x", "y"], {"a": "adding"})
    assert conform(table, Q_ATTRIBUTES).equals(table)
    first, second = table.to_pylist()
    assert (first["attribute"], first["label"], first["n_items"]) == ("a", "adding", 2)
    assert (second["attribute"], second["label"], second["purity"]) == ("b", "b", 1.0)
