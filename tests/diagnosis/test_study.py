"""A study of one's own from end to end: both ways to attributes, both fits, and the controls."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from matrix_tables import diagnosed

from magister.contracts.diagnosis_tables import DIAGNOSIS_CONTRACTS
from magister.diagnosis.prior import QPrior
from magister.diagnosis.simulated import SimulationOptions, simulate_study
from magister.diagnosis.study import (
    FitOptions,
    aligned,
    exact_as_chain,
    fit_profiles,
    given_prior,
    text_prior,
)
from magister.errors import UserError
from magister.provenance._artifact import conform

TYPES = {f"item-{number:02d}": ("add", "draw", "read")[number % 3] for number in range(30)}


@pytest.fixture(scope="module")
def simulated():
    options = SimulationOptions(models=120, second=0.0, correlation=0.2)
    return simulate_study(diagnosed(TYPES), options)


def q_of(simulated) -> QPrior:
    reference = simulated.truth.q
    return QPrior(simulated.grid.items, simulated.attributes, reference, reference.astype(np.float64))


def held_to_contracts(tables: dict[str, pa.Table]) -> None:
    contracts = {contract.name: contract for contract in DIAGNOSIS_CONTRACTS}
    for name, table in tables.items():
        conform(table, contracts[name])


def test_a_prior_takes_the_order_of_the_items_and_refuses_what_is_left_empty() -> None:
    reference = np.array([[True, False], [False, True], [True, True]])
    prior = QPrior(("a", "b", "c"), ("p", "q"), reference, reference.astype(np.float64))
    assert aligned(prior, ["c", "a"]).reference.tolist() == [[True, True], [True, False]]
    with pytest.raises(UserError, match="1 of 2 items have no row, first 'x'"):
        aligned(prior, ["a", "x"])
    with pytest.raises(UserError, match="none of the 1 items that stay needs q"):
        aligned(prior, ["a"])
    with pytest.raises(UserError, match="2 attributes for 1 items that stay"):
        aligned(prior, ["c"])


def test_a_given_q_matrix_leads_to_the_profiles_that_responses_come_from(simulated) -> None:
    pytest.importorskip("magister.diagnosis.saem")
    believed = given_prior(q_of(simulated), "point")
    found = fit_profiles(simulated.truth.responses, believed, FitOptions(placebos=1, chains=2))
    held_to_contracts(dict(found.tables))
    rows = found.tables["mastery"].to_pylist()
    truth = dict(zip(simulated.grid.models, simulated.truth.alpha, strict=True))
    right = [
        (row["p"] > 0.5) == truth[row["model"]][simulated.attributes.index(row["attribute"])] for row in rows
    ]
    assert np.mean(right) > 0.97
    assert found.support == "undetermined"
    assert any("1 placebos" in reason for reason in found.reasons)


def test_the_exact_fit_has_the_same_tables_and_prints_marginal_criteria(simulated) -> None:
    pytest.importorskip("magister.diagnosis.saem")
    from magister.diagnosis.exact_em import fit_exact_em

    q = q_of(simulated)
    found = fit_profiles(
        simulated.truth.responses,
        given_prior(q, "fixed"),
        FitOptions(method="exact_em", placebos=0, chains=1),
    )
    held_to_contracts(dict(found.tables))
    assert found.notes[0].startswith("exact EM: log-likelihood -")
    assert "RMSEA2" in found.notes[0]
    assert found.tables["mastery"]["mcse"].null_count == found.tables["mastery"].num_rows
    exact = fit_exact_em(simulated.truth.responses, q)
    chain = exact_as_chain(exact, simulated.truth.responses).chains[0]
    # With one attribute an item, every answered item of an attribute tells of it.
    assert np.allclose(chain.unlocked, simulated.truth.q.sum(axis=0))
    n_mastered, n_other = chain.counts[1], chain.counts[3]
    assert np.allclose(n_mastered + n_other, len(simulated.grid.models))
    assert np.allclose(chain.counts[0] / n_mastered, 1 - exact.slip, atol=0.01)
    assert np.allclose(chain.counts[2] / n_other, exact.guess, atol=0.01)


def test_texts_that_go_together_become_attributes(simulated) -> None:
    pytest.importorskip("magister.diagnosis.saem")
    items = diagnosed(TYPES)
    texts = [f"{kind} {kind} words of {kind}" for kind in items["item_type"].to_pylist()]
    items = items.set_column(1, items.schema.field("text"), pa.array(texts))
    rng = np.random.default_rng(0)
    axes = {"add": 0, "draw": 1, "read": 2}
    vectors = np.array([np.eye(8)[axes[kind]] for kind in items["item_type"].to_pylist()])
    vectors = vectors + 0.05 * rng.standard_normal(vectors.shape)
    believed = text_prior(items, vectors)
    assert len(believed.prior.attributes) == 3
    held_to_contracts({"q_attributes": believed.attributes, **believed.tables})
    shuffled = rng.permutation(items.num_rows)
    again = text_prior(items.take(pa.array(shuffled)), vectors[shuffled])
    assert np.array_equal(again.prior.probability, believed.prior.probability)
    with pytest.raises(UserError, match="10 items are too few to make attributes of"):
        text_prior(items.slice(0, 10), vectors[:10])
