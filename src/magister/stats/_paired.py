"""Comparisons of pairs of models on the same clusters, and p values held to account for their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from magister.stats._bootstrap import percentile_intervals
from magister.stats._estimate import Estimates, FloatArray, choose_status, reasons_of

#: Up to so many clusters all sign patterns are enumerated (2^13 = 8,192) unless more flips are asked for.
EXACT_CLUSTERS = 13
# Signs of one product, as floats.
_PRODUCT_BYTES = 16 * 2**20
# Sums closer than this share of their largest possible value are equal but for rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class PairTests:
    """Tests of P pairs. NaN stands for "absent" and `status` says why.

    Attributes:
        statistic: what was tested, shape (P,): a sum of differences, or the excess of one model's wins.
        p: two-sided p values, float64.
        n: clusters (or items) that differ, int64; the others tell nothing.
        exact: whether all outcomes under the null were counted, bool.
        status: object array: "ok", "all_equal" (p is 1), "no_data", "missing_values", "one_cluster".
        reason: object array of sentences.
    """

    statistic: FloatArray
    p: FloatArray
    n: NDArray[np.int64]
    exact: NDArray[np.bool_]
    status: NDArray[np.object_]
    reason: NDArray[np.object_]


def paired_differences(
    value: ArrayLike, replicates: FloatArray, pairs: Sequence[tuple[int, int]], level: float = 0.95
) -> Estimates:
    """Intervals of first - second from replicates that share their resamples.

    Args:
        value: statistics of the models, shape (M,).
        replicates: shape (B, M), one set of weights for all models.
        pairs: positions among the models, length P.
        level: nominal confidence level, 0..1; `expanded_level` allows for few clusters.

    Returns:
        Estimates of shape (P,); `n` and `n_clusters` are 0: the caller knows them.
    """
    first, second = np.asarray(pairs, dtype=np.int64).reshape(-1, 2).T
    point = np.asarray(value, dtype=np.float64)
    return percentile_intervals(
        point[first] - point[second], replicates[:, first] - replicates[:, second], level
    )


def sign_flip(
    differences: ArrayLike, *, flips: int, seed: int, pairs: Sequence[tuple[int, int]] | None = None
) -> PairTests:
    """Permutation test that models of a pair are exchangeable within every cluster.

    Under the null each cluster's difference is as likely to have the other sign. The statistic is the
    absolute sum over clusters. With few clusters all sign patterns count; otherwise
    p = (1 + number of flips as extreme) / (1 + flips), which is never 0.

    Args:
        differences: per cluster, first - second of each pair, shape (C,) or (C, P): differences of sums, or
            contributions to a difference (`CrossedSample.contributions`). With `pairs`: the same of each
            model, shape (C, M), of which differences are taken: far faster for all pairs of many models.
        flips: random sign patterns; all pairs share them. 1 or more.
        seed: whole number, 0 or more.
        pairs: positions among the M models, length P.

    Returns:
        Tests of P pairs. "one_cluster" and "no_data" have no p; clusters that all agree have p = 1.

    Raises:
        ValueError: for fewer than one flip or an array of another shape.

    References:
        Fisher (1935), The Design of Experiments, section 21; Phipson and Smyth (2010), Statistical
        Applications in Genetics and Molecular Biology 9, article 39 (the 1 + in p).
    """
    d = np.asarray(differences, dtype=np.float64)
    d = d[:, None] if d.ndim == 1 else d
    if d.ndim != 2:
        raise ValueError(f"differences must have shape (C,) or (C, P), not {d.shape}")
    if flips < 1:
        raise ValueError(f"flips must be 1 or more, not {flips}")
    clusters = d.shape[0]
    # Flips are linear: those of the models give those of every pair.
    flipped = np.nan_to_num(d, nan=0.0)
    size_of = np.abs(flipped).sum(axis=0)
    if pairs is not None:
        first, second = np.asarray(pairs, dtype=np.int64).reshape(-1, 2).T
        d, size_of = d[:, first] - d[:, second], size_of[first] + size_of[second]
    count_pairs = d.shape[1]
    total = d.sum(axis=0)
    missing = np.asarray(np.isnan(d).any(axis=0))
    used = np.where(missing, 0.0, d)
    edge = np.abs(used.sum(axis=0)) - _ROUNDING * size_of
    exact = clusters <= EXACT_CLUSTERS or 2**clusters <= flips
    count = 2**clusters if exact else flips
    step = max(1, _PRODUCT_BYTES // (8 * max(clusters, 1)))
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 0x464C])))
    extreme = np.zeros(count_pairs, dtype=np.int64)
    for start in range(0, count, step):
        size = min(step, count - start)
        if exact:
            pattern = np.arange(start, start + size)[:, None] >> np.arange(clusters)
            bits = (pattern & 1).astype(np.uint8)
        else:
            # Whole bytes drawn at once: the signs do not depend on the size of the pieces.
            raw = rng.bytes(size * ((clusters + 7) // 8))
            octets = np.frombuffer(raw, dtype=np.uint8).reshape(size, -1)
            bits = np.unpackbits(octets, axis=1, count=clusters)
        signs = bits.astype(np.float64) * 2 - 1
        moved = signs @ flipped
        if pairs is not None:
            moved = moved[:, first] - moved[:, second]
        extreme += (np.abs(moved) >= edge).sum(axis=0)
    p = extreme / count if exact else (1 + extreme) / (1 + count)
    status = choose_status(
        (count_pairs,),
        [
            ("no_data", np.full(count_pairs, clusters == 0)),
            ("missing_values", missing),
            ("one_cluster", np.full(count_pairs, clusters == 1)),
            ("all_equal", ~(used != 0).any(axis=0)),
        ],
    )
    reason = reasons_of(status)
    reason[status == "all_equal"] = "the models agree in every cluster"
    absent = (status != "ok") & (status != "all_equal")
    return PairTests(
        np.where((status == "no_data") | missing, np.nan, total),
        np.where(absent, np.nan, p),
        (used != 0).sum(axis=0).astype(np.int64),
        np.full(count_pairs, exact),
        status,
        reason,
    )


def mcnemar(first: ArrayLike, second: ArrayLike) -> PairTests:
    """Exact McNemar test of right (1) and wrong (0) answers to the same unclustered items.

    Of the items on which the models differ, each side wins half under the null:
    p = min(1, 2 P(Binomial(b + c, 1/2) <= min(b, c))).

    Args:
        first: 0, 1 or NaN (item left out of that pair), shape (n,) or (n, P).
        second: of the same shape.

    Returns:
        Tests of P pairs; `statistic` is b - c, items that only the first has right less the others.

    Raises:
        ValueError: for shapes that differ or scores other than 0 and 1.

    References:
        McNemar (1947), Psychometrika 12, 153-157 (here exact).
    """
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if x.shape != y.shape or x.ndim not in (1, 2):
        raise ValueError(f"first and second must have one shape, (n,) or (n, P): {x.shape}, {y.shape}")
    x, y = (side[:, None] if side.ndim == 1 else side for side in (x, y))
    both = ~(np.isnan(x) | np.isnan(y))
    if not np.isin(x[both], (0.0, 1.0)).all() or not np.isin(y[both], (0.0, 1.0)).all():
        raise ValueError("McNemar's test takes scores 0 and 1; use sign_flip for others")
    only_first = (both & (x > y)).sum(axis=0)
    only_second = (both & (x < y)).sum(axis=0)
    differ = only_first + only_second
    tail = special.bdtr(np.minimum(only_first, only_second), differ, 0.5)
    none = np.asarray(~both.any(axis=0))
    status = choose_status(differ.shape, [("no_data", none), ("all_equal", differ == 0)])
    reason = reasons_of(status)
    reason[status == "all_equal"] = "the models agree on every item"
    return PairTests(
        np.where(none, np.nan, only_first - only_second),
        np.where(none, np.nan, np.where(differ == 0, 1.0, np.minimum(1.0, 2 * tail))),
        differ.astype(np.int64),
        np.ones(differ.shape, dtype=bool),
        status,
        reason,
    )


def holm(p: ArrayLike) -> FloatArray:
    """Holm's adjusted p values: the family-wise error stays at alpha whatever the dependence.

    Args:
        p: p values of the pairs shown, shape (P,); NaN (no test) is not counted and stays NaN.

    Returns:
        Adjusted p values, shape (P,), 1 at most.

    Raises:
        ValueError: for values outside 0..1.

    References:
        Holm (1979), Scandinavian Journal of Statistics 6, 65-70.
    """
    raw = np.asarray(p, dtype=np.float64)
    if raw.ndim != 1 or ((raw < 0) | (raw > 1)).any():
        raise ValueError("p must be one-dimensional, with values from 0 to 1")
    order = np.argsort(raw, kind="stable")  # NaN sorts last
    counted = int((~np.isnan(raw)).sum())
    out = np.full(raw.shape, np.nan)
    steps = raw[order[:counted]] * np.arange(counted, 0, -1)
    out[order[:counted]] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return out
