"""Fits by SAEM as tables, and back."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from saem_cases import believed, same_fit, simulated

from magister.diagnosis import fit_saem
from magister.diagnosis.fits import SaemFit
from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.prior import QPrior, point_prior
from magister.diagnosis.saem import SaemOptions
from magister.diagnosis.saem_tables import CONTRACTS, SaemTables, fit_record, fit_tables, read_fit
from magister.errors import UserError
from magister.provenance import conform


def fit_of(names: list[str], chains: int = 2) -> SaemFit:
    """A fit of models and attributes of given names, which differ from their order."""
    truth = simulated(70, 20, 3, seed=1, missing=0.1)
    models = tuple(f"{names[number % 3]}{number}" for number in range(70))
    matrix = ResponseMatrix(models, truth.responses.items, truth.responses.correct)
    prior = believed(truth, truth.q)
    prior = point_prior(QPrior(prior.items, tuple(names[:3]), prior.reference, prior.probability))
    return fit_saem(matrix, prior, seed=1, chains=chains, options=SaemOptions(max_sweeps=250))


@pytest.fixture(scope="module")
def fit() -> SaemFit:
    return fit_of(["algebra", "border", "counting"])


def test_tables_keep_their_contracts(fit: SaemFit) -> None:
    tables = fit_tables(fit)
    for name, table in tables._asdict().items():
        kept = conform(table, CONTRACTS[name])
        for column, (low, high) in CONTRACTS[name].ranges.items():
            values = kept[column].to_numpy(zero_copy_only=False)
            assert ((values >= low) & (values <= high)).all(), (name, column)
    assert tables.mastery.num_rows == 2 * 70 * 3
    assert tables.draws.num_rows == 2 * 25


def test_a_fit_comes_back_from_its_tables_to_the_bit(fit: SaemFit) -> None:
    tables, record = fit_tables(fit), json.loads(json.dumps(fit_record(fit), allow_nan=False))
    there = read_fit(tables, record)
    again = read_fit(fit_tables(there), record)
    assert same_fit(there, again)
    order = [there.models.index(name) for name in fit.models]
    assert np.array_equal(there.alpha[order], fit.alpha)
    assert np.array_equal(there.alpha_mcse[order], fit.alpha_mcse)
    assert np.array_equal(there.chains[1].theta[order], fit.chains[1].theta)
    assert np.array_equal(there.chains[1].draws[3].alpha[order], fit.chains[1].draws[3].alpha)
    assert np.array_equal(there.chains[0].trace_q_change, fit.chains[0].trace_q_change, equal_nan=True)
    assert there.diagnostics == fit.diagnostics


def test_names_out_of_order_keep_their_values() -> None:
    fit = fit_of(["z", "a", "k"], chains=1)
    there = read_fit(fit_tables(fit), fit_record(fit))
    assert there.attributes == ("a", "k", "z")
    for k, name in enumerate(fit.attributes):
        at = there.attributes.index(name)
        assert np.array_equal(there.q[:, at], fit.q[:, k])
        assert there.chains[0].loading[at] == fit.chains[0].loading[k]
        assert np.array_equal(there.chains[0].draws[0].q[:, at], fit.chains[0].draws[0].q[:, k])
    assert np.isnan(there.diagnostics.q_jaccard)


def test_the_order_of_rows_does_not_matter(fit: SaemFit) -> None:
    tables, record = fit_tables(fit), fit_record(fit)
    rng = np.random.default_rng(1)
    mixed = SaemTables(*(table.take(pa.array(rng.permutation(table.num_rows))) for table in tables))
    assert same_fit(read_fit(tables, record), read_fit(mixed, record))


def test_tables_with_rows_missing_are_refused(fit: SaemFit) -> None:
    tables, record = fit_tables(fit), fit_record(fit)
    for name in ("mastery", "q", "abilities"):
        cut = tables._replace(**{name: getattr(tables, name).slice(1)})
        with pytest.raises(UserError, match=f"'saem_{name}': expected"):
            read_fit(cut, record)
