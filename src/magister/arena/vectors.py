"""Vectors of texts with their instruction ids, read by blocks."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.arena._grid import FloatArray, to_grid
from magister.errors import UserError

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Vectors:
    """Vectors of one model's responses, or of the instructions.

    Attributes:
        name: the model, or what else messages call them.
        values: shape (n, D), floating point; best a memory map (`numpy.load(path, mmap_mode="r")`). They need
            not be normalised: only directions count. NaN or length 0: no response.
        ids: instruction of each row, length n.
    """

    name: str
    values: NDArray[np.floating[Any]]
    ids: pa.StringArray

    def __post_init__(self) -> None:
        """Check shape and ids.

        Raises:
            UserError: for values that are no matrix of floats, ids of another number, null or repeated ids.
        """
        if self.values.ndim != 2 or self.values.dtype.kind != "f":
            raise UserError(
                f"vectors of {self.name!r}: shape {self.values.shape}, type {self.values.dtype}; expected a matrix of "
                "floating-point numbers, a row per instruction"
            )
        object.__setattr__(self, "ids", string_array(self.ids))
        if len(self.ids) != len(self.values):
            raise UserError(
                f"vectors of {self.name!r}: {len(self.values)} rows and {len(self.ids)} ids; expected as many"
            )
        check_unique(self.ids, f"vectors of {self.name!r}")

    @property
    def width(self) -> int:
        """D."""
        return int(self.values.shape[1])

    def positions(self, ids: pa.StringArray) -> Positions:
        """Rows of these instructions, int64, -1 where there is none."""
        if ids.equals(self.ids):
            return np.arange(len(ids), dtype=np.int64)
        found = pc.index_in(ids, self.ids)
        return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), dtype=np.int64)

    def read(self, at: Positions, out: FloatArray) -> FloatArray:
        """Move some rows to the grid of `_grid`.

        Args:
            at: rows, -1 for a vector that is not there.
            out: where they go, float64, shape (len(at), D); 0 where there is none.

        Returns:
            Their lengths on the grid, shape (len(at),); 0 where there is no vector.

        Raises:
            UserError: for an infinite component.
        """
        if at.size and at[0] >= 0 and bool((np.diff(at) == 1).all()):
            rows = self.values[at[0] : at[-1] + 1]
        else:
            rows = self.values[np.maximum(at, 0)]
        length, infinite = to_grid(rows, out)
        self._forget()
        absent = at < 0
        if (infinite & ~absent).any():
            row = int(at[np.flatnonzero(infinite & ~absent)[0]])
            raise UserError(
                f"vectors of {self.name!r}: row {row + 1}, instruction {self.ids[row].as_py()!r}, is infinite; embed "
                "it again, or store the vectors as float32"
            )
        if absent.any():
            out[absent] = 0.0
            length[absent] = 0.0
        return length

    def _forget(self) -> None:
        """Give back the pages of a file that were read: they stay in the system's cache, not in this process."""
        if isinstance(self.values, np.memmap) and self.values.mode == "r":
            pages = self.values.base
            if isinstance(pages, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                pages.madvise(mmap.MADV_DONTNEED)


def string_array(ids: Sequence[str] | pa.Array | pa.ChunkedArray) -> pa.StringArray:
    """Ids as one Arrow array of strings."""
    array = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    return pc.cast(array if isinstance(array, pa.Array) else pa.array(array, pa.string()), pa.string())


def check_unique(ids: pa.StringArray, what: str) -> None:
    """Refuse null and repeated ids.

    Raises:
        UserError: naming the first.
    """
    if ids.null_count:
        row = pc.index(pc.is_null(ids), True).as_py()
        raise UserError(f"{what}: row {row + 1} has no instruction id")
    if pc.count_distinct(ids).as_py() == len(ids):
        return
    counts = pc.value_counts(ids)
    twice = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    name = pc.min(twice).as_py()
    rows = np.flatnonzero(np.asarray(pc.equal(ids, name))) + 1
    raise UserError(
        f"{what}: {len(twice)} instruction id(s) stand more than once, first {name!r} in rows {rows[0]} and "
        f"{rows[1]}; expected each once"
    )
