"""Products and inverses of small dense matrices, in pieces that a BLAS does on one thread.

The threads of a BLAS wait in busy loops: on a machine with other work a 200 x 200 factorisation can take seconds in
place of a millisecond, and how a product is cut among threads may change its last bits. Pieces of at most
`_ONE_THREAD` multiplications are done by the calling thread alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# OpenBLAS cuts larger products among threads.
_ONE_THREAD = 2**18
_BLOCK = 48
#: Systems up to this size are solved in one call: LAPACK factors them on one thread.
SMALL = 64


def product(a: Floats, b: Floats) -> Floats:
    """a @ b, shapes (m, n) and (n, p)."""
    m, n = a.shape
    out = np.empty((m, b.shape[1]))
    rows = max(2, _ONE_THREAD // max(n * b.shape[1], 1))
    for begin in range(0, m, rows):
        part = a[begin : begin + rows]
        if part.shape[0] == 1:
            # A single row would be a matrix-vector product, which has another bound.
            out[begin] = (part[0][:, None] * b).sum(axis=0)
        else:
            np.matmul(part, b, out=out[begin : begin + rows])
    return out


def inverse(matrix: Floats) -> Floats:
    """Inverse of a symmetric positive definite matrix, shape (n, n), by sweeping its diagonal blocks."""
    a = matrix.copy()
    n = a.shape[0]
    for begin in range(0, n, _BLOCK):
        at = slice(begin, min(begin + _BLOCK, n))
        pivot: Floats = np.linalg.inv(a[at, at]).astype(np.float64)
        rest = np.r_[0 : at.start, at.stop : n]
        column = a[rest, at]
        scaled = product(column, pivot)
        a[np.ix_(rest, rest)] -= product(scaled, np.ascontiguousarray(column.T))
        a[rest, at] = scaled
        a[at, rest] = scaled.T
        a[at, at] = -pivot
    return -(a + a.T) / 2


def solve(matrix: Floats, right: Floats) -> Floats:
    """Solutions of B symmetric positive definite systems, shapes (B, n, n) and (B, n)."""
    if matrix.shape[1] <= SMALL:
        return np.linalg.solve(matrix, right[..., None])[..., 0].astype(np.float64)
    return np.stack([(inverse(a) * b).sum(axis=1) for a, b in zip(matrix, right, strict=True)])
