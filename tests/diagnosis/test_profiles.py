"""Tables of profiles: what a fit says of models, attributes, items and entries of Q."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profile_cases import able, made_fit, made_prior, made_responses, names

from magister.contracts.diagnosis_tables import (
    ATTRIBUTE_CORRELATIONS,
    ATTRIBUTE_PROFILES,
    ITEM_PROFILES,
    MASTERY,
    Q_ENTRIES,
)
from magister.diagnosis.fits import SaemFit
from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.prior import QPrior
from magister.diagnosis.profiles import (
    CORRECTIONS,
    ItemFit,
    attribute_table,
    corrections,
    correlation_table,
    duplicates,
    entry_table,
    item_errors,
    item_table,
    mastery_table,
    models_a_profile,
    unlocked_items,
)
from magister.errors import UserError
from magister.provenance._artifact import conform

Row = dict[str, Any]
ALPHA = np.array([[1.0, 0.8, 0.5], [0.0, 0.2, 0.79]])
Q = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.4], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])


def by(table: pa.Table, *key: str) -> dict[Any, Row]:
    rows = table.to_pylist()
    return {row[key[0]] if len(key) == 1 else tuple(row[name] for name in key): row for row in rows}


def described(fit: SaemFit) -> list[Row]:
    return [
        {"attribute": name, "label": f"label of {name}", "status": "provisional", "terms": ["sum", "ratio"]}
        for name in reversed(fit.attributes)
    ]


def labels(fit: SaemFit) -> list[str]:
    return [f"label of {name}" for name in fit.attributes]


# mastery


def test_states_follow_from_p_and_the_ends_belong_to_them() -> None:
    fit = made_fit(ALPHA, Q)
    rows = by(conform(mastery_table(fit, labels(fit), "supported"), MASTERY), "model", "attribute")
    states = [[rows[m, a]["state"] for a in names("attribute", 3)] for m in names("model", 2)]
    assert states == [
        ["mastered", "mastered", "undetermined"],
        ["not_mastered", "not_mastered", "undetermined"],
    ]
    row = rows["model 001", "attribute 002"]
    assert row["label"] == "label of attribute 002"
    assert row["sd"] == pytest.approx(0.4)
    assert row["mcse"] == 0.01
    assert row["support"] == "supported"
    assert row["basis"] == "responses"


def test_what_no_item_tells_is_the_prior_s_and_undetermined_however_sure() -> None:
    unlocked = np.array([[3.0, 0.0, 1.0], [2.0, 0.4, 1.0]])
    fit = made_fit(ALPHA, Q, unlocked=unlocked)
    rows = by(mastery_table(fit, labels(fit), "undetermined"), "model", "attribute")
    for model in names("model", 2):
        row = rows[model, "attribute 002"]
        assert (row["basis"], row["state"]) == ("prior", "undetermined")
        assert row["p"] in (0.8, 0.2)


def test_an_unknown_monte_carlo_error_is_null() -> None:
    fit = made_fit(ALPHA, Q, mcse=np.nan)
    table = mastery_table(fit, labels(fit), "supported")
    assert table["mcse"].null_count == 6


def test_a_support_that_is_none_is_refused() -> None:
    fit = made_fit(ALPHA, Q)
    with pytest.raises(ValueError, match="support must be one of"):
        mastery_table(fit, labels(fit), "yes")


def test_chains_count_by_their_kept_sweeps() -> None:
    one, two = made_fit(ALPHA, Q, unlocked=1.0, kept=100), made_fit(ALPHA, Q, unlocked=4.0, kept=200)
    both = made_fit(ALPHA, Q)
    both = SaemFit(**(vars(both) | {"chains": (*one.chains, *two.chains)}))
    assert unlocked_items(both) == pytest.approx(np.full((2, 3), 3.0))


def test_models_of_one_profile_are_counted() -> None:
    assert models_a_profile(made_fit([[0.9, 0.1], [0.8, 0.3], [0.2, 0.2], [0.7, 0.4]], Q[:, :2])) == 2.0


# attributes


def test_prevalence_has_an_interval_over_models_within_0_and_1() -> None:
    rng = np.random.default_rng(0)
    alpha = np.column_stack([rng.random(30), np.ones(30), np.r_[np.zeros(29), 0.9]])
    fit = made_fit(alpha, Q)
    rows = by(conform(attribute_table(fit, described(fit)), ATTRIBUTE_PROFILES), "attribute")
    one, two, three = (rows[name] for name in names("attribute", 3))
    assert one["prevalence"] == pytest.approx(alpha[:, 0].mean())
    assert one["ci_low"] < one["prevalence"] < one["ci_high"]
    assert (two["status"], two["reason"], two["ci_low"]) == ("no_interval", "all models are alike", None)
    assert three["ci_low"] == 0.0
    assert [row["n_items"] for row in (one, two, three)] == [2, 2, 1]
    assert one["terms"] == ["sum", "ratio"]


def test_one_model_gives_no_interval() -> None:
    fit = made_fit(ALPHA[:1], Q)
    rows = attribute_table(fit, described(fit)).to_pylist()
    assert {(row["status"], row["reason"]) for row in rows} == {("no_interval", "one model")}


def test_an_attribute_without_a_label_is_an_error_that_names_it() -> None:
    fit = made_fit(ALPHA, Q)
    with pytest.raises(UserError, match="attribute 002"):
        attribute_table(fit, [row for row in described(fit) if row["attribute"] != "attribute 002"])


def test_attributes_that_the_same_models_master_are_named_after_the_first() -> None:
    rng = np.random.default_rng(1)
    own, other = rng.random(40), rng.random(40)
    fit = made_fit(np.column_stack([own, other, own + 1e-4 * other, own**1.01]), np.ones((4, 4)))
    assert duplicates(fit) == [None, None, "attribute 001", "attribute 001"]


def test_correlations_are_pearson_s_and_unknown_where_nothing_varies() -> None:
    rng = np.random.default_rng(2)
    alpha = np.column_stack([rng.random(20), rng.random(20), np.ones(20)])
    rows = by(
        conform(correlation_table(made_fit(alpha, Q)), ATTRIBUTE_CORRELATIONS), "attribute_a", "attribute_b"
    )
    assert len(rows) == 3
    found = rows["attribute 001", "attribute 002"]
    assert found["correlation"] == pytest.approx(np.corrcoef(alpha[:, 0], alpha[:, 1])[0, 1])
    assert found["n"] == 20
    lost = rows["attribute 002", "attribute 003"]
    assert (lost["status"], lost["correlation"]) == ("not_computable", None)
    few = correlation_table(made_fit(ALPHA, Q)).to_pylist()
    assert {row["reason"] for row in few} == {"2 models: 4 are needed"}


@given(st.integers(0, 300))
@settings(max_examples=20, deadline=None)
def test_the_order_of_models_changes_no_digit_of_attributes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fit = made_fit(rng.random((9, 3)), Q)
    order = rng.permutation(9)
    moved = SaemFit(
        **(vars(fit) | {"models": tuple(fit.models[i] for i in order), "alpha": fit.alpha[order]})
    )
    assert attribute_table(fit, described(fit)) == attribute_table(moved, described(moved))
    assert correlation_table(fit) == correlation_table(moved)


# items


def test_errors_of_guess_and_slip_are_binomial_where_mastery_is_known() -> None:
    rng = np.random.default_rng(0)
    alpha, q = rng.random((400, 2)) < 0.5, np.array([[True, False], [True, True]])
    correct = np.where(rng.random((400, 2)) < 0.1, -1, rng.random((400, 2)) < 0.5)
    has, answered = able(alpha, q), correct >= 0
    shares = [
        np.array([(correct[who[:, j] & answered[:, j], j]).mean() for j in range(2)]) for who in (~has, has)
    ]
    fit = made_fit(alpha, q, guess=shares[0], slip=1 - shares[1])
    for found, who, share in zip(item_errors(fit, made_responses(correct)), (~has, has), shares, strict=True):
        n = (who & answered).sum(axis=0)
        assert found == pytest.approx(np.sqrt(share * (1 - share) / n))


def test_errors_grow_with_doubt_about_mastery() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random((300, 1)) < 0.5
    responses = made_responses(np.where(truth, rng.random((300, 1)) < 0.9, rng.random((300, 1)) < 0.2))
    sure, unsure = (item_errors(made_fit(np.where(truth, p, 1 - p), [[1]]), responses) for p in (0.999, 0.75))
    assert unsure[0][0] > sure[0][0]
    assert unsure[1][0] > sure[1][0]


@given(st.integers(0, 200))
@settings(max_examples=15, deadline=None)
def test_the_order_of_models_changes_no_digit_of_errors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fit, responses = made_fit(rng.random((20, 3)), Q), made_responses(rng.integers(-1, 2, (20, 4)))
    order = rng.permutation(20)
    moved = SaemFit(
        **(vars(fit) | {"models": tuple(fit.models[i] for i in order), "alpha": fit.alpha[order]})
    )
    other = ResponseMatrix(moved.models, responses.items, responses.correct[order])
    one, two = item_errors(fit, responses), item_errors(moved, other)
    assert np.array_equal(one, two, equal_nan=True)


def test_an_item_that_everybody_masters_tells_no_guess() -> None:
    alpha, q = np.ones((20, 1), bool), np.ones((3, 1), bool)
    responses = made_responses(np.ones((20, 3)))
    counts = np.array([[19.0] * 3, [20.0] * 3, [0.0] * 3, [0.0] * 3])
    fit = made_fit(alpha, q, counts=counts, pooled=True)
    rows = conform(item_table(fit, responses), ITEM_PROFILES).to_pylist()
    assert {row["status"] for row in rows} == {"no_interval"}
    assert {row["reason"] for row in rows} == {"guess: nobody lacks what it needs"}
    assert rows[0]["guess_se"] is None
    assert rows[0]["slip_se"] is not None
    assert rows[0]["pooled"]
    assert (rows[0]["n_mastered"], rows[0]["n_other"]) == (20, 0)


def test_items_take_what_else_is_known_of_them() -> None:
    fit = made_fit(ALPHA, Q, guess=[0.1, 0.2, 0.3, 0.4], slip=0.2)
    responses = made_responses([[1, 0, 1, -1], [0, 0, 1, 1]])
    known = ItemFit(
        np.full(4, 0.01), np.full(4, 0.02), np.array([0.1, 0.2, np.nan, 0.0]), np.array([0.9, 0.8, 0.7, 1.0])
    )
    rows = by(conform(item_table(fit, responses, known), ITEM_PROFILES), "item_id")
    assert rows["item 002"]["attributes"] == ["attribute 002"]
    assert rows["item 004"]["attributes"] == ["attribute 001", "attribute 002"]
    assert rows["item 003"]["rmsd"] is None
    assert rows["item 003"]["pvaf"] == 0.7
    assert rows["item 004"]["discrimination"] == pytest.approx(0.4)
    assert [rows[name]["n"] for name in names("item", 4)] == [2, 2, 2, 1]


# entries of Q


def test_entries_say_what_became_of_the_reference() -> None:
    prior = made_prior([[1, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 0]])
    fit = made_fit(ALPHA, Q)
    rows = by(conform(entry_table(fit, prior), Q_ENTRIES), "item_id", "attribute")
    patterns = [
        [rows[item, attribute]["pattern"] for attribute in names("attribute", 3)] for item in names("item", 4)
    ]
    assert patterns == [
        ["kept", "absent", "absent"],
        ["absent", "added", "dropped"],
        ["absent", "dropped", "kept"],
        ["kept", "kept", "absent"],
    ]
    assert corrections(fit, prior) == {
        "prior_confirmed": 2,
        "added_process": 0,
        "reassigned": 1,
        "reduced": 1,
    }
    # 99 kept sweeps: half a draw of 100 is as far as they can tell.
    assert rows["item 001", "attribute 001"]["log_odds"] == pytest.approx(np.log(0.995 / 0.005))
    assert rows["item 002", "attribute 002"]["log_odds"] == pytest.approx(np.log(0.6 / 0.4))
    assert rows["item 001", "attribute 001"]["prior"] == 0.8


@given(st.integers(0, 500))
@settings(max_examples=40, deadline=None)
def test_every_item_has_one_correction(seed: int) -> None:
    rng = np.random.default_rng(seed)
    reference = rng.random((12, 4)) < 0.3
    reference[:, 0] |= ~reference.any(axis=1)
    found = corrections(made_fit(np.ones((2, 4)), rng.random((12, 4))), made_prior(reference))
    assert tuple(found) == CORRECTIONS
    assert sum(found.values()) == 12


def test_a_prior_of_another_study_is_refused() -> None:
    prior = made_prior(Q > 0.5)
    other = QPrior(prior.items[::-1], prior.attributes, prior.reference, prior.probability)
    with pytest.raises(UserError, match="two studies"):
        entry_table(made_fit(ALPHA, Q), other)
    with pytest.raises(UserError, match="two studies"):
        corrections(made_fit(ALPHA, Q), other)


def test_responses_of_another_study_are_refused() -> None:
    with pytest.raises(UserError, match="the responses 3"):
        item_table(made_fit(ALPHA, Q), made_responses(np.ones((3, 4))))
