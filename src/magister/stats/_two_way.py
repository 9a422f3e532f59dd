"""Statistics of cells that are crossed two ways: responses of models to items."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from magister.stats._estimate import Estimates, FloatArray, check_level, choose_status, reasons_of

# Below this share of the scale of the influences a sum of them is rounding, not variation.
_ROUNDING = 1e-12


def two_way_intervals(
    value: ArrayLike, influence: ArrayLike, first: ArrayLike, second: ArrayLike, level: float = 0.95
) -> Estimates:
    """Intervals of statistics of n cells for rows and columns that are both samples.

    The variance is V_first + V_second - V_cells, each the sum of squared sums of influences over its clusters times
    G / (G - 1), and never less than the larger of the first two. The interval uses Student's t with the degrees of
    freedom of the dimension with fewer clusters.

    Args:
        value: K statistics; NaN gives status "undefined".
        influence: n x K; what each cell adds to the statistic to first order; columns sum to 0 (for a mean,
            (x - mean) / n).
        first: label of each cell's row, n.
        second: label of each cell's column, n.
        level: confidence level, 0..1.

    Returns:
        Estimates of shape (K,): `n` cells, `n_clusters` of the dimension with fewer. Without an interval for one row
        or one column ("one_cluster") and for what does not vary ("all_equal").

    Raises:
        ValueError: the shapes do not fit.

    References:
        Cameron, Gelbach and Miller (2011), JBES 29, 238-249, eq. 2.4 and section 2.3.
    """
    check_level(level)
    point = np.atleast_1d(np.asarray(value, dtype=np.float64))
    change = np.asarray(influence, dtype=np.float64)
    rows, columns = np.asarray(first), np.asarray(second)
    if change.shape != (rows.size, point.size) or rows.shape != columns.shape or rows.ndim != 1:
        raise ValueError(
            f"influence must have shape (cells, statistics) = ({rows.size}, {point.size}), not {change.shape}"
        )
    n = rows.size
    (by_row, n_rows), (by_column, n_columns) = (_variance(change, labels) for labels in (rows, columns))
    by_cell = np.sum(change**2, axis=0) * n / max(n - 1, 1)
    variance = np.maximum(by_row + by_column - by_cell, np.maximum(by_row, by_column))
    few = min(n_rows, n_columns)
    scale = np.abs(change).sum(axis=0)
    status = choose_status(
        point.shape,
        [
            ("no_data", np.full(point.shape, n == 0)),
            ("undefined", np.isnan(point)),
            ("one_cluster", np.full(point.shape, few < 2)),
            ("all_equal", np.sqrt(variance) <= _ROUNDING * np.maximum(scale, np.abs(point))),
        ],
    )
    se = np.where(status == "ok", np.sqrt(variance), np.nan)
    half = float(special.stdtrit(max(few - 1, 1), 0.5 + level / 2)) * se
    return Estimates(
        np.where(status == "no_data", np.nan, point),
        point - half,
        point + half,
        se,
        np.full(point.shape, n),
        np.full(point.shape, few),
        status,
        reasons_of(status),
    )


def _variance(change: FloatArray, labels: NDArray[np.generic]) -> tuple[FloatArray, int]:
    """One-way cluster-robust variance of every column, and the number of clusters."""
    if not labels.size:
        return np.zeros(change.shape[1]), 0
    _, code = np.unique(labels, return_inverse=True)
    groups = int(code.max()) + 1
    sums = np.stack(
        [np.bincount(code, weights=change[:, k], minlength=groups) for k in range(change.shape[1])], axis=1
    )
    return np.sum(sums**2, axis=0) * groups / max(groups - 1, 1), groups
