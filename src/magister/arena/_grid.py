"""Cosines that are the same bytes whatever the order of additions.

Each vector is moved to a grid: scaled by a power of two so that its length is about 2^25, and rounded to whole
numbers. By Cauchy and Schwarz every partial sum of a dot product is then below 2^53 and is a whole number that
float64 holds exactly: blocks, threads, fused multiply-adds and the kernels of a BLAS cannot change a bit. A
normalised float16 vector lies on the grid as it is; of others a component moves by at most 2^-26 of the
vector's length, and a cosine by about 1e-8.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Rows = NDArray[np.floating[Any]]
#: Binary digits of a vector's length on the grid.
BITS = 25


def to_grid(rows: Rows, out: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Move vectors to the grid.

    Args:
        rows: n vectors, shape (n, D), floats of any width. The grid serves vectors of 2^26 components at most.
        out: where the whole numbers go, float64, shape (n, D). A vector with NaN, and one of length 0, is 0.

    Returns:
        Lengths on the grid, float64, shape (n,), 0 where a vector has no direction; and which vectors hold an
        infinite component, bool, shape (n,) (they are 0 too).
    """
    half = rows.dtype == np.float16
    with np.errstate(over="ignore", invalid="ignore"):
        if half:
            np.take(_halves(), rows.view(np.uint16), out=out, mode="clip")
        else:
            np.multiply(rows, 2.0**BITS, out=out, casting="same_kind")
        square = np.einsum("nd,nd->n", out, out)
    infinite = np.zeros(square.shape, dtype=bool)
    odd = np.flatnonzero(~((square > 1e-280) & (square < 1e280)))
    if odd.size:
        part = np.asarray(rows[odd], dtype=np.float64)
        infinite[odd] = np.isinf(part).any(axis=1)
        part[~np.isfinite(part).all(axis=1)] = 0.0
        # Squares would overflow or vanish: bring the largest component near 2^25 first.
        out[odd] = np.ldexp(part, BITS - np.frexp(np.abs(part).max(axis=1, initial=0.0))[1][:, None])
        square[odd] = np.einsum("nd,nd->n", out[odd], out[odd])
    # The edges of the scale lie at 3/4 of a power of two: no normalised vector is near one.
    exponent = np.frexp(np.sqrt(square) * (4 / 3))[1] - 1 - BITS
    exponent[square == 0] = 0
    if exponent.any():
        out *= np.ldexp(1.0, -exponent)[:, None]
    elif half:
        return np.sqrt(square), infinite  # whole numbers already
    np.rint(out, out=out)
    return np.sqrt(np.einsum("nd,nd->n", out, out)), infinite


@cache
def _halves() -> FloatArray:
    """Every float16 by its bits, times 2^25: whole numbers up to 2^41, float64. Faster than a cast."""
    bits = np.arange(2**16, dtype=np.uint16).view(np.float16)
    with np.errstate(invalid="ignore"):  # some bits are no number
        return bits.astype(np.float64) * 2.0**BITS


def cosines(dots: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Cosines from dot products on the grid.

    Args:
        dots: exact dot products, any shape; changed in place.
        first: lengths, of a shape that broadcasts; 0 for no direction.
        second: lengths.

    Returns:
        `dots` / (first * second), within -1..1; NaN where a vector has no direction.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        np.divide(dots, first * second, out=dots)
    np.clip(dots, -1.0, 1.0, out=dots)
    dots += 0.0  # a zero has one sign
    return dots
