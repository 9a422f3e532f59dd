"""How well each item fits: RMSD and PVAF, from any fit that says who belongs where.

Models are in groups (classes or profiles) with probabilities; in each group the item's share of right responses is
observed (weighted by those probabilities) and expected (1 - slip in groups that master all it needs, guess elsewhere).

- RMSD_j = sqrt(sum_g w_g (observed_gj - expected_gj)^2), w_g the group's share of the models that answered the item:
  how far the item is from its curve (von Davier 2005, ETS RR-05-16; Kunina-Habenicht, Rupp and Wilhelm 2009, Studies in
  Educational Evaluation 35: 0.05 is medium, 0.10 poor). R's CDM adds right and wrong responses: its `rmsea` is sqrt(2)
  as much.
- PVAF_j: the share of the variance of success between groups, weighted by w_g, that lies between the groups that
  master all the item needs and the others (de la Torre and Chiu 2016, Psychometrika 81: below 0.95, an attribute may be
  missing from the item's row of Q).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from magister.diagnosis._blas import one_thread
from magister.diagnosis.fits import EmFit
from magister.diagnosis.matrix import ResponseMatrix

Array = NDArray[np.float64]
_NO_VARIANCE = 1e-12


@dataclass(frozen=True)
class ItemFit:
    """Fit of J items in G groups.

    Attributes:
        observed: G x J, share of right responses; NaN where nobody in the group answered the item.
        weight: G x J, expected number of models of the group that answered the item.
        rmsd: J.
        pvaf: J, within 0..1; NaN where success does not vary between groups.
    """

    observed: Array
    weight: Array
    rmsd: Array
    pvaf: Array


def item_fit(
    responses: ResponseMatrix, membership: Array, masters: NDArray[np.bool_], guess: Array, slip: Array
) -> ItemFit:
    """Fit of items over groups of models.

    Args:
        responses: N x J.
        membership: N x G, probability that the model belongs to the group; rows sum to 1.
        masters: G x J, whether the group masters all that the item needs.
        guess, slip: J.
    """
    # Rows in an order of their own: sums do not depend on the order of models.
    order = np.array(sorted(range(len(responses.models)), key=lambda at: responses.models[at]), dtype=np.intp)
    membership, correct = membership[order], responses.correct[order]
    with one_thread():
        weight = membership.T @ (correct >= 0).astype(np.float64)
        right = membership.T @ (correct == 1).astype(np.float64)
    seen = weight > _NO_VARIANCE
    observed = np.where(seen, right / np.where(seen, weight, 1.0), np.nan)
    expected = np.where(masters, 1 - slip, guess)
    share = weight / weight.sum(axis=0)
    known = np.where(seen, observed, 0.0)
    rmsd = np.sqrt(np.sum(share * np.where(seen, known - expected, 0.0) ** 2, axis=0))
    return ItemFit(observed, weight, rmsd, _explained(known, masters, share))


def _explained(observed: Array, masters: NDArray[np.bool_], share: Array) -> Array:
    """Variance between the two levels over variance between groups, J.

    The levels are the means of what is observed, so that the share is within 0..1 also where guess and slip are
    smoothed or averaged over draws.
    """
    inside = np.where(masters, share, 0.0)
    weight = np.stack([inside.sum(axis=0), (share - inside).sum(axis=0)])
    level = np.stack([(inside * observed).sum(axis=0), ((share - inside) * observed).sum(axis=0)])
    level = np.divide(level, weight, out=np.zeros_like(level), where=weight > 0)
    mean = np.sum(share * observed, axis=0)
    total = np.sum(share * (observed - mean) ** 2, axis=0)
    between = np.sum(weight * (level - mean) ** 2, axis=0)
    varies = total > _NO_VARIANCE
    return np.where(varies, np.clip(between / np.where(varies, total, 1.0), 0.0, 1.0), np.nan)


def em_item_fit(fit: EmFit, responses: ResponseMatrix) -> ItemFit:
    """Item fit of `fit_exact_em` over its classes.

    Args:
        fit: the fit.
        responses: those that it is of.
    """
    return item_fit(responses, fit.posterior, unlocked(fit.classes, fit.q > 0.5), fit.guess, fit.slip)


def profile_item_fit(
    responses: ResponseMatrix, alpha: NDArray[np.bool_], q: NDArray[np.bool_], guess: Array, slip: Array
) -> ItemFit:
    """Item fit over the profiles that models have, for fits with more attributes than classes can be counted.

    Args:
        responses: N x J.
        alpha: N x K, the models' profiles (one draw, or posterior above 0.5): models of equal profiles are a group.
        q: J x K.
        guess, slip: J.
    """
    profiles, group = np.unique(alpha, axis=0, return_inverse=True)
    membership = np.zeros((len(alpha), len(profiles)))
    membership[np.arange(len(alpha)), group.reshape(-1)] = 1.0
    return item_fit(responses, membership, unlocked(profiles, q), guess, slip)


def unlocked(alpha: NDArray[np.bool_], q: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which profiles master all that an item needs.

    Args:
        alpha: G x K.
        q: J x K.

    Returns:
        G x J.
    """
    # How many needed attributes are lacking: whole numbers, exact in float32.
    return np.asarray((~alpha).astype(np.float32) @ q.T.astype(np.float32) == 0)
