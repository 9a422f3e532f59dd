"""SAEM with a known Q-matrix beside marginal maximum likelihood under the same prior, on the classic data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from magister.diagnosis import fit_exact_em, fit_saem
from magister.diagnosis.prior import q_matrix
from magister.diagnosis.saem import SaemOptions

LONG = SaemOptions(alpha_prior="bernoulli", min_sweeps=4000, max_sweeps=20_000)


@pytest.mark.parametrize(
    ("data", "q"),
    [
        ("fraction20", "fraction20_Q8"),
        ("fraction15", "fraction15_Q5"),
        ("ecpe", "ecpe_Q3"),
        ("simdina", "simdina_Q3"),
    ],
)
def test_guess_slip_and_mastery_are_those_of_exact_em(cases: Path, data: str, q: str) -> None:
    responses = pd.read_csv(cases / f"diagnosis/{data}_X.csv")
    needs = pd.read_csv(cases / f"diagnosis/{q}.csv")
    needs.index = responses.columns
    exact = fit_exact_em(responses, needs, prior="independent")
    fit = fit_saem(responses, q_matrix(needs), seed=1, options=LONG)
    assert np.abs(fit.guess - exact.guess).mean() <= 0.003
    assert np.abs(fit.slip - exact.slip).mean() <= 0.003
    assert ((fit.alpha > 0.5) == (exact.alpha > 0.5)).mean() >= 0.99
    assert fit.diagnostics.converged, fit.diagnostics.reason
