"""Placebo: the same fit under a prior that belongs to other items.

What a fit makes of a prior whose rows are dealt out anew says what any prior would have done. Its columns keep their
sums, so that attributes stay as common as they were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.contracts.diagnosis_tables import PLACEBO
from magister.diagnosis.fits import SaemFit
from magister.diagnosis.held_out import HeldOut, mean_measures
from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.prior import QPrior

Array = NDArray[np.float64]
FitPrior = Callable[[QPrior, int], SaemFit]
"""Fits the study's responses without the held-out cells, which it predicts: prior, seed -> fit."""
MEASURES = {"loglik": 1.0, "auc": 1.0, "brier": -1.0, "share_kept": 1.0, "fit_loglik": 1.0}
"""What real and placebo are compared by, and whether more is better (1) or less (-1)."""
JOINT = ("loglik", "share_kept")
"""What the joint test looks at: held-out prediction, and how much of the prior the responses leave standing."""
# Keeps the streams of permutations apart from others under the same seed.
_STREAM = 0x504C


@dataclass(frozen=True)
class PlaceboRun:
    """Fits under the real prior and under placebos.

    Attributes:
        table: PLACEBO table, draw 0 under the real prior.
        real: P(right) of the held-out cells under the real prior, n.
        predicted: the same under each placebo, D x n.
    """

    table: pa.Table
    real: Array
    predicted: Array


def permute_rows(prior: QPrior, *, seed: int, draw: int) -> QPrior:
    """The prior with its rows dealt out anew among the items.

    Args:
        prior: J x K.
        seed: whole number, 0 or more.
        draw: which permutation.

    Returns:
        A prior of the same items; the order of items in the given one does not matter.
    """
    names = np.argsort(np.asarray(prior.items))
    stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, draw, _STREAM])))
    source = np.empty(names.size, dtype=np.intp)
    source[names] = names[stream.permutation(names.size)]
    return QPrior(prior.items, prior.attributes, prior.reference[source], prior.probability[source])


def share_kept(prior: QPrior, q: Array) -> float:
    """Share of the prior's reference entries whose posterior is above 0.5."""
    return float((q[prior.reference] > 0.5).mean())


def run_placebo(
    responses: ResponseMatrix, held_out: HeldOut, prior: QPrior, fit: FitPrior, *, draws: int, seed: int
) -> PlaceboRun:
    """Fit under the real prior and under placebos, all in the same way.

    Args:
        responses: N x J, whole.
        held_out: cells that the fits must predict.
        prior: the study's.
        fit: fits a prior with a seed. It may be shorter than the fit that profiles come from, but it is the same for
            all draws.
        draws: placebos.
        seed: of the permutations; draw d is fitted with seed + d.

    Returns:
        Their measures and predictions.
    """
    rows: list[dict[str, Any]] = []
    predicted = np.empty((draws + 1, held_out.rows.size))
    for draw in range(draws + 1):
        believed = permute_rows(prior, seed=seed, draw=draw) if draw else prior
        found = fit(believed, seed + draw)
        predicted[draw] = found.held_out
        measures = mean_measures(responses, held_out, predicted[draw])
        rows.append(
            {"draw": draw, "n": held_out.rows.size, "converged": found.diagnostics.converged}
            | {name: None if np.isnan(value) else value for name, value in measures.items()}
            | {"share_kept": share_kept(believed, found.q), "fit_loglik": found.loglik}
        )
    return PlaceboRun(pa.Table.from_pylist(rows, schema=PLACEBO.schema), predicted[0], predicted[1:])


def placebo_p(table: pa.Table) -> dict[str, float | None]:
    """How often a placebo does as well as the real prior.

    p = (1 + placebos as good) / (1 + placebos): under the null the real prior is one more permutation. `joint` tests
    several measures at once: every fit is given the largest of its standard scores (mean and SD over all fits), and
    the real one is held against those of the placebos; nothing has to be corrected for their number.

    Args:
        table: PLACEBO table.

    Returns:
        p by measure and of `joint`; None where a value is unknown or there is no placebo.

    References:
        Phipson and Smyth (2010), SAGMB 9, article 39; Westfall and Young (1993), Resampling-Based Multiple Testing.
    """
    ordered = table.sort_by("draw")
    values = {
        name: sign * ordered[name].to_numpy(zero_copy_only=False).astype(np.float64)
        for name, sign in MEASURES.items()
    }
    found = {name: _p(column) for name, column in values.items()}
    scores = [_standard(values[name]) for name in JOINT if found[name] is not None]
    return found | {"joint": _p(np.stack(scores).max(axis=0)) if scores else None}


def _p(values: Array) -> float | None:
    if values.size < 2 or np.isnan(values).any():
        return None
    return float((1 + (values[1:] >= values[0]).sum()) / values.size)


def _standard(values: Array) -> Array:
    spread = values.std()
    # Equal for all but rounding: it tells nothing.
    if spread <= 1e-12 * max(float(np.abs(values).max()), 1e-300):
        return np.zeros(values.size)
    return np.asarray((values - values.mean()) / spread)
