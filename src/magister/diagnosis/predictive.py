"""Posterior predictive checks: do responses drawn from the fit look like those that were seen?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from magister.diagnosis.fits import Draw, SaemFit
from magister.diagnosis.matrix import MISSING, ResponseMatrix

Array = NDArray[np.float64]
Row = dict[str, Any]
STATISTICS = ("score_sd", "score_skew", "item_share", "pair_correlation")
MOST_ITEMS = 200
"""Items whose pairs are looked at; of more, as many are chosen at random."""
ALPHA = 0.05
"""Chance that any of the checks fails on responses that the model made; each has its share of it."""
_ONE_SIDED = ("item_share", "pair_correlation")
_STREAM = 0x5050


def predictive_checks(
    responses: ResponseMatrix, fit: SaemFit, *, replicates: int, seed: int, most_items: int = MOST_ITEMS
) -> list[Row]:
    """Hold statistics of the responses against those of replicated ones.

    A replicate takes mastery, Q, guess and slip from a draw of the fit, and has no response where there was none.

    - `score_sd`, `score_skew`: of the models' shares of right responses.
    - `item_share`: mean squared distance of the items' shares from those of the replicates, in their SDs.
    - `pair_correlation`: mean absolute difference of the items' correlations from those of the replicates.

    p is two-sided for the first two; for the others it is the share of replicates that are as far off.

    Args:
        responses: N x J that the fit saw.
        fit: whose chains have draws, of the same models and items.
        replicates: how many are drawn; the draws take turns.
        seed: whole number, 0 or more.
        most_items: items whose pairs are looked at.

    Returns:
        DIAGNOSIS_CHECKS rows of check `posterior_predictive`: what was seen, the mean and the central 95 % of the
        replicates, p, and whether it holds (null where p cannot get as low as it takes).

    References:
        Gelman, Meng and Stern (1996), Statistica Sinica 6, 733-807; Chen, de la Torre and Zhang (2013), JEM 50, 123-140
        (differences of correlations as a sign of a wrong Q-matrix).
    """
    draws = [draw for chain in fit.chains for draw in chain.draws]
    n = int(responses.answered.sum())
    if not draws or replicates < 2:
        reason = "the fit kept no draws" if not draws else "fewer than 2 replicates"
        return [_absent(name, reason, n) for name in STATISTICS]
    models, items = (np.argsort(np.asarray(names)) for names in (responses.models, responses.items))
    correct = responses.correct[np.ix_(models, items)]
    answered = correct != MISSING
    pairs = _some(items.size, most_items, seed)
    together = _counts(answered[:, pairs], answered[:, pairs])
    seen = _seen(correct == 1, answered, pairs, together)
    rounds: list[tuple[Array, Array, Array] | None] = [None] * replicates
    for place, draw in enumerate(draws[:replicates]):
        chance = _chances(draw, models, items)
        for number in range(place, replicates, len(draws)):
            right = _replicate(chance, seed, number) & answered
            rounds[number] = _seen(right, answered, pairs, together)
    scores, shares, correlations = (
        np.stack(part) for part in zip(*(found for found in rounds if found is not None), strict=True)
    )
    values = {
        "score_sd": (seen[0][0], scores[:, 0]),
        "score_skew": (seen[0][1], scores[:, 1]),
        "item_share": _distances(seen[1], shares, squared=True),
        "pair_correlation": _distances(seen[2], correlations, squared=False),
    }
    counts = {"score_sd": len(models), "score_skew": len(models), "item_share": items.size}
    return [
        _row(name, *values[name], counts.get(name, pairs.size * (pairs.size - 1) // 2)) for name in STATISTICS
    ]


def _chances(draw: Draw, models: NDArray[np.intp], items: NDArray[np.intp]) -> NDArray[np.float32]:
    """P(right) of all models and items, in the order of their names."""
    lacking = _counts((~draw.alpha[models]).T, draw.q[items].T)
    hit, guess = (part[items].astype(np.float32) for part in (1 - draw.slip, draw.guess))
    return np.asarray(np.where(lacking == 0, hit, guess))


def _replicate(chance: NDArray[np.float32], seed: int, number: int) -> NDArray[np.bool_]:
    """Responses of all models to all items."""
    stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, number, _STREAM])))
    return np.asarray(stream.random(chance.shape, dtype=np.float32) < chance)


def _counts(left: NDArray[np.bool_], right: NDArray[np.bool_]) -> NDArray[np.float32]:
    """left' right. Whole numbers below 2^24 are exact, however a BLAS sums them."""
    return np.asarray(left.T.astype(np.float32) @ right.astype(np.float32))


def _some(items: int, most: int, seed: int) -> NDArray[np.intp]:
    if items <= most:
        return np.arange(items)
    stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, _STREAM])))
    return np.sort(stream.choice(items, size=most, replace=False))


def _seen(
    right: NDArray[np.bool_],
    answered: NDArray[np.bool_],
    pairs: NDArray[np.intp],
    together: NDArray[np.float32],
) -> tuple[Array, Array, Array]:
    """SD and skewness of the models' shares; the items' shares; the correlations of pairs of items."""
    share = right.sum(axis=1) / np.maximum(answered.sum(axis=1), 1)
    sd = float(share.std())
    skew = float(np.mean((share - share.mean()) ** 3) / sd**3) if sd > 0 else float("nan")
    by_item = right.sum(axis=0) / np.maximum(answered.sum(axis=0), 1)
    return np.array([sd, skew]), by_item, _correlations(right[:, pairs], answered[:, pairs], together)


def _correlations(
    right: NDArray[np.bool_], answered: NDArray[np.bool_], together: NDArray[np.float32]
) -> Array:
    """Phi of each pair of items over the models that answered both; NaN where one of them does not vary."""
    upper = np.triu_indices(right.shape[1], 1)
    both = _counts(right, right)[upper].astype(np.float64)
    # Where nothing is missing an item's count is the same beside every other.
    whole = bool(answered.all())
    own = np.tile(right.sum(axis=0)[:, None], right.shape[1]) if whole else _counts(right, answered)
    first, second = own[upper].astype(np.float64), own.T[upper].astype(np.float64)
    n = together[upper].astype(np.float64)
    spread = first * (n - first) * second * (n - second)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(spread > 0, (n * both - first * second) / np.sqrt(spread), np.nan))


def _distances(seen: Array, drawn: Array, *, squared: bool) -> tuple[float, Array]:
    """Mean distance of what was seen from the replicates' mean; and of each replicate from that of the others.

    What some replicate or the responses leave undefined is not counted.
    """
    known = ~np.isnan(seen) & ~np.isnan(drawn).any(axis=0)
    if squared:
        known &= drawn.std(axis=0) > 0
    if not known.any():
        return float("nan"), np.full(len(drawn), np.nan)
    drawn, seen, count = drawn[:, known], seen[known], len(drawn)
    total = drawn.sum(axis=0)
    others = (total - drawn) / (count - 1)
    scale = drawn.std(axis=0) if squared else np.ones(seen.size)
    power = 2 if squared else 1
    return (
        float(np.mean(np.abs((seen - total / count) / scale) ** power)),
        np.mean(np.abs((drawn - others) / scale) ** power, axis=1),
    )


def _row(name: str, value: float, drawn: Array, n: int) -> Row:
    drawn = drawn[~np.isnan(drawn)]
    if np.isnan(value) or drawn.size < 2:
        return _absent(name, "it does not vary, in the responses or in the replicates", n)
    as_high, as_low = ((1 + int(count)) / (1 + drawn.size) for count in _sides(value, drawn))
    one_sided = name in _ONE_SIDED
    p = as_high if one_sided else min(1.0, 2 * min(as_high, as_low))
    level = ALPHA / len(STATISTICS)
    least = (1 if one_sided else 2) / (1 + drawn.size)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {
        "check": "posterior_predictive",
        "statistic": name,
        "value": value,
        "expected": float(drawn.mean()),
        "low": float(low),
        "high": float(high),
        "p": p,
        "holds": p > level if least <= level else None,
        "status": "ok",
        "reason": "" if least <= level else f"{drawn.size} replicates: p cannot get below {least:.2g}",
        "n": n,
    }


def _sides(value: float, drawn: Array) -> Sequence[np.int64]:
    return (drawn >= value).sum(), (drawn <= value).sum()


def _absent(name: str, reason: str, n: int) -> Row:
    empty = dict.fromkeys(("value", "expected", "low", "high", "p", "holds"))
    return (
        {"check": "posterior_predictive", "statistic": name, "n": n}
        | empty
        | {
            "status": "not_computable",
            "reason": reason,
        }
    )
