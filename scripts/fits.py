"""Fits of a diagnosis as steps make them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from magister.diagnosis.fits import SaemFit
from magister.diagnosis.held_out import HeldOut
from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.prior import QPrior
from magister.diagnosis.saem import SaemOptions, fit_saem

CHECKPOINTS = Path(".snakemake/magister.fits")
"""A fit that was killed goes on from its file here: beside the outputs, DVC would remove it."""


def fit(
    responses: ResponseMatrix,
    prior: QPrior,
    saem: dict[str, Any],
    *,
    held_out: HeldOut | None = None,
    checkpoint: Path | None = None,
) -> SaemFit:
    """Fit by the options of `diagnosis.saem`, whose seed and chains are arguments of their own."""
    options = {name: value for name, value in saem.items() if name not in ("seed", "chains")}
    return fit_saem(
        responses,
        prior,
        seed=saem["seed"],
        chains=saem["chains"],
        options=SaemOptions(**options),
        held_out=None if held_out is None else (held_out.rows, held_out.columns),
        checkpoint=checkpoint,
    )
