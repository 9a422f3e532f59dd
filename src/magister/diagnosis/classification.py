"""How surely models are classified: by accuracy and by consistency.

Accuracy is the probability that the class a model is put into is its true class; consistency, that two independent sets
of responses to the same items put it into the same class, both under the fitted model. They are computed from posterior
probabilities (test: Cui, Gierl and Chang 2012, Journal of Educational Measurement 49, with Iaconangelo's estimate;
attributes: Johnson and Sinharay 2018, Journal of Educational Measurement 55), as `GDINA::CA` does:

- tau = mean over models of max_c P(c | x); gamma = mean of sum_c P(c | x)^2
- tau_k = mean of P(k | x) where the model counts as a master of k, else of 1 - P(k | x);
  gamma_k = mean of P(k | x)^2 + (1 - P(k | x))^2

They are as good as the model: under a wrong one, posteriors are surer than they should be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from magister.diagnosis.fits import EmFit

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Classification:
    """Accuracy and consistency, each within 0..1.

    Attributes:
        accuracy: tau, of the whole pattern.
        consistency: gamma, of the whole pattern.
        attribute_accuracy: K, tau_k.
        attribute_consistency: K, gamma_k.
    """

    accuracy: float
    consistency: float
    attribute_accuracy: Array
    attribute_consistency: Array


def attribute_accuracy(mastery: Array, classified: NDArray[np.bool_] | None = None) -> Array:
    """tau_k: how probable the classification of models by each attribute is to be right.

    Args:
        mastery: N x K, posterior P(model masters attribute), of any fit.
        classified: N x K, who counts as a master; P > 0.5 where not given, which is the surest way to classify by
            attributes one by one.

    Returns:
        K.
    """
    masters = mastery > 0.5 if classified is None else classified
    return np.asarray(_mean_over_models(np.where(masters, mastery, 1 - mastery)))


def attribute_consistency(mastery: Array) -> Array:
    """gamma_k: how probable two sets of responses are to classify a model alike by each attribute.

    Args:
        mastery: N x K, posterior P(model masters attribute), of any fit.

    Returns:
        K.
    """
    return np.asarray(_mean_over_models(mastery**2 + (1 - mastery) ** 2))


def pattern_accuracy(posterior: Array) -> float:
    """tau of the whole pattern.

    Args:
        posterior: N x C, posterior of the classes.
    """
    return float(_mean_over_models(posterior.max(axis=1)))


def pattern_consistency(posterior: Array) -> float:
    """gamma of the whole pattern.

    Args:
        posterior: N x C, posterior of the classes.
    """
    return float(_mean_over_models(np.sum(posterior**2, axis=1)))


def classification(fit: EmFit) -> Classification:
    """Accuracy and consistency of a fit by marginal maximum likelihood.

    By attributes, a model counts as a master where its likeliest whole pattern is one (as `GDINA::CA` has it). Of
    equally likely patterns (those that no item tells apart, for one) the one that masters the fewest counts, then the
    one that masters earlier attributes.

    Args:
        fit: of `fit_exact_em`.
    """
    likeliest = fit.classes[likeliest_class(fit)]
    return Classification(
        accuracy=pattern_accuracy(fit.posterior),
        consistency=pattern_consistency(fit.posterior),
        attribute_accuracy=attribute_accuracy(fit.alpha, likeliest),
        attribute_consistency=attribute_consistency(fit.alpha),
    )


def likeliest_class(fit: EmFit) -> NDArray[np.intp]:
    """The class of the greatest posterior of each model, N; ties as in `classification`."""
    order = np.lexsort((np.arange(len(fit.classes)), fit.classes.sum(axis=1)))
    # Equal but for rounding is equal.
    near = fit.posterior[:, order] >= fit.posterior.max(axis=1, keepdims=True) * (1 - 1e-9)
    return order[near.argmax(axis=1)]


def _mean_over_models(values: Array) -> Array:
    """Mean over the first axis that does not depend on the order of models."""
    mean: Array = np.mean(np.sort(values, axis=0), axis=0)
    return mean
