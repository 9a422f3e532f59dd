"""Selection by maximum discrepancy: instructions on which two models differ most, diverse among themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from magister.arena._candidates import Candidates
from magister.arena._full import full_picks
from magister.arena._grid import FloatArray
from magister.arena._lazy import lazy_picks
from magister.arena.effort import Effort
from magister.arena.vectors import Vectors, check_unique, string_array
from magister.errors import UserError

Penalty = Literal["max", "mean"]
Method = Literal["lazy", "full"]
_PAIRS_PER_PASS = 64


@dataclass(frozen=True)
class Picks:
    """What was picked for P pairs; for one pair given as a vector, the first axis is absent.

    Attributes:
        rows: row numbers of the picked instructions, int64, shape (P, k); -1 where fewer are eligible.
        similarity: M(f_i(x), f_j(x)), shape (P, k); NaN where nothing was picked.
        penalty: max or mean of cos(x, z) over the earlier picks, before `lam`; 0 for the first pick, which has none.
        objective: similarity + lam * penalty.
        eligible: instructions that could be picked, shape (P,).
        missing: instructions without a similarity, shape (P,).
        without_vector: instructions that are eligible for no pair because their own vector is absent.
    """

    rows: NDArray[np.int64]
    similarity: FloatArray
    penalty: FloatArray
    objective: FloatArray
    eligible: NDArray[np.int64]
    missing: NDArray[np.int64]
    without_vector: int


def select(
    similarity: ArrayLike,
    instruction_vectors: ArrayLike | Vectors,
    k: int,
    lam: float,
    *,
    penalty: Penalty = "max",
    ids: Sequence[str] | pa.StringArray | None = None,
    method: Method = "lazy",
    effort: Effort | None = None,
) -> Picks:
    """Pick k instructions for every pair of models, greedily.

    The k-th pick minimises M(f_i(x), f_j(x)) + lam * max over z in I of cos(x, z) over the instructions not
    picked yet; the first pick has no penalty. Of equal objectives the least instruction id wins, whatever the
    order of rows. Cosines are exact up to one rounding (`_grid`), so that both methods, any memory and any number
    of threads give the same bytes.

    Args:
        similarity: M, shape (P, N) or (N,), finite; NaN where a model did not answer: not eligible.
        instruction_vectors: shape (N, D), or `Vectors` with the ids of their rows. Only directions count. A vector of
            length 0 or with NaN makes its instruction ineligible.
        k: picks for each pair, 1 or more.
        lam: weight of the penalty, 0 or more.
        penalty: "max" or "mean" over earlier picks.
        ids: instruction of each column of `similarity`, length N: ties break by them (code points). By default
            those of `instruction_vectors`; row numbers where there are none.
        method: "lazy" computes penalties again for the best candidates only; "full" for all. A mean can fall
            with another pick, so that an old value bounds nothing: it is always computed in full.
        effort: memory and threads.

    Returns:
        The picks.

    Raises:
        UserError: for shapes that do not fit, repeated ids, infinite numbers, k below 1 or lam below 0.

    References:
        Feng et al. (2025), Sample-efficient human evaluation of large language models via maximum discrepancy
        competition, ACL (eq. of the k-th pick); Minoux (1978), Accelerated greedy algorithms (lazy evaluation).
    """
    given = np.asarray(similarity, dtype=np.float64)
    values = given[None, :] if given.ndim == 1 else given
    if values.ndim != 2:
        raise UserError(f"similarity has shape {given.shape}; expected (pairs, instructions)")
    _check(values, k, lam, penalty, method)
    vectors, columns = _aligned(instruction_vectors, values.shape[1], ids)
    order = np.asarray(pc.sort_indices(columns).to_numpy(), dtype=np.int64) if columns is not None else None
    at = np.arange(values.shape[1]) if columns is None else vectors.positions(columns)
    if order is not None and not np.array_equal(order, np.arange(order.size)):
        values, at = values[:, order], at[order]
    else:
        order = None
    effort = effort or Effort()
    lazy = (method, penalty) == ("lazy", "max")
    # Lazy evaluation reads all vectors once, and some rows for every pair.
    passes = len(values) / _PAIRS_PER_PASS if lazy else float(k - 1)
    pool = Candidates(vectors, np.asarray(at, dtype=np.int64), effort, passes)
    missing = np.isnan(values).sum(axis=1).astype(np.int64)
    if pool.absent.any():
        values = np.where(pool.absent, np.nan, values)
    pick = lazy_picks if lazy else full_picks
    rows, penalties = pick(values, pool, k, lam, penalty, effort)
    found = rows >= 0
    chosen = np.take_along_axis(values, np.maximum(rows, 0), axis=1) if values.size else np.zeros(rows.shape)
    taken = np.where(found, chosen, np.nan)
    objective = taken + lam * penalties
    if order is not None:
        rows = np.where(found, order[np.maximum(rows, 0)], -1)
    eligible = (~np.isnan(values)).sum(axis=1).astype(np.int64)
    if given.ndim == 1:
        rows, taken, penalties, objective = (part[0] for part in (rows, taken, penalties, objective))
        eligible, missing = eligible[0], missing[0]
    return Picks(rows, taken, penalties, objective, eligible, missing, int(pool.absent.sum()))


def _check(values: FloatArray, k: int, lam: float, penalty: str, method: str) -> None:
    if np.isinf(values).any():
        pair, column = np.argwhere(np.isinf(values))[0]
        raise UserError(
            f"similarity of pair {pair + 1}, instruction {column + 1}, is infinite; expected a number, or NaN for a "
            "response that is missing"
        )
    if k < 1:
        raise UserError(f"k is {k}; expected 1 or more picks for each pair")
    if not 0 <= lam < np.inf:
        raise UserError(f"lambda is {lam:g}; expected 0 or more")
    for name, value, known in (
        ("penalty", penalty, get_args(Penalty)),
        ("method", method, get_args(Method)),
    ):
        if value not in known:
            raise UserError(f"{name} is {value!r}; expected {' or '.join(known)}")


def _aligned(
    given: ArrayLike | Vectors, count: int, ids: Sequence[str] | pa.StringArray | None
) -> tuple[Vectors, pa.StringArray | None]:
    """Vectors, and the ids of the columns; None where rows are known by their number alone."""
    columns = None if ids is None else string_array(ids)
    if columns is not None:
        if len(columns) != count:
            raise UserError(f"{len(columns)} ids for {count} columns of similarity; expected as many")
        check_unique(columns, "ids")
    if isinstance(given, Vectors):
        if columns is None:
            if len(given.ids) != count:
                raise UserError(f"{len(given.ids)} instruction vectors for {count} columns; expected as many")
            columns = given.ids
        return given, columns
    values = np.asarray(given) if not isinstance(given, np.memmap) else given
    if values.dtype.kind in "iu":
        values = values.astype(np.float64)
    if values.ndim != 2 or values.shape[0] != count:
        raise UserError(
            f"instruction vectors have shape {values.shape}; expected ({count}, D), a row for each of the {count} "
            "columns of similarity"
        )
    numbered = pa.array(np.arange(count).astype(str)) if columns is None else columns
    return Vectors("the instructions", values, numbered), columns
