"""The stratified cluster bootstrap: weights drawn once, estimates as `W @ sums`.

A resample of clusters is a vector of multinomial counts. A statistic that depends on the data through cluster
sums (a mean, a ratio, a product of ratios) needs nothing else, so B resamples of K sums are one matrix
product and no loop over resamples. The same weights serve every model: the estimates are paired.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from magister.stats._estimate import (
    Estimates,
    FloatArray,
    check_level,
    choose_status,
    reasons_of,
)

#: Resamples drawn from one stream. Part of the definition of the weights: changing it changes every interval.
BLOCK = 128
#: Weights are kept between calls up to this many bytes and drawn again beyond it; the numbers are the same.
KEEP_BYTES = 512 * 2**20
# Weights of one product, as floats.
_PRODUCT_BYTES = 16 * 2**20
#: More undefined resamples than this share and there is no interval.
MAX_UNDEFINED = 0.05

Statistic = Callable[[FloatArray], FloatArray]
Counts = NDArray[np.unsignedinteger[Any]]
Method = Literal["percentile", "bca"]


class BootstrapWeights:
    """Multinomial counts of clusters within strata, W of shape (resamples, clusters).

    The draws of a stratum depend on the seed, the stratum's label and its number of clusters only: another
    stratum, more resamples or another block size in memory leave them as they are.
    """

    def __init__(
        self, strata: Sequence[str], *, resamples: int, seed: int, keep_bytes: int = KEEP_BYTES
    ) -> None:
        """See `bootstrap_weights`."""
        if resamples < 0:
            raise ValueError(f"resamples must be 0 or more, not {resamples}")
        if seed < 0:
            raise ValueError(f"seed must be 0 or more, not {seed}")
        labels, code = np.unique(np.asarray(strata, dtype=str), return_inverse=True)
        self.resamples = resamples
        self.seed = seed
        self.n_clusters = code.size
        self.stratum = code.astype(np.int64)
        self.sizes = np.bincount(code, minlength=labels.size)
        self._words = [_words(label) for label in labels.tolist()]
        self._members = [np.flatnonzero(code == h) for h in range(labels.size)]
        self._position = np.zeros(code.size, dtype=np.int64)
        for members in self._members:
            self._position[members] = np.arange(members.size)
        self._keep = resamples * code.size * 2 <= keep_bytes
        self._kept: dict[tuple[int, int], Counts] = {}

    def matrix(self) -> NDArray[np.uint32]:
        """W itself, shape (resamples, clusters). For small cases and checks; `totals` never builds it."""
        out = np.zeros((self.resamples, self.n_clusters), dtype=np.uint32)
        for h, members in enumerate(self._members):
            for start in range(0, self.resamples, BLOCK):
                out[start : start + BLOCK, members] = self._block(h, start // BLOCK)
        return out

    def totals(self, sums: ArrayLike, clusters: NDArray[np.integer] | None = None) -> FloatArray:
        """`W[:, clusters] @ sums`, some blocks of resamples at a time.

        Sums that are whole numbers (counts) give exact totals: every partial sum is a whole number that the
        float type holds exactly, so neither the order of additions nor the number of threads can change a
        bit. Other sums carry the rounding of the BLAS in use.

        Args:
            sums: sums per cluster, shape (c, K).
            clusters: positions of the rows of `sums` among the clusters, shape (c,); all clusters by default.

        Returns:
            Totals, shape (resamples, K), laid out so that each column is contiguous.
        """
        x = np.asarray(sums)
        where = np.arange(self.n_clusters) if clusters is None else np.asarray(clusters)
        if x.ndim != 2 or x.shape[0] != where.size:
            raise ValueError(f"sums must have shape ({where.size}, K), not {x.shape}")
        out = np.empty((x.shape[1], self.resamples), dtype=np.float64)
        if not where.size:
            out[:] = 0.0
            return out.T
        rows = x.T
        if (np.diff(self.stratum[where]) < 0).any():
            # A stable sort by stratum lines the rows up with the blocks below.
            order = np.argsort(self.stratum[where], kind="stable")
            where, rows = where[order], rows[:, order]
        rows = np.ascontiguousarray(rows, dtype=_exact_type(x, self.n_clusters))
        strata, first = np.unique(self.stratum[where], return_index=True)
        ends = [*first[1:].tolist(), where.size]
        spans = [
            (h, begin, end, self._position[where[begin:end]])
            for h, begin, end in zip(strata.tolist(), first.tolist(), ends, strict=True)
        ]
        # Few large products: threads of a BLAS cost more than a small product on a busy machine.
        step = BLOCK * max(1, _PRODUCT_BYTES // (BLOCK * where.size * rows.dtype.itemsize))
        for start in range(0, self.resamples, step):
            stop = min(start + step, self.resamples)
            drawn = np.empty((stop - start, where.size), dtype=rows.dtype)
            for begin in range(start, stop, BLOCK):
                part = drawn[begin - start : begin - start + BLOCK]
                for h, left, right, position in spans:
                    part[:, left:right] = np.take(self._block(h, begin // BLOCK), position, axis=1)
            out[:, start:stop] = rows @ drawn.T
        return out.T

    def _block(self, h: int, block: int) -> Counts:
        kept = self._kept.get((h, block))
        if kept is not None:
            return kept
        size = int(self.sizes[h])
        count = min(BLOCK, self.resamples - block * BLOCK)
        stream = np.random.Generator(
            np.random.PCG64(np.random.SeedSequence([self.seed, block, *self._words[h]]))
        )
        # Multinomial counts by counting uniform draws: far faster than binomials in sequence when every
        # cluster has the same probability.
        draws = stream.integers(0, size, size=(count, size))
        draws += np.arange(count)[:, None] * size
        counts = np.bincount(draws.ravel(), minlength=count * size).reshape(count, size)
        # Counts above 255 take a stratum of hundreds of clusters and a miracle, but must not wrap around.
        weights: Counts = counts.astype(np.uint8 if counts.max() < 2**8 else np.uint32)
        if self._keep:
            self._kept[h, block] = weights
        return weights


def bootstrap_weights(strata: Sequence[str], *, resamples: int, seed: int) -> BootstrapWeights:
    """Draw clusters with replacement within strata, as many as the stratum has.

    Args:
        strata: the stratum of each cluster, length C. The caller fixes the order of the clusters (sort
            them), since the weights belong to positions.
        resamples: B.
        seed: whole number; part of every result that depends on it.

    Returns:
        The weights. Use one set for all models, so that their estimates are paired.

    References:
        Davison and Hinkley (1997), Bootstrap Methods and their Application, sections 2.4 and 3.8.
    """
    return BootstrapWeights(strata, resamples=resamples, seed=seed)


def percentile_intervals(value: ArrayLike, replicates: FloatArray, level: float = 0.95) -> Estimates:
    """Percentile intervals from replicates.

    Args:
        value: estimates on the data themselves, shape (K,); NaN gives status "undefined".
        replicates: the statistics on the resamples, shape (B, K); NaN marks an undefined resample. Up to
            `MAX_UNDEFINED` of them are left out, which the reason says; more and there is no interval.
        level: confidence level, 0..1.

    Returns:
        Estimates of shape (K,); `n` and `n_clusters` are 0 here: the caller knows them.
    """
    tail = (1 - check_level(level)) / 2
    point = np.atleast_1d(np.asarray(value, dtype=np.float64))
    by_column = _ordered(_columns(replicates, point), tail)
    return _from_sorted(point, by_column, np.full(point.shape, tail), np.full(point.shape, 1 - tail))


def bca_intervals(
    value: ArrayLike,
    replicates: FloatArray,
    left_out: FloatArray,
    strata: Sequence[str] | None = None,
    level: float = 0.95,
) -> Estimates:
    """Bias-corrected and accelerated intervals.

    Args:
        value: estimates on the data, shape (K,).
        replicates: shape (B, K).
        left_out: the statistics without cluster c, shape (C, K).
        strata: stratum of each cluster, length C; one stratum by default.
        level: confidence level, 0..1.

    Returns:
        Estimates of shape (K,). A statistic whose jackknife or bias correction is undefined has status
        "undefined_resamples".

    References:
        Efron (1987), JASA 82, 171-185; for several strata Davison and Hinkley (1997), eq. 5.26 with jackknife
        influence values.
    """
    tail = (1 - check_level(level)) / 2
    point = np.atleast_1d(np.asarray(value, dtype=np.float64))
    by_column = np.sort(_columns(replicates, point), axis=1)  # NaN sorts last
    defined = np.maximum((~np.isnan(by_column)).sum(axis=1), 1)
    below = (by_column < point[:, None]).sum(axis=1) + (by_column == point[:, None]).sum(axis=1) / 2
    bias = special.ndtri(below / defined)

    out = np.asarray(left_out, dtype=np.float64).reshape(-1, point.size)
    codes = (
        np.zeros(out.shape[0], int)
        if strata is None
        else np.unique(np.asarray(strata), return_inverse=True)[1]
    )
    cubes, squares = np.zeros(point.size), np.zeros(point.size)
    for h in range(int(codes.max(initial=-1)) + 1):
        part = out[codes == h]
        size = part.shape[0]
        influence = (size - 1) * (part.mean(axis=0) - part)
        cubes += np.sum(influence**3, axis=0) / size**3
        squares += np.sum(influence**2, axis=0) / size**2
    with np.errstate(invalid="ignore", divide="ignore"):
        acceleration = cubes / (6 * squares**1.5)
        ends = []
        for z in (special.ndtri(tail), special.ndtri(1 - tail)):
            shifted = bias + z
            ends.append(special.ndtr(bias + shifted / (1 - acceleration * shifted)))
    found = _from_sorted(point, by_column, ends[0], ends[1])
    lost = (found.status == "ok") & ~(np.isfinite(ends[0]) & np.isfinite(ends[1]))
    found.status[lost] = "undefined_resamples"
    found.reason[lost] = "the bias correction or the acceleration is undefined"
    for column in (found.ci_low, found.ci_high, found.se):
        column[lost] = np.nan
    return found


def statistic_intervals(
    sums: ArrayLike,
    statistic: Statistic,
    weights: BootstrapWeights,
    *,
    level: float = 0.95,
    method: Method = "percentile",
) -> Estimates:
    """Intervals of any statistic of cluster sums.

    Args:
        sums: sums per cluster, shape (C, F), rows in the order of the clusters of `weights`.
        statistic: maps totals (..., F) to statistics (..., K), vectorised; NaN where undefined.
        weights: the resamples.
        level: confidence level, 0..1.
        method: "percentile" or "bca" (the jackknife leaves out a cluster at a time).

    Returns:
        Estimates of shape (K,) with `n_clusters` = C.
    """
    check_level(level)
    x = np.asarray(sums, dtype=np.float64)
    total = x.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        point = np.atleast_1d(statistic(total[None, :])[0])
        replicates = statistic(weights.totals(x))
        if method == "bca":
            strata = weights.stratum.astype(str).tolist()
            found = bca_intervals(point, replicates, statistic(total - x), strata, level)
        else:
            found = percentile_intervals(point, replicates, level)
    return _with_clusters(found, weights)


def ratio_intervals(
    numerators: ArrayLike,
    denominators: ArrayLike,
    weights: BootstrapWeights,
    *,
    level: float = 0.95,
    method: Method = "percentile",
) -> Estimates:
    """Intervals of ratios of sums, sum_c numerator / sum_c denominator.

    Args:
        numerators: sums per cluster, shape (C,) or (C, K).
        denominators: sums per cluster, of the same shape (a mean: the counts).
        weights: the resamples.
        level: confidence level, 0..1.
        method: "percentile" or "bca".

    Returns:
        Estimates of shape (K,); a denominator of 0 gives status "undefined", never a ratio of 0.
    """
    top, bottom = np.asarray(numerators, dtype=np.float64), np.asarray(denominators, dtype=np.float64)
    if top.shape != bottom.shape or top.ndim not in (1, 2):
        raise ValueError(
            f"numerators and denominators must have one shape, (C,) or (C, K): {top.shape}, {bottom.shape}"
        )
    if top.ndim == 1:
        top, bottom = top[:, None], bottom[:, None]
    columns = top.shape[1]

    def ratio(totals: FloatArray) -> FloatArray:
        below = totals[..., columns:]
        return np.where(below == 0, np.nan, totals[..., :columns] / np.where(below == 0, 1.0, below))

    return statistic_intervals(np.hstack([top, bottom]), ratio, weights, level=level, method=method)


def _with_clusters(found: Estimates, weights: BootstrapWeights) -> Estimates:
    """Fill in the number of clusters and what follows from there being too few."""
    found.n_clusters[:] = weights.n_clusters
    found.n[:] = weights.n_clusters
    few = not (weights.sizes > 1).any()
    lost = (found.status == "ok") | (found.status == "all_equal") | (found.status == "no_resamples")
    if weights.n_clusters == 0:
        found.status[:] = "no_data"
        found.value[:] = np.nan
    elif few:
        found.status[lost] = "one_cluster"
    if few:
        for column in (found.ci_low, found.ci_high, found.se):
            column[:] = np.nan
        found.reason[:] = reasons_of(found.status)
    return found


def _columns(replicates: FloatArray, point: FloatArray) -> FloatArray:
    array = np.asarray(replicates, dtype=np.float64)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] != point.size:
        raise ValueError(f"replicates must have shape (B, {point.size}), not {array.shape}")
    return np.ascontiguousarray(array.T)


def _ordered(columns: FloatArray, tail: float) -> FloatArray:
    """Rows with the ends and the order statistics around both tails in their sorted place, NaN last.

    A partition takes a third of the time of a sort. Rows with NaN, whose tails lie elsewhere, are sorted.
    """
    count = columns.shape[1]
    if count == 0:
        return columns
    wanted = {0, count - 1}
    for probability in (tail, 1 - tail):
        floor = int(np.floor(probability * (count - 1)))
        wanted |= {floor, min(floor + 1, count - 1)}
    ordered = np.partition(columns, sorted(wanted), axis=1)
    broken = np.isnan(ordered[:, -1])
    ordered[broken] = np.sort(columns[broken], axis=1)
    return ordered


def _from_sorted(point: FloatArray, by_column: FloatArray, lower: FloatArray, upper: FloatArray) -> Estimates:
    """Estimates from replicates ordered within each column, shape (K, B), at two probabilities per column."""
    count = by_column.shape[1]
    missing = np.isnan(by_column)
    undefined = missing.sum(axis=1)
    defined = count - undefined
    low = _quantile(by_column, defined, lower)
    high = _quantile(by_column, defined, upper)
    filled = np.where(missing, 0.0, by_column)
    some = np.maximum(defined, 1)
    mean = filled.sum(axis=1) / some
    deviation = np.where(missing, 0.0, filled - mean[:, None])
    se = np.sqrt(np.sum(deviation * deviation, axis=1) / np.maximum(defined - 1, 1))
    spread = _quantile(by_column, defined, np.ones(point.shape)) - _quantile(
        by_column, defined, np.zeros(point.shape)
    )
    scale = np.maximum(np.abs(point), 1.0)
    status = choose_status(
        point.shape,
        [
            ("undefined", np.isnan(point)),
            ("no_resamples", np.full(point.shape, count == 0)),
            ("undefined_resamples", undefined > MAX_UNDEFINED * count),
            # Rounding of equal replicates must not pass for variation.
            ("all_equal", spread <= 1e-13 * scale),
        ],
    )
    reason = reasons_of(status)
    for k in np.flatnonzero((undefined > 0) & ((status == "ok") | (status == "undefined_resamples"))):
        tail = " and left out" if status[k] == "ok" else ""
        reason[k] = f"undefined on {undefined[k]} of {count} resamples{tail}"
    absent = status != "ok"
    low, high, se = (np.where(absent, np.nan, column) for column in (low, high, se))
    zeros = np.zeros(point.shape, dtype=np.int64)
    return Estimates(point, low, high, se, zeros, zeros.copy(), status, reason)


def _quantile(by_column: FloatArray, defined: NDArray[np.integer], probability: FloatArray) -> FloatArray:
    """Linear interpolation of order statistics (numpy's default) among the defined part of sorted rows."""
    if by_column.shape[1] == 0:
        return np.full(defined.shape, np.nan)
    last = np.maximum(defined - 1, 0)
    position = np.where(np.isfinite(probability), probability, 0.0) * last
    floor = np.floor(position).astype(np.int64)
    rows = np.arange(by_column.shape[0])
    below, above = by_column[rows, floor], by_column[rows, np.minimum(floor + 1, last)]
    return below + (above - below) * (position - floor)


def _exact_type(sums: NDArray[np.generic], clusters: int) -> type[np.float32] | type[np.float64]:
    """The narrower float that still holds every partial sum exactly; float64 when the sums are not whole."""
    if sums.size == 0 or not (np.issubdtype(sums.dtype, np.integer) or bool(np.all(sums == np.floor(sums)))):
        return np.float64
    return np.float32 if float(np.abs(sums).max()) * clusters < 2**24 else np.float64


def _words(label: str) -> list[int]:
    digest = hashlib.sha256(label.encode()).digest()
    return [int.from_bytes(digest[i : i + 4], "big") for i in range(0, 16, 4)]
