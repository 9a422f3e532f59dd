"""Ranks with their uncertainty, and groups that the data do not tell apart."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from magister.stats._bootstrap import MAX_UNDEFINED
from magister.stats._estimate import FloatArray, check_level, choose_status, reasons_of

#: Scores that agree to so many decimals are equal: rounding does not break ties.
DECIMALS = 12
# Comparisons of one block of resamples.
_BLOCK_CELLS = 2**24
_LETTERS = string.ascii_lowercase + string.ascii_uppercase


@dataclass(frozen=True)
class Ranks:
    """Ranks of M models. 0 and NaN stand for "absent" and `status` says why.

    Attributes:
        rank: 1 is best; equal scores share the best of their ranks; 0 without a score; int64.
        ci_low: best rank of the interval, int64; 0 when there is none.
        ci_high: worst rank of the interval, int64; 0 when there is none.
        p_first: share of resamples in which the rank is 1, shared first places included; float64.
        status: object array: "ok", "undefined", "undefined_resamples", "no_resamples".
        reason: object array of sentences.
    """

    rank: NDArray[np.int64]
    ci_low: NDArray[np.int64]
    ci_high: NDArray[np.int64]
    p_first: FloatArray
    status: NDArray[np.object_]
    reason: NDArray[np.object_]


def shared_ranks(scores: ArrayLike) -> NDArray[np.int64]:
    """Ranks with the highest score first: 1 + the number of scores that are higher.

    Args:
        scores: shape (..., M); scores equal to twelve decimals are ties; NaN has rank 0.

    Returns:
        Ranks, shape (..., M). Ties share a rank and the next one is skipped: 1, 2, 2, 4.
    """
    x = np.round(np.asarray(scores, dtype=np.float64), DECIMALS)
    higher = (x[..., None, :] > x[..., :, None]).sum(axis=-1)
    return np.where(np.isnan(x), 0, 1 + higher).astype(np.int64)


def rank_intervals(value: ArrayLike, replicates: FloatArray, level: float = 0.95) -> Ranks:
    """Ranks with percentile intervals from replicates that share their resamples.

    Args:
        value: scores on the data, shape (M,), the higher the better; NaN leaves a model out of the ranking.
        replicates: scores on the resamples, shape (B, M).
        level: confidence level of each interval, 0..1; the intervals are not simultaneous.

    Returns:
        Ranks of the M models. A model without a score on more than `MAX_UNDEFINED` of the resamples has
        status "undefined_resamples"; on the others it is left out of the ranking.

    Raises:
        ValueError: if the shapes do not fit.

    References:
        Goldstein and Spiegelhalter (1996), JRSS A 159, 385-443 (intervals for ranks).
    """
    tail = (1 - check_level(level)) / 2
    point = np.asarray(value, dtype=np.float64)
    drawn = np.asarray(replicates, dtype=np.float64)
    if point.ndim != 1 or drawn.ndim != 2 or drawn.shape[1] != point.size:
        raise ValueError(
            f"value and replicates must have shapes (M,) and (B, M): {point.shape}, {drawn.shape}"
        )
    models, count = point.size, drawn.shape[0]
    absent = np.isnan(point)
    drawn = np.where(absent, np.nan, drawn)
    step = max(1, _BLOCK_CELLS // max(models * models, 1))
    ranks = np.zeros((count, models), dtype=np.int64)
    for start in range(0, count, step):
        ranks[start : start + step] = shared_ranks(drawn[start : start + step])
    ordered = np.sort(ranks, axis=0)
    undefined = (ordered == 0).sum(axis=0)  # rank 0 sorts first
    defined = count - undefined
    columns = np.arange(models)

    def at(probability: float) -> NDArray[np.int64]:
        """The inverted distribution function: a rank that was seen."""
        if count == 0:
            return np.zeros(models, dtype=np.int64)
        place = np.ceil(probability * defined - 1e-9).astype(np.int64) - 1
        return ordered[np.clip(undefined + np.maximum(place, 0), 0, count - 1), columns]

    status = choose_status(
        point.shape,
        [
            ("undefined", absent),
            ("no_resamples", np.full(models, count == 0)),
            ("undefined_resamples", undefined > MAX_UNDEFINED * count),
        ],
    )
    reason = reasons_of(status)
    for k in np.flatnonzero((undefined > 0) & (status != "undefined")):
        left = " and left out" if status[k] == "ok" else ""
        reason[k] = f"undefined on {undefined[k]} of {count} resamples{left}"
    lost = status != "ok"
    first = (ranks == 1).sum(axis=0) / np.maximum(defined, 1)
    return Ranks(
        shared_ranks(point),
        np.where(lost, 0, at(tail)),
        np.where(lost, 0, at(1 - tail)),
        np.where(lost, np.nan, first),
        status,
        reason,
    )


def significance_groups(
    scores: ArrayLike, pairs: Sequence[tuple[int, int]], adjusted: ArrayLike, alpha: float = 0.05
) -> list[str]:
    """Compact letter display: models that share a letter are not told apart.

    Every pair that differs significantly has no letter in common and every other pair has one. "a" goes to
    the group with the best score.

    Args:
        scores: shape (M,); they only order the letters, and a model with NaN has none.
        pairs: positions of the models compared, length P.
        adjusted: p values adjusted for the number of pairs (`holm`), shape (P,); NaN and pairs not compared
            count as not told apart.
        alpha: family-wise error, 0..1.

    Returns:
        Letters per model, such as "ab"; beyond 52 groups numbers in brackets follow.

    Raises:
        ValueError: for a pair that names no model, or as many p values as there are not pairs.

    References:
        Piepho (2004), JCGS 13, 456-466 (insert and absorb).
    """
    x = np.asarray(scores, dtype=np.float64)
    p = np.asarray(adjusted, dtype=np.float64)
    ends = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    if p.shape != (ends.shape[0],):
        raise ValueError(f"adjusted must have shape ({ends.shape[0]},), one per pair, not {p.shape}")
    if ends.size and (ends.min() < 0 or ends.max() >= x.size):
        raise ValueError(f"pairs must name models 0 to {x.size - 1}")
    # A set of models is a whole number, one bit a model. No set holds another, so that only the halves of a set just
    # split can be held by one of the others.
    groups = {sum(1 << int(k) for k in np.flatnonzero(~np.isnan(x)))}
    for i, j in ends[p <= alpha].tolist():
        both = 1 << i | 1 << j
        whole = [group for group in groups if group & both == both]
        groups.difference_update(whole)
        halves = {group & ~(1 << k) for group in whole for k in (i, j)} - groups
        rest = groups | halves
        groups |= {half for half in halves if not any(half != g and half & g == half for g in rest)}
    order = shared_ranks(x)
    members = [[k for k in range(x.size) if group >> k & 1] for group in groups]
    members = sorted((ks for ks in members if ks), key=lambda ks: (sorted(int(order[k]) for k in ks), ks))
    names = [_LETTERS[g] if g < len(_LETTERS) else f"({g + 1})" for g in range(len(members))]
    return ["".join(name for name, ks in zip(names, members, strict=True) if k in ks) for k in range(x.size)]
