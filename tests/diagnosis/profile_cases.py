"""Fits made by hand, for models and items whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from magister.diagnosis.fits import Chain, Diagnostics, Draw, IrtFit, SaemFit
from magister.diagnosis.held_out import HeldOut
from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.prior import QPrior, point_prior

CONVERGED = Diagnostics(True, "", 400, 1.01, 1.0, 0.98, 0.99)
NOT_CONVERGED = Diagnostics(False, "R-hat of items 1.4 is above 1.05", 5000, 1.4, 1.1, 0.3, 0.6)


def names(what: str, count: int) -> tuple[str, ...]:
    """`model 01`, ..., in the order of their names."""
    return tuple(f"{what} {number:03d}" for number in range(1, count + 1))


def made_fit(
    alpha: Any,
    q: Any,
    *,
    guess: Any = 0.2,
    slip: Any = 0.1,
    unlocked: Any = 3.0,
    counts: Any = None,
    pooled: Any = False,
    draws: Sequence[Draw] = (),
    held_out: Any = (),
    mcse: Any = 0.01,
    kept: int = 99,
    chains: int = 1,
    loglik: float = -1.0,
    diagnostics: Diagnostics = CONVERGED,
) -> SaemFit:
    """A fit with the given posterior means; all chains are alike."""
    alpha, q = np.asarray(alpha, dtype=np.float64), np.asarray(q, dtype=np.float64)
    (n, k), j = alpha.shape, len(q)

    def wide(value: Any, *shape: int) -> NDArray[np.float64]:
        return np.broadcast_to(np.asarray(value, dtype=np.float64), shape).copy()

    chain = Chain(
        alpha=alpha,
        q=q,
        unlocked=wide(unlocked, n, k),
        guess=wide(guess, j),
        slip=wide(slip, j),
        counts=wide(10.0 if counts is None else counts, 4, j),
        pooled=np.broadcast_to(np.asarray(pooled, dtype=bool), (j,)).copy(),
        loading=np.zeros(k),
        intercept=np.zeros(k),
        theta=np.zeros(n),
        loglik=loglik,
        trace_sweep=np.arange(0),
        trace_loglik=np.zeros(0),
        trace_item_change=np.zeros(0),
        trace_q_change=np.zeros(0),
        sweeps=2 * kept,
        kept=kept,
        draws=tuple(draws),
        held_out=np.asarray(held_out, dtype=np.float64),
    )
    return SaemFit(
        models=names("model", n),
        items=names("item", j),
        attributes=names("attribute", k),
        alpha=alpha,
        alpha_mcse=wide(mcse, n, k),
        q=q,
        guess=chain.guess,
        slip=chain.slip,
        loglik=loglik,
        chains=(chain,) * chains,
        diagnostics=diagnostics,
    )


def made_responses(correct: Any) -> ResponseMatrix:
    """Responses of numbered models and items."""
    correct = np.asarray(correct, dtype=np.int8)
    return ResponseMatrix(names("model", len(correct)), names("item", correct.shape[1]), correct)


def made_prior(reference: Any, *, kept: float = 0.8) -> QPrior:
    """The same belief in every entry."""
    reference = np.asarray(reference, dtype=bool)
    j, k = reference.shape
    plain = QPrior(names("item", j), names("attribute", k), reference, reference.astype(np.float64))
    return point_prior(plain, kept=kept)


def able(alpha: NDArray[np.bool_], q: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """N x J, who masters all that an item needs."""
    return np.asarray(~((~alpha[:, None, :]) & q[None, :, :]).any(axis=2))


class KnownMastery:
    """Stands in for SAEM where mastery is known: takes the reference as Q and counts guess and slip.

    Attributes:
        alpha: N x K.
        q: what the posterior says of Q; the reference by default.
        asked: priors that were fitted.
    """

    def __init__(self, alpha: NDArray[np.bool_], q: NDArray[np.bool_] | None = None) -> None:
        self.alpha, self.q, self.asked = alpha, q, list[QPrior]()

    def __call__(self, responses: ResponseMatrix, prior: QPrior, seed: int, held_out: HeldOut) -> SaemFit:
        self.asked.append(prior)
        has = able(self.alpha, prior.reference)
        answered, right = responses.answered, responses.correct == 1
        guess = ((right & ~has).sum(axis=0) + 1) / ((answered & ~has).sum(axis=0) + 2)
        hits = ((right & has).sum(axis=0) + 1) / ((answered & has).sum(axis=0) + 2)
        chance = np.where(has, hits, guess)
        q = prior.reference if self.q is None else self.q
        loglik = float(
            np.where(answered, np.log(np.where(right, chance, 1 - chance)), 0.0).sum() / answered.sum()
        )
        return made_fit(
            self.alpha,
            q,
            guess=guess,
            slip=1 - hits,
            draws=[Draw(self.alpha, prior.reference, guess, 1 - hits)] * 2,
            held_out=chance[held_out.rows, held_out.columns],
            loglik=loglik,
        )


def irt_fit(responses: ResponseMatrix, predicted: Any, *, converged: bool = True) -> IrtFit:
    """A 2PL fit with the given predictions."""
    n, j = responses.correct.shape
    return IrtFit(
        responses.models,
        responses.items,
        np.ones(j),
        np.zeros(j),
        np.zeros(n),
        np.ones(n),
        -1.0,
        np.asarray(predicted, dtype=np.float64),
        converged,
        50,
    )


def two_way_means(responses: ResponseMatrix) -> NDArray[np.float64]:
    """What one ability can tell: logits of the models' and items' shares added up."""

    def logit(right: NDArray[Any], n: NDArray[Any]) -> NDArray[np.float64]:
        share = (right + 1) / (n + 2)
        return np.asarray(np.log(share / (1 - share)))

    right, answered = responses.correct == 1, responses.answered
    whole = logit(np.asarray(right.sum()), np.asarray(answered.sum()))
    by_model = logit(right.sum(axis=1), answered.sum(axis=1))
    by_item = logit(right.sum(axis=0), answered.sum(axis=0))
    return np.asarray(1 / (1 + np.exp(-(by_model[:, None] + by_item[None, :] - whole))))
