"""Terms say what a cluster is about: in words, LaTeX and writing without spaces, and the same in any order."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from qmatrix_cases import ids, partition, study

from magister.diagnosis.labels import item_texts
from magister.diagnosis.qmatrix_tables import attribute_terms
from magister.diagnosis.terms import cluster_terms, label_of_terms, shown_items, words
from magister.errors import UserError


def test_words_keep_commands_and_signs_and_leave_numbers_out() -> None:
    assert words(r"The SUM \frac{1}{2} + \Delta x is 3rd, 12.5 or don't; ﬁnd it-") == [
        "the", "sum", r"\frac", r"\Delta", "x", "is", "or", "don't", "find", "it",
    ]  # fmt: skip
    assert words("求解方程 x2=4。素") == ["求解", "解方", "方程", "x2", "素"]
    assert words("привет, 한국어 naïve") == ["привет", "한국어", "naïve"]


def test_terms_are_those_that_a_cluster_has_and_others_have_not() -> None:
    items, parts = study()
    found = attribute_terms(parts, items, 6)
    assert {"divisor", "common"} <= set(" ".join(found["a01"]).split())
    assert "perimeter" in " ".join(found["a02"])
    assert "letters" in " ".join(found["a03"])


def test_a_weight_is_the_share_of_the_cluster_times_the_rarity_over_all() -> None:
    texts = ["apple apple pear", "apple plum", "plum plum"]
    parts = partition(0, 0, 1)
    # Terms of a01: apple 3, pear 1, plum 1 and pairs; of a02: plum 2 and a pair.
    assert cluster_terms(texts, parts, count=1) == [["apple"], ["plum"]]
    share = {"apple": 3, "plum": 3}
    mean = (5 + 3 + 2 + 1) / 2
    assert 3 / 8 * math.log1p(mean / share["apple"]) > 1 / 8 * math.log1p(mean / share["plum"])


def test_a_term_of_one_item_alone_does_not_speak_for_a_cluster() -> None:
    texts = ["zebra zebra zebra lake", "lake forest", "stone", "stone"]
    assert cluster_terms(texts, partition(0, 0, 1, 1))[0] == ["lake"]
    assert cluster_terms(["lonely word", "stone", "stone"], partition(0, 1, 1))[1] == ["lonely", "word"]


def test_the_order_of_texts_changes_nothing_and_equal_weights_go_by_the_alphabet() -> None:
    texts = ["delta beta", "beta delta", "omega", "omega"]
    parts = partition(0, 0, 1, 1)
    assert cluster_terms(texts, parts)[0] == ["beta", "delta"]
    turned = cluster_terms([texts[1], texts[0], *texts[2:]], parts)
    assert turned == cluster_terms(texts, parts)


def test_terms_that_have_a_word_of_a_better_one_are_passed_over() -> None:
    texts = ["prime number"] * 3 + ["other things"] * 3
    for terms in cluster_terms(texts, partition(0, 0, 0, 1, 1, 1)):
        assert len(" ".join(terms).split()) == len(set(" ".join(terms).split()))


def test_texts_without_words_have_no_terms_and_the_label_is_the_name() -> None:
    assert cluster_terms(["1 + 1", "2 + 2", ""], partition(0, 0, 1)) == [[], []]
    assert label_of_terms([], "a07") == "a07"
    assert label_of_terms(["x", "y", "z", "w"], "a07") == "x, y, z"


def test_as_many_texts_as_items_are_expected() -> None:
    with pytest.raises(UserError, match="2 texts for 3 items"):
        cluster_terms(["a", "b"], partition(0, 0, 1))


def test_central_items_are_shown_and_then_those_at_the_boundary() -> None:
    table = pa.table(
        {"item_id": ids(7), "attribute": ["a01"] * 5 + ["a02"] * 2, "rank": [2, 1, 5, 3, 4, 2, 1]}
    )
    mixed = table.take(np.random.default_rng(0).permutation(7))
    shown = shown_items(mixed, central=3, boundary=5)
    assert shown["a01"] == (["i0001", "i0000", "i0003"], ["i0002", "i0004"])
    assert shown["a02"] == (["i0006", "i0005"], [])
    assert len(item_texts(study()[0])) == study()[0].num_rows
