"""What a fit says of models, attributes and items, as the tables that are published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.contracts.diagnosis_tables import (
    ATTRIBUTE_CORRELATIONS,
    ATTRIBUTE_PROFILES,
    ITEM_PROFILES,
    MASTERY,
    Q_ENTRIES,
    SUPPORT,
)
from magister.diagnosis.classification import attribute_accuracy, attribute_consistency
from magister.diagnosis.fits import SaemFit
from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.prior import QPrior
from magister.errors import UserError
from magister.stats import MIN_MODELS, cluster_mean

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
NOT_BELOW, MASTERED_FROM = 0.2, 0.8
"""A posterior probability up to the first is no mastery, from the second mastery."""
LEAST_ITEMS = 0.5
"""Fewer items than this tell of an attribute, on average over draws: in most draws none does."""
DUPLICATE_FROM = 0.95
"""Attributes whose mastery correlates this much over models are not two attributes."""
NEEDED = 0.5
"""An item needs an attribute from above this posterior probability."""
_EDGE = 1e-9
CORRECTIONS = ("prior_confirmed", "added_process", "reassigned", "reduced")
"""What became of an item's reference: kept as it is; kept with more; some of it replaced; some of it gone."""


@dataclass(frozen=True)
class ItemFit:
    """What is known of items beyond the fit; NaN where unknown.

    Attributes:
        guess_se, slip_se: standard errors, J.
        rmsd: root mean squared difference of observed and expected shares over profiles, J.
        pvaf: share of the variance between profiles that the Q row explains, J.
    """

    guess_se: Array
    slip_se: Array
    rmsd: Array
    pvaf: Array


def mastery_table(fit: SaemFit, labels: Sequence[str], support: str) -> pa.Table:
    """Mastery of every attribute by every model.

    Args:
        fit: N models, K attributes.
        labels: of the attributes, K.
        support: what the controls say of the study.

    Returns:
        MASTERY table. A model that no item tells of an attribute for has basis `prior` and is undetermined, however
        sure the prior is.
    """
    _one_of(support, SUPPORT, "support")
    models, attributes = fit.alpha.shape
    p = np.clip(fit.alpha, 0.0, 1.0).ravel()
    told = unlocked_items(fit).ravel()
    known = told >= LEAST_ITEMS
    state = np.where(
        known & (p >= MASTERED_FROM),
        "mastered",
        np.where(known & (p <= NOT_BELOW), "not_mastered", "undetermined"),
    )
    columns = {
        "model": np.repeat(np.asarray(fit.models, dtype=object), attributes),
        "attribute": np.tile(np.asarray(fit.attributes, dtype=object), models),
        "label": np.tile(np.asarray(labels, dtype=object), models),
        "p": p,
        "sd": np.sqrt(p * (1 - p)),
        "n_items": told,
        "basis": np.where(known, "responses", "prior"),
        "state": state,
        "support": np.full(p.size, support),
        "mcse": _nullable(fit.alpha_mcse.ravel()),
    }
    return _sorted(pa.table(columns).cast(MASTERY.schema), MASTERY.key)


def unlocked_items(fit: SaemFit) -> Array:
    """Answered items that tell of each attribute for each model, N x K; mean over the kept sweeps of all chains."""
    kept = np.array([chain.kept for chain in fit.chains], dtype=np.float64)
    total = np.zeros(fit.alpha.shape)
    for chain in fit.chains:
        total += chain.kept * chain.unlocked
    return total / max(kept.sum(), 1.0)


def models_a_profile(fit: SaemFit) -> float:
    """Mean number of models that have the same profile (mastery above 0.5)."""
    return len(fit.models) / max(len(np.unique(fit.alpha > NEEDED, axis=0)), 1)


def attribute_table(fit: SaemFit, known: Sequence[dict[str, Any]], *, level: float = 0.95) -> pa.Table:
    """Attributes with their prevalence and how well models are told apart by them.

    Args:
        fit: N models, K attributes.
        known: rows of Q_ATTRIBUTES, in any order.
        level: of the interval of the prevalence over models like these (Student's t), which is cut at 0 and 1.

    Returns:
        ATTRIBUTE_PROFILES table.

    Raises:
        UserError: an attribute of the fit has no row.
    """
    by_name = {row["attribute"]: row for row in known}
    missing = [name for name in fit.attributes if name not in by_name]
    if missing:
        raise UserError(
            f"attributes: {len(missing)} of the fit have no label, the first {missing[0]!r}; make the Q-matrix again"
        )
    tau, gamma = attribute_accuracy(fit.alpha), attribute_consistency(fit.alpha)
    twins = duplicates(fit)
    needing = (fit.q > NEEDED).sum(axis=0)
    rows = []
    for k, name in enumerate(fit.attributes):
        # Every model is a cluster; sorted, so that their order changes no digit.
        found = cluster_mean(np.sort(fit.alpha[:, k]), np.arange(len(fit.models)), level)
        ok = found.status == "ok"
        reason = {"one_cluster": "one model", "all_equal": "all models are alike"}.get(
            found.status, found.reason
        )
        rows.append(
            {
                "attribute": name,
                "label": by_name[name]["label"],
                "label_status": by_name[name]["status"],
                "terms": by_name[name]["terms"],
                "n_models": len(fit.models),
                "n_items": int(needing[k]),
                "status": "ok" if ok else "no_interval",
                "reason": "" if ok else reason,
                "level": level,
                "prevalence": found.value,
                "ci_low": max(found.ci_low, 0.0) if found.ci_low is not None else None,
                "ci_high": min(found.ci_high, 1.0) if found.ci_high is not None else None,
                "accuracy": float(tau[k]),
                "consistency": float(gamma[k]),
                "duplicate_of": twins[k],
            }
        )
    return _sorted(pa.Table.from_pylist(rows, schema=ATTRIBUTE_PROFILES.schema), ATTRIBUTE_PROFILES.key)


def correlations(fit: SaemFit) -> Array:
    """Correlation of posterior mastery over models, K x K; NaN where an attribute does not vary."""
    p = fit.alpha[np.argsort(np.asarray(fit.models))]
    centred = p - p.mean(axis=0)
    # Not a product of matrices: its last digits depend on the number of threads.
    products = np.einsum("ik,il->kl", centred, centred)
    spread = np.sqrt(np.diag(products))
    spread = np.where(spread > 1e-9 * np.sqrt(max(len(p), 1)), spread, np.nan)
    return np.clip(products / np.outer(spread, spread), -1.0, 1.0)


def duplicates(fit: SaemFit) -> list[str | None]:
    """For each attribute the first one, by name, that the same models master; None for the first of its twins."""
    found = correlations(fit)
    first: dict[int, int] = {}
    order = sorted(range(len(fit.attributes)), key=lambda k: fit.attributes[k])
    for place, k in enumerate(order):
        for other in order[:place]:
            if other not in first and found[k, other] >= DUPLICATE_FROM:
                first[k] = other
                break
    return [fit.attributes[first[k]] if k in first else None for k in range(len(fit.attributes))]


def correlation_table(fit: SaemFit) -> pa.Table:
    """Correlations of mastery of all pairs of attributes.

    Returns:
        ATTRIBUTE_CORRELATIONS table; those of fewer than four models, or of an attribute that all models have alike,
        are not computable.
    """
    values, n = correlations(fit), len(fit.models)
    order = sorted(range(len(fit.attributes)), key=lambda k: fit.attributes[k])
    rows = []
    for place, k in enumerate(order):
        for other in order[place + 1 :]:
            value = float(values[k, other])
            reason = (
                f"{n} models: {MIN_MODELS} are needed"
                if n < MIN_MODELS
                else "mastery of one of them does not vary"
                if np.isnan(value)
                else ""
            )
            rows.append(
                {
                    "attribute_a": fit.attributes[k],
                    "attribute_b": fit.attributes[other],
                    "status": "not_computable" if reason else "ok",
                    "reason": reason,
                    "n": n,
                    "correlation": None if reason else value,
                }
            )
    return pa.Table.from_pylist(rows, schema=ATTRIBUTE_CORRELATIONS.schema)


def item_errors(fit: SaemFit, responses: ResponseMatrix) -> tuple[Array, Array]:
    """Standard errors of guess and slip, from the cross-products of the scores of each item.

    A model has all that an item needs with probability w_i, the product of its posterior mastery of what is needed. The
    scores of c = 1 - slip and g = guess are w (x - c) / (c (1 - c)) and (1 - w) (x - g) / (g (1 - g)); the inverse of
    their summed products is the variance. Doubt about Q is not in it.

    Args:
        fit: J items.
        responses: of the same models and items.

    Returns:
        Errors of guess and slip, J each; NaN where no response tells of it.

    References:
        de la Torre (2009), Journal of Educational and Behavioral Statistics 34, 115-130, appendix.
    """
    order = np.argsort(np.asarray(responses.models))
    mastered, correct = fit.alpha[order], responses.correct[order]
    rows, which = np.unique(fit.q > NEEDED, axis=0, return_inverse=True)
    has = np.stack([np.prod(mastered[:, row], axis=1) for row in rows], axis=1)[:, which.ravel()]
    answered, right = correct >= 0, correct == 1
    c, g = (np.clip(chance, _EDGE, 1 - _EDGE) for chance in (1 - fit.slip, fit.guess))
    of_slip = np.where(answered, has * (right - c) / (c * (1 - c)), 0.0)
    of_guess = np.where(answered, (1 - has) * (right - g) / (g * (1 - g)), 0.0)
    # Weights say whether anybody tells of it: scores vanish too where all are as expected.
    tells_slip = np.where(answered, has, 0.0).sum(axis=0) >= LEAST_ITEMS
    tells_guess = np.where(answered, 1 - has, 0.0).sum(axis=0) >= LEAST_ITEMS
    both, slips, guesses = (
        (of_slip * of_guess).sum(axis=0),
        (of_slip**2).sum(axis=0),
        (of_guess**2).sum(axis=0),
    )
    both = np.where(tells_slip & tells_guess, both, 0.0)
    found = []
    for told, own, other, other_told in (
        (tells_guess, guesses, slips, tells_slip),
        (tells_slip, slips, guesses, tells_guess),
    ):
        # What is left of the information after the other parameter has been estimated.
        taken = np.where(other_told & (other > 0), both**2 / np.where(other > 0, other, 1.0), 0.0)
        left = np.where(told, own - taken, 0.0)
        some = left > _EDGE * own
        found.append(np.where(some, 1 / np.sqrt(np.where(some, left, 1.0)), np.nan))
    return found[0], found[1]


def item_table(fit: SaemFit, responses: ResponseMatrix, known: ItemFit | None = None) -> pa.Table:
    """Items with guess, slip and how well they fit.

    Args:
        fit: J items.
        responses: of the same models and items.
        known: what else is known; errors are those of `item_errors` without it.

    Returns:
        ITEM_PROFILES table. An item that no response tells the guess or the slip of keeps the value of its prior,
        without an error and with the reason.

    Raises:
        UserError: the responses are of other models or items, or in another order.
    """
    _same(fit, responses)
    unknown = np.full(len(fit.items), np.nan)
    guess_se, slip_se = (known.guess_se, known.slip_se) if known else item_errors(fit, responses)
    weight = np.array([chain.kept for chain in fit.chains], dtype=np.float64)
    counts = sum(
        (chain.kept * chain.counts for chain in fit.chains), start=np.zeros((4, len(fit.items)))
    ) / max(weight.sum(), 1.0)
    pooled = np.mean([chain.pooled for chain in fit.chains], axis=0) >= 0.5
    n = responses.answered.sum(axis=0)
    needed = [sorted(fit.attributes[k] for k in np.flatnonzero(row > NEEDED)) for row in fit.q]
    reasons = [
        _no_error(bool(a), bool(b), float(some), float(rest))
        for a, b, some, rest in zip(np.isnan(guess_se), np.isnan(slip_se), counts[1], counts[3], strict=True)
    ]
    columns = {
        "item_id": list(fit.items),
        "guess": fit.guess,
        "slip": fit.slip,
        "discrimination": np.clip(1 - fit.slip - fit.guess, -1.0, 1.0),
        "pooled": pooled,
        "n": n.astype(np.int32),
        "n_mastered": counts[1],
        "n_other": counts[3],
        "attributes": pa.array(needed, pa.list_(pa.string())),
        "status": ["no_interval" if reason else "ok" for reason in reasons],
        "reason": reasons,
        "guess_se": _nullable(guess_se),
        "slip_se": _nullable(slip_se),
        "rmsd": _nullable(known.rmsd if known else unknown),
        "pvaf": _nullable(known.pvaf if known else unknown),
    }
    return _sorted(pa.table(columns).cast(ITEM_PROFILES.schema), ITEM_PROFILES.key)


def _no_error(guess: bool, slip: bool, mastered: float, other: float) -> str:
    """Why an item has no error of its guess or slip; empty where it has both."""
    lost = []
    if guess:
        lost.append(
            "guess: nobody lacks what it needs" if other < LEAST_ITEMS else "guess: too little tells of it"
        )
    if slip:
        lost.append(
            "slip: nobody masters what it needs" if mastered < LEAST_ITEMS else "slip: too little tells of it"
        )
    return "; ".join(lost)


def entry_table(fit: SaemFit, prior: QPrior) -> pa.Table:
    """What became of every entry of the Q-matrix.

    Args:
        fit: J items, K attributes.
        prior: of the same items and attributes, in the same order.

    Returns:
        Q_ENTRIES table. Log-odds are those of the posterior, no further from 0 than half a draw can tell.

    Raises:
        UserError: fit and prior are of other items or attributes.
    """
    _same(fit, prior)
    kept = sum(chain.kept for chain in fit.chains)
    edge = 0.5 / (kept + 1)
    posterior = np.clip(fit.q, edge, 1 - edge)
    has, had = fit.q > NEEDED, prior.reference
    pattern = np.where(had, np.where(has, "kept", "dropped"), np.where(has, "added", "absent"))
    items, attributes = fit.q.shape
    columns = {
        "item_id": np.repeat(np.asarray(fit.items, dtype=object), attributes),
        "attribute": np.tile(np.asarray(fit.attributes, dtype=object), items),
        "reference": had.ravel(),
        "prior": prior.probability.ravel(),
        "posterior": np.clip(fit.q, 0.0, 1.0).ravel(),
        "log_odds": np.log(posterior / (1 - posterior)).ravel(),
        "pattern": pattern.ravel(),
    }
    return _sorted(pa.table(columns).cast(Q_ENTRIES.schema), Q_ENTRIES.key)


def corrections(fit: SaemFit, prior: QPrior) -> dict[str, int]:
    """How many items' reference was corrected in which way; the counts add up to J.

    - `prior_confirmed`: the posterior needs what the reference needs, and nothing else.
    - `added_process`: all of the reference is kept, and more is needed.
    - `reassigned`: an attribute of the reference is dropped, and another added.
    - `reduced`: an attribute of the reference is dropped, and none added.
    """
    _same(fit, prior)
    has = fit.q > NEEDED
    dropped, added = (prior.reference & ~has).any(axis=1), (has & ~prior.reference).any(axis=1)
    found = (~dropped & ~added, ~dropped & added, dropped & added, dropped & ~added)
    return {name: int(part.sum()) for name, part in zip(CORRECTIONS, found, strict=True)}


def _same(fit: SaemFit, other: QPrior | ResponseMatrix) -> None:
    """Refuse what is of other items, attributes or models than the fit, or has them in another order."""
    pairs = [(fit.items, other.items, "items")]
    if isinstance(other, QPrior):
        pairs.append((fit.attributes, other.attributes, "attributes"))
    else:
        pairs.append((fit.models, other.models, "models"))
    for here, there, what in pairs:
        if here != there:
            whose = "the prior" if isinstance(other, QPrior) else "the responses"
            raise UserError(
                f"the fit has {len(here)} {what}, {whose} {len(there)}, or they stand in another order: they are of "
                "two studies; make the fit again"
            )


def _one_of(value: str, allowed: Sequence[str], what: str) -> None:
    if value not in allowed:
        raise ValueError(f"{what} must be one of {', '.join(allowed)}, not {value!r}")


def _nullable(values: Array) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))


def _sorted(table: pa.Table, key: Sequence[str]) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in key])
