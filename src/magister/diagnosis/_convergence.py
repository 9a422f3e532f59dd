"""Whether chains agree, and how far their means can be off."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from magister.diagnosis._chain import Run, kept_blocks, last_change
from magister.diagnosis._state import Floats
from magister.diagnosis.fits import Chain, Diagnostics

MOST_ITEM_CHANGE, MOST_Q_CHANGE, MOST_RHAT, LEAST_CHAINS = 1e-3, 0.02, 1.05, 4
"""Criteria of convergence."""
_FLOOR_RATE, _FLOOR_LOGLIK = 1e-3, 0.1


def split_rhat(means: Floats, within: Floats, n: int, floor: float) -> Floats:
    """Split R-hat of P quantities from M half-chains.

    Args:
        means: M x P, means of the half-chains.
        within: M x P, their variances (with n - 1).
        n: draws of a half.
        floor: a standard deviation that is none: it is added to the one within halves, so that halves that hardly move
            and hardly differ are not told apart.

    Returns:
        P values.

    References:
        Gelman et al. (2013), Bayesian Data Analysis, 3rd edition, equations 11.3 and 11.4.
    """
    inside = within.mean(axis=0) + floor**2
    return np.asarray(np.sqrt((n - 1) / n + means.var(axis=0, ddof=1) / inside))


def _halves(run: Run) -> tuple[slice, slice]:
    # Two halves of the kept blocks, of equal length.
    kept = kept_blocks(run)
    half = (kept.stop - kept.start) // 2
    return slice(kept.stop - 2 * half, kept.stop - half), slice(kept.stop - half, kept.stop)


def chains_rhat(runs: Sequence[Run]) -> tuple[float, float]:
    """Largest split R-hat of c and g as drawn, and that of the log-likelihood."""
    halves = [(run, half) for run in runs for half in _halves(run)]
    n = runs[0].length * (halves[0][1].stop - halves[0][1].start)
    rates = np.array([run.sums.rates[half].sum(axis=0) for run, half in halves]).reshape(len(halves), 2, -1)
    means = rates[:, 0] / n
    variances = np.maximum(rates[:, 1] - n * means**2, 0) / (n - 1)
    loglik = np.concatenate([run.loglik[-2 * n :].reshape(2, n) for run in runs])
    return (
        float(split_rhat(means, variances, n, _FLOOR_RATE).max()),
        float(
            split_rhat(loglik.mean(axis=1)[:, None], loglik.var(axis=1, ddof=1)[:, None], n, _FLOOR_LOGLIK)[0]
        ),
    )


def judge(runs: Sequence[Run]) -> tuple[tuple[str, ...], float, float]:
    """Which criteria do not hold, and R-hat of items and of the log-likelihood."""
    items, entries = last_change(list(runs))
    rhat_items, rhat_loglik = chains_rhat(runs)
    missed = []
    if items >= MOST_ITEM_CHANGE:
        missed.append(f"c and g still change by {items:.4f} (limit {MOST_ITEM_CHANGE})")
    if entries >= MOST_Q_CHANGE:
        missed.append(f"the mean of Q still changes by {entries:.3f} (limit {MOST_Q_CHANGE})")
    for name, rhat in (("c and g", rhat_items), ("the log-likelihood", rhat_loglik)):
        if rhat >= MOST_RHAT:
            missed.append(f"R-hat of {name} is {rhat:.3f} (limit {MOST_RHAT})")
    return tuple(missed), rhat_items, rhat_loglik


def diagnose(runs: Sequence[Run], chains: Sequence[Chain]) -> Diagnostics:
    """Whether the chains of a finished fit can be believed."""
    missed, rhat_items, rhat_loglik = judge(runs)
    if len(chains) < LEAST_CHAINS:
        missed += (f"R-hat needs {LEAST_CHAINS} chains, there are {len(chains)}",)
    pairs = list(combinations(chains, 2))
    return Diagnostics(
        converged=not missed,
        reason="; ".join(missed),
        sweeps=max(chain.sweeps for chain in chains),
        rhat_items=rhat_items,
        rhat_loglik=rhat_loglik,
        q_jaccard=float(np.mean([_jaccard(a.q > 0.5, b.q > 0.5) for a, b in pairs])) if pairs else np.nan,
        alpha_agreement=(
            float(np.mean([np.mean((a.alpha > 0.5) == (b.alpha > 0.5)) for a, b in pairs]))
            if pairs
            else np.nan
        ),
    )


def _jaccard(a: np.ndarray, b: np.ndarray) -> float:
    either = int((a | b).sum())
    return float((a & b).sum() / either) if either else 1.0


def mastery_mcse(runs: Sequence[Run], n_models: int) -> Floats:
    """Monte Carlo standard error (N x K) of the posterior means of mastery.

    From the means of the kept blocks of all chains, whose spread holds both the drift of a chain and the distance of
    chains; at least what as many independent draws would have, with half a draw added to either side.
    """
    means, n = [], 0
    for run in runs:
        kept = kept_blocks(run)
        n += run.length * (kept.stop - kept.start)
        means.append(run.sums.mastery[kept] / run.length)
    batches = np.array(means)  # C x B x W x K x 64
    chains, blocks = batches.shape[:2]
    flat = batches.reshape(chains * blocks, *batches.shape[2:])
    error = flat.std(axis=0, ddof=1) / np.sqrt(len(flat))
    if chains > 1:
        error = np.maximum(error, batches.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(chains))
    p = (flat.mean(axis=0) * n + 0.5) / (n + 1)
    error = np.maximum(error, np.sqrt(p * (1 - p) / n))
    return np.asarray(error.transpose(0, 2, 1).reshape(-1, error.shape[1])[:n_models])
