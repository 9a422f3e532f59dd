"""What fitting a model to responses comes to."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Draw:
    """One draw of a chain: N models, J items, K attributes."""

    alpha: NDArray[np.bool_]
    """N x K."""
    q: NDArray[np.bool_]
    """J x K."""
    guess: Array
    slip: Array


@dataclass(frozen=True)
class Chain:
    """One chain of a fit by SAEM; means are over its kept sweeps.

    Attributes:
        alpha: N x K, share of draws in which the model masters the attribute.
        q: J x K, share of draws in which the item needs the attribute.
        unlocked: N x K, mean number of answered items that tell of the attribute: they need it, and the model masters
            all else that they need.
        guess: J, P(right) without all needed attributes.
        slip: J, P(wrong) with all of them.
        counts: 4 x J, averaged statistics: right and all with mastery, right and all without.
        pooled: J, whether c - g fell below the least distance and was held at it.
        loading: K, lambda_k of the higher-order prior (0 under other priors).
        intercept: K, d_k: logit P(alpha_ik) = lambda_k theta_i + d_k.
        theta: N, mean ability (0 under other priors).
        loglik: mean of log P(responses | alpha, q, guess, slip) over kept draws.
        trace_sweep: T, the sweeps at which the trace was taken.
        trace_loglik: T.
        trace_item_change: T, largest change of c or g over the window before.
        trace_q_change: T, largest change of the running mean of q over the window before.
        sweeps: how many were run.
        kept: how many the means are over.
        draws: a few draws, evenly spread over the kept sweeps.
        held_out: P(right) of the held-out cells, averaged over kept draws; empty without.
    """

    alpha: Array
    q: Array
    unlocked: Array
    guess: Array
    slip: Array
    counts: Array
    pooled: NDArray[np.bool_]
    loading: Array
    intercept: Array
    theta: Array
    loglik: float
    trace_sweep: NDArray[np.int64]
    trace_loglik: Array
    trace_item_change: Array
    trace_q_change: Array
    sweeps: int
    kept: int
    draws: tuple[Draw, ...] = ()
    held_out: Array = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class Diagnostics:
    """Whether chains can be believed.

    Attributes:
        converged: all criteria hold.
        reason: empty, or which criterion does not hold.
        sweeps: of the longest chain.
        rhat_items: largest split R-hat of c and g; NaN with too little to compute it from.
        rhat_loglik: split R-hat of the log-likelihood.
        q_jaccard: mean Jaccard index of the chains' Q-matrices (entries above 0.5); NaN with one chain.
        alpha_agreement: mean share of equal mastery (above 0.5) between chains; NaN with one chain.
    """

    converged: bool
    reason: str
    sweeps: int
    rhat_items: float
    rhat_loglik: float
    q_jaccard: float
    alpha_agreement: float


@dataclass(frozen=True)
class SaemFit:
    """DINA with an uncertain Q-matrix, fitted by SAEM; means over chains.

    Attributes:
        models, items, attributes: names, N, J, K.
        alpha: N x K, posterior P(model masters attribute).
        alpha_mcse: N x K, Monte Carlo standard error of it, from the chains.
        q: J x K, posterior P(item needs attribute).
        guess, slip: J.
        loglik: mean log P(responses | alpha, q, guess, slip).
        chains: the chains.
        diagnostics: whether they can be believed.
    """

    models: tuple[str, ...]
    items: tuple[str, ...]
    attributes: tuple[str, ...]
    alpha: Array
    alpha_mcse: Array
    q: Array
    guess: Array
    slip: Array
    loglik: float
    chains: tuple[Chain, ...]
    diagnostics: Diagnostics

    @property
    def held_out(self) -> Array:
        """P(right) of the held-out cells."""
        return np.mean([chain.held_out for chain in self.chains], axis=0)


@dataclass(frozen=True)
class EmFit:
    """DINA with a known Q-matrix, fitted by marginal maximum likelihood.

    Attributes:
        models, items, attributes: names, N, J, K.
        classes: C x K, attribute patterns.
        class_probability: C.
        posterior: N x C.
        alpha: N x K, marginal posterior P(model masters attribute).
        q: J x K, the Q-matrix.
        guess, slip: J.
        guess_se, slip_se: J.
        loglik: marginal log-likelihood.
        parameters: number of free parameters.
        diagnostics: iterations, last change, whether it converged and more (`fit_exact_em` says what).
    """

    models: tuple[str, ...]
    items: tuple[str, ...]
    attributes: tuple[str, ...]
    classes: NDArray[np.bool_]
    class_probability: Array
    posterior: Array
    alpha: Array
    q: Array
    guess: Array
    slip: Array
    guess_se: Array
    slip_se: Array
    loglik: float
    parameters: int
    diagnostics: dict[str, float]

    @property
    def aic(self) -> float:
        """Akaike's criterion: less is better."""
        return 2 * self.parameters - 2 * self.loglik

    @property
    def bic(self) -> float:
        """Schwarz's criterion: less is better."""
        return float(np.log(len(self.models)) * self.parameters - 2 * self.loglik)


@dataclass(frozen=True)
class IrtFit:
    """Two-parameter logistic model: P(right) = 1 / (1 + exp(-(slope theta + intercept))).

    Attributes:
        models, items: names, N, J.
        slope, intercept: J.
        theta, theta_sd: N, posterior mean and SD of the ability, whose prior is N(0, 1).
        loglik: marginal log-likelihood.
        predicted: N x J, posterior mean of P(right), missing cells included.
        converged: whether the last change was below the tolerance.
        iterations: how many were run.
    """

    models: tuple[str, ...]
    items: tuple[str, ...]
    slope: Array
    intercept: Array
    theta: Array
    theta_sd: Array
    loglik: float
    predicted: Array
    converged: bool
    iterations: int
