"""What each response says of a mastery, by the fitted items.

Under the DINA model with an uncertain Q-matrix (q_jl the posterior probability that item j needs attribute l) the
chance of a right response, given mastery a of attribute k, is

    P_j(a) = g_j + (1 - s_j - g_j) E_j(a),
    E_j(1) = prod_{l != k} (1 - q_jl (1 - p_l)),   E_j(0) = (1 - q_jk) E_j(1),

with the other attributes at their posterior means p_l. The weight of evidence of the response is the logarithm of
P_j(1) / P_j(0) where it is right, and of (1 - P_j(1)) / (1 - P_j(0)) where it is wrong; without it the posterior odds
are lower by that. Items, Q and the other attributes stay as they were fitted: this is one step, not another fit, and
what a response says by way of the other attributes is not in it.

References:
    Good (1985), Weight of evidence: a brief survey, Bayesian Statistics 2, 249-270.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
EDGE = 1e-6
"""Probabilities are taken to lie so far from 0 and 1: no number of draws says that they are 0 or 1."""


def weights_of_evidence(
    mastery: Floats, needs: Floats, guess: Floats, slip: Floats, right: NDArray[np.bool_], attribute: int
) -> Floats:
    """Weight of evidence of each response for one attribute.

    Args:
        mastery: posterior probabilities of the model's attributes, shape (K,).
        needs: posterior probabilities of Q, shape (J, K).
        guess: g of the J items answered.
        slip: s of them.
        right: whether each response is right, shape (J,).
        attribute: k.

    Returns:
        Natural logarithms, shape (J,); above 0 where the response speaks for mastery.
    """
    others = np.delete(np.arange(mastery.size), attribute)
    has = np.prod(1 - needs[:, others] * (1 - mastery[others]), axis=1)
    lacks = (1 - needs[:, attribute]) * has
    with_it, without = (np.clip(guess + (1 - slip - guess) * share, EDGE, 1 - EDGE) for share in (has, lacks))
    return np.where(right, np.log(with_it / without), np.log((1 - with_it) / (1 - without)))


def without_response(p: float, weights: Floats) -> Floats:
    """The posterior probability without each response, shape (J,)."""
    kept = float(np.clip(p, EDGE, 1 - EDGE))
    odds = np.log(kept / (1 - kept)) - weights
    return np.asarray(1 / (1 + np.exp(-odds)))
