"""Statistics of weighted rows: on the data every weight is 1, on a resample a row weighs as often as its task is drawn.

Weights have shape (B, n); what comes back has shape (B,), NaN where undefined. Nothing is added up beforehand, so that
each formula stands as its definition has it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from magister.audit.recompute._ledger import Floats

Statistic = Callable[[Floats], Floats]
_ROUNDING = 1e-12


def sd(x: Floats) -> Statistic:
    """Standard deviation with n - 1."""

    def of(w: Floats) -> Floats:
        n = w.sum(axis=1)
        mean = _over(w @ x, n)
        spread = (w * (x[None, :] - mean[:, None]) ** 2).sum(axis=1)
        return np.asarray(np.sqrt(_over(spread, np.where(n > 1, n - 1, 0.0))))

    return of


def correlation(x: Floats, y: Floats) -> Statistic:
    """Pearson's r."""

    def of(w: Floats) -> Floats:
        n = w.sum(axis=1)
        u = x[None, :] - _over(w @ x, n)[:, None]
        v = y[None, :] - _over(w @ y, n)[:, None]
        uu, vv, uv = ((w * part).sum(axis=1) for part in (u * u, v * v, u * v))
        fine = (uu > _ROUNDING * np.maximum((w * x * x).sum(axis=1), 1e-300) * 1e-2) & (vv > 0)
        fine &= vv > _ROUNDING * np.maximum((w * y * y).sum(axis=1), 1e-300) * 1e-2
        return np.where(fine, np.clip(uv / np.sqrt(np.where(fine, uu * vv, 1.0)), -1, 1), np.nan)

    return of


def between(x: Floats, group: NDArray[np.int64], *, omega: bool) -> Statistic:
    """Eta squared, or omega squared: the share of variance between groups.

    References:
        Olejnik and Algina (2003), Psychological Methods 8, 434-447.
    """
    marks = (group[:, None] == np.unique(group)[None, :]).astype(np.float64)

    def of(w: Floats) -> Floats:
        sizes, n = w @ marks, w.sum(axis=1)
        means = _over(w @ (marks * x[:, None]), sizes)
        mean = _over(w @ x, n)
        inside = np.where(sizes > 0, sizes * (means - mean[:, None]) ** 2, 0.0).sum(axis=1)
        whole = (w * (x[None, :] - mean[:, None]) ** 2).sum(axis=1)
        present = (sizes > 0).sum(axis=1)
        varies = (whole > 1e-11 * np.maximum((w * x * x).sum(axis=1), 1e-300)) & (present > 1)
        if not omega:
            return np.where(varies, np.clip(_over(inside, whole), 0, 1), np.nan)
        rest = _over(whole - inside, np.where(n > present, n - present, 0.0))
        return np.where(varies, _over(inside - (present - 1) * rest, whole + rest), np.nan)

    return of


def pooled_sd(squares: Floats, freedom: Floats) -> Statistic:
    """Root of summed squares over summed degrees of freedom."""
    return lambda w: np.asarray(np.sqrt(_over(w @ squares, w @ freedom)))


def icc(ratings: Floats, *, average: bool) -> Statistic:
    """ICC(2,1) or ICC(2,k) of complete ratings (n, k), two-way random, absolute agreement, from mean squares.

    References:
        Shrout and Fleiss (1979), Psychological Bulletin 86, 420-428.
    """
    k = ratings.shape[1]
    scale = float(((ratings - ratings.mean()) ** 2).sum())

    def of(w: Floats) -> Floats:
        n = w.sum(axis=1)
        row = ratings.mean(axis=1)
        column = _over(w @ ratings, n[:, None] * np.ones(k))
        grand = column.mean(axis=1)
        rows = k * (w * (row[None, :] - grand[:, None]) ** 2).sum(axis=1)
        columns = n * ((column - grand[:, None]) ** 2).sum(axis=1)
        total = (w[:, :, None] * (ratings[None] - grand[:, None, None]) ** 2).sum(axis=(1, 2))
        ms_rows, ms_columns = _over(rows, n - 1), columns / (k - 1)
        ms_rest = _over(total - rows - columns, (n - 1) * (k - 1))
        if average:
            bottom = ms_rows + (ms_columns - ms_rest) / n
        else:
            bottom = ms_rows + (k - 1) * ms_rest + k * (ms_columns - ms_rest) / n
        fine = (n > 1) & (np.abs(bottom) > 1e-12 * scale / np.maximum(n, 1))
        return np.where(fine, (ms_rows - ms_rest) / np.where(fine, bottom, 1.0), np.nan)

    return of


def alpha(ratings: Floats, *, ordinal: bool) -> Statistic:
    """Krippendorff's alpha of ratings (n, raters), NaN where there is none, from its coincidences and distances.

    References:
        Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.
    """
    given = ~np.isnan(ratings)
    values = np.unique(ratings[given])
    marks = np.zeros((len(ratings), values.size))
    for column in range(ratings.shape[1]):
        there = given[:, column]
        np.add.at(marks, (np.flatnonzero(there), np.searchsorted(values, ratings[there, column])), 1.0)
    m = marks.sum(axis=1)
    usable = m > 1
    pairs = marks[:, :, None] * marks[:, None, :] - marks[:, :, None] * np.eye(values.size)
    pairs = np.where(usable[:, None, None], pairs / np.maximum(m - 1, 1)[:, None, None], 0.0)

    def of(w: Floats) -> Floats:
        seen = np.tensordot(w, pairs, axes=1)  # (B, V, V)
        size = seen.sum(axis=2)
        if ordinal:
            upto = np.cumsum(size, axis=1)
            middle = upto - size / 2
            distance = (middle[:, :, None] - middle[:, None, :]) ** 2
        else:
            distance = np.broadcast_to((values[:, None] - values[None, :]) ** 2, seen.shape)
        n = size.sum(axis=1)
        apart = (seen * distance).sum(axis=(1, 2))
        chance = (size[:, :, None] * size[:, None, :] * distance).sum(axis=(1, 2))
        several = (size > 1e-12).sum(axis=1) > 1
        return np.where(several, 1 - (n - 1) * _over(apart, chance), np.nan)

    return of


def _over(top: Floats, bottom: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.asarray(top, dtype=np.float64) / bottom
    return np.where(np.isfinite(found), found, np.nan)
