"""Standard errors of DINA's guess and slip.

Information by cross-products of the models' scores (McLachlan and Krishnan 2008, The EM Algorithm and Extensions, 4.3;
for cognitive diagnosis: Philipp, Strobl, de la Torre and Zeileis 2018, Journal of Educational and Behavioral Statistics
43), of all parameters together: an item's error holds what is unknown of the other items and of the classes. Classes
that no item tells apart are one. A parameter at its bound (guess or slip within 1e-6 of 0 or 1; a class of less than
one expected model) has no such error and is taken as known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from magister.diagnosis._blas import one_thread

Array = NDArray[np.float64]
AT_BOUND = 1e-6
_LEAST_EIGENVALUE = 1e-10
"""Of the information, scaled to a diagonal of 1: below, it says nothing of some direction."""


@dataclass(frozen=True)
class Errors:
    """Standard errors, J each, and what they are from.

    Attributes:
        guess, slip: NaN where unknown.
        distinct_classes: how many classes the items tell apart.
        full_information: whether all parameters are in them, or only the item's own two.
    """

    guess: Array
    slip: Array
    distinct_classes: int
    full_information: bool


def distinct(needs: NDArray[np.int64], size: int) -> NDArray[np.intp]:
    """Which group of classes, alike to all items, each class is in.

    Args:
        needs: J, needed attributes as bits.
        size: number of classes.

    Returns:
        Numbers from 0 on, one a class.
    """
    number = np.arange(size)
    # Two classes unlock the same items exactly if these need the same attributes taken together.
    union = np.zeros(size, dtype=np.int64)
    for mask in np.unique(needs):
        union |= np.where((number & mask) == mask, mask, 0)
    return np.unique(union, return_inverse=True)[1].reshape(-1)


def standard_errors(
    patterns: NDArray[np.int8],
    weights: Array,
    needs: NDArray[np.int64],
    posterior: Array,
    guess: Array,
    slip: Array,
    structure: Array,
    smoothing: float,
) -> Errors:
    """Standard errors at the maximum.

    Args:
        patterns: U x J.
        weights: U.
        needs: J, needed attributes as bits.
        posterior: U x 2^K.
        guess, slip: J.
        structure: 2^K class probabilities, or K attribute probabilities of an independent prior.
        smoothing: pseudo-counts of right and of wrong responses.
    """
    size = posterior.shape[1]
    group = distinct(needs, size)
    unlocks = (np.arange(size)[:, None] & needs) == needs
    with one_thread():
        mastered = np.clip(posterior @ unlocks.astype(np.float64), 0.0, 1.0)
        item_scores = _item_scores(patterns, mastered, guess, slip)
        inside = np.abs(np.concatenate([guess, slip]) - 0.5) < 0.5 - AT_BOUND
        item = np.concatenate([guess, slip])
        # Curvature of the parameters' own prior, Beta(1 + smoothing, 1 + smoothing).
        curvature = smoothing * (item**-2.0 + (1 - item) ** -2.0) if smoothing else np.zeros(item.size)
        nuisance = _structure_scores(posterior, structure, group, weights)
        scores = np.concatenate([item_scores[:, inside], nuisance], axis=1)
        variance = None
        if scores.shape[1] <= scores.shape[0]:
            information = scores.T @ (scores * weights[:, None])
            information[np.diag_indices(inside.sum())] += curvature[inside]
            variance = _variance(information)
    errors = np.full(item.size, np.nan)
    if variance is not None:
        errors[inside] = np.sqrt(variance[: inside.sum()])
    else:
        errors = _item_errors(item_scores, weights, curvature, inside)
    return Errors(errors[: guess.size], errors[guess.size :], int(group.max()) + 1, variance is not None)


def _item_scores(patterns: NDArray[np.int8], mastered: Array, guess: Array, slip: Array) -> Array:
    """Derivatives of each pattern's log-likelihood by guess and slip, U x 2J."""
    right, wrong = patterns == 1, patterns == 0
    by_guess = (1 - mastered) * (right / guess - wrong / (1 - guess))
    by_slip = mastered * (wrong / slip - right / (1 - slip))
    return np.concatenate([by_guess, by_slip], axis=1)


def _structure_scores(posterior: Array, structure: Array, group: NDArray[np.intp], weights: Array) -> Array:
    """Derivatives by the free parameters of the class prior that are not at their bound."""
    size = posterior.shape[1]
    if structure.size != size:
        attributes = structure.size
        mastery = ((np.arange(size)[:, None] >> np.arange(attributes)) & 1).astype(np.float64)
        inside = np.abs(structure - 0.5) < 0.5 - AT_BOUND
        scores: Array = (posterior @ mastery - structure)[:, inside] / (structure * (1 - structure))[inside]
        return scores
    member = np.zeros((size, int(group.max()) + 1))
    member[np.arange(size), group] = 1.0
    share, probability = posterior @ member, structure @ member
    reference = int(np.argmax(probability))
    free = np.flatnonzero((probability * weights.sum() >= 1.0) & (np.arange(probability.size) != reference))
    return share[:, free] / probability[free] - (share[:, reference] / probability[reference])[:, None]


def _variance(information: Array) -> Array | None:
    """Diagonal of the inverse; None where there is none."""
    scale = np.sqrt(np.diag(information))
    if not (scale > 0).all():
        return None
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    if (values < _LEAST_EIGENVALUE).any():
        return None
    return np.asarray(np.sum(vectors**2 / values, axis=1) / scale**2)


def _item_errors(scores: Array, weights: Array, curvature: Array, inside: NDArray[np.bool_]) -> Array:
    """From each item's own two parameters."""
    items = scores.shape[1] // 2
    errors = np.full(2 * items, np.nan)
    for item in range(items):
        own = [at for at in (item, items + item) if inside[at]]
        if own:
            part = scores[:, own]
            variance = _variance(part.T @ (part * weights[:, None]) + np.diag(curvature[own]))
            if variance is not None:
                errors[own] = np.sqrt(variance)
    return errors
