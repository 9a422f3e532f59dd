"""The curve of the number of attributes, and the rule that chooses one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from qmatrix_cases import clouds, clustered, partition
from sklearn.metrics import adjusted_rand_score, silhouette_samples

from magister.contracts.diagnosis_tables import K_CURVE, PREDICTIONS
from magister.diagnosis.clusters import Runs, consensus
from magister.diagnosis.k_curve import (
    Measured,
    adjusted_rand,
    choose_k,
    chosen_k,
    held_out_estimate,
    k_curve,
    measure,
    runs_agreement,
    silhouettes,
    stability,
)
from magister.diagnosis.projection import unit_vectors
from magister.errors import UserError
from magister.provenance import conform
from magister.stats import Estimate

labelled = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 4)), min_size=2, max_size=30)


def known(value: float | None) -> Estimate:
    return Estimate(value, None, None, None, 10, 5) if value is not None else Estimate.absent("no_data")


def measured(k: int, stable: float = 0.8, smallest: int = 10, held_out: float | None = None) -> Measured:
    return Measured(k, known(stable), smallest, known(0.1), None if held_out is None else known(held_out))


@given(labelled)
def test_agreement_is_the_adjusted_rand_index_of_the_items_in_both(rows: list[tuple[int, int]]) -> None:
    one, two = np.array(rows).T
    both = (one >= 0) & (two >= 0)
    if both.sum() < 2:
        assert np.isnan(adjusted_rand(one, two))
    else:
        assert adjusted_rand(one, two) == pytest.approx(adjusted_rand_score(one[both], two[both]))


def test_runs_that_agree_are_stable_and_have_no_interval() -> None:
    found = stability(np.array([[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]]))
    assert (found.value, found.ci_low, found.n, found.n_clusters) == (1.0, None, 3, 3)


def test_stability_is_the_mean_over_pairs_within_its_interval() -> None:
    vectors, _ = clouds(6, 10, 0.5)
    labels = clustered(vectors, [6]).of(6)
    found = stability(labels)
    pairs = [adjusted_rand(labels[a], labels[b]) for a in range(12) for b in range(a)]
    assert found.value == pytest.approx(np.mean(pairs))
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert found.ci_low < found.value < found.ci_high <= 1.0  # type: ignore[operator]
    assert found.n == len(pairs) == 66


def test_one_run_has_no_stability_and_two_have_no_interval() -> None:
    assert stability(np.array([[0, 1]])).value is None
    two = stability(np.array([[0, 0, 1], [0, 1, 1]]))
    assert two.value is not None
    assert two.ci_low is None
    assert two.reason == "fewer than three runs"


@given(seed=st.integers(0, 2**31), n=st.integers(6, 40))
def test_silhouettes_are_those_over_all_distances(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    unit = unit_vectors(rng.standard_normal((n, 4)), [str(at) for at in range(n)])
    parts = partition(0, 1, *rng.integers(0, 3, n - 2).tolist())
    expected = silhouette_samples(unit, parts.labels, metric="cosine")
    assert silhouettes(unit, parts) == pytest.approx(expected, abs=1e-5)


def test_numbers_with_small_attributes_are_out_and_then_unstable_ones() -> None:
    tried = [measured(5, 0.9, held_out=-0.6), measured(9, 0.5, held_out=-0.1), measured(12, 0.9, 3, -0.05)]
    choice = choose_k(tried)
    assert choice.k == 5
    assert "1 with an attribute of fewer than 8 items" in choice.reason
    assert "1 below a stability of 0.6" in choice.reason


def test_the_best_held_out_prediction_decides_and_stability_without_one() -> None:
    assert choose_k([measured(5, 0.9, held_out=-0.6), measured(9, 0.7, held_out=-0.5)]).k == 9
    choice = choose_k([measured(5, 0.9), measured(9, 0.7)])
    assert choice.k == 5
    assert "no held-out log-likelihood is known" in choice.reason


@given(st.permutations([4, 7, 9, 20]))
def test_of_equal_numbers_the_smallest_is_taken_in_any_order(ks: list[int]) -> None:
    assert choose_k([measured(k) for k in ks]).k == 4
    assert choose_k([measured(k, held_out=-0.5) for k in ks]).k == 4


def test_where_nothing_is_stable_the_most_stable_is_taken_and_the_reason_says_so() -> None:
    choice = choose_k([measured(5, 0.3, held_out=-0.1), measured(9, 0.4, held_out=-0.6)])
    assert choice.k == 9
    assert "none reaches a stability of 0.6" in choice.reason


@pytest.mark.parametrize(
    ("tried", "message"),
    [
        ([], "no number of attributes was tried"),
        ([measured(4), measured(4)], "k = 4 was measured twice"),
        ([measured(4, smallest=2), measured(5, smallest=1)], "smallest: k = 4: 2, k = 5: 1"),
        ([measured(4, held_out=-0.5), measured(5)], "no held-out log-likelihood for k = 5"),
    ],
)
def test_numbers_that_cannot_be_compared_are_refused(tried: list[Measured], message: str) -> None:
    with pytest.raises(UserError, match=message):
        choose_k(tried)


def test_the_only_number_is_taken() -> None:
    assert choose_k([measured(4, smallest=1)]) == (4, "the only number that was tried")


def test_the_curve_says_what_was_measured_and_chosen() -> None:
    vectors, _ = clouds(5, 12, 0.2)
    runs = clustered(vectors, [3, 5])
    unit = unit_vectors(vectors, list(runs.items))
    found = [measure(runs, consensus(runs, k), unit) for k in (5, 3)]
    choice = choose_k(found)
    table = k_curve(found, choice)
    assert conform(table, K_CURVE).equals(table)
    assert choice.k == chosen_k(table) == 5
    rows = {(row["k"], row["measure"]): row for row in table.to_pylist()}
    assert rows[5, "smallest"]["value"] == 12
    assert rows[5, "stability"]["reason"] == choice.reason
    assert rows[3, "held_out_loglik"]["status"] == "not_computable"
    assert rows[5, "silhouette"]["ci_low"] < rows[5, "silhouette"]["value"]
    with pytest.raises(UserError, match="expected exactly one"):
        chosen_k(table.filter(np.array(table["k"]) == 3))


def test_one_attribute_has_no_silhouette() -> None:
    vectors, _ = clouds(2, 8, 0.2)
    runs = clustered(vectors, [1])
    found = measure(runs, consensus(runs, 1), unit_vectors(vectors, list(runs.items)))
    assert found.silhouette.value is None
    assert found.stability.value == 1.0


def test_the_held_out_value_comes_from_the_predictions_of_a_fit() -> None:
    row = {
        "predictor": "dina", "measure": "loglik", "status": "ok", "reason": "", "n": 90, "n_models": 9,
        "n_items": 10, "seed": 1, "share": 0.1, "level": 0.95, "value": -0.4, "ci_low": -0.5, "ci_high": -0.3,
    }  # fmt: skip
    other = row | {"predictor": "2pl", "value": -0.2}
    table = conform(_predictions([other, row]), PREDICTIONS)
    found = held_out_estimate(table)
    assert (found.value, found.ci_low, found.n) == (-0.4, -0.5, 90)
    with pytest.raises(UserError, match="no row of predictor 'dina'"):
        held_out_estimate(_predictions([other]))


def _predictions(rows: list[dict[str, object]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=PREDICTIONS.schema)


def test_runs_agree_with_themselves_wholly_and_with_runs_of_other_items_not_at_all() -> None:
    labels = np.array([[[0, 0, 1, 1], [0, 1, 1, 0]]], np.int16)
    runs = Runs(("a", "b", "c", "d"), (None,) * 4, (2,), labels)
    assert runs_agreement(runs, replace(runs, labels=1 - labels)) == 1.0
    # The same pairs of clusters in the other order of runs agree as little as chance allows.
    assert runs_agreement(runs, replace(runs, labels=labels[:, ::-1])) == pytest.approx(-0.5)
    assert runs_agreement(runs, replace(runs, items=("a", "b", "c", "e"))) == 0.0
