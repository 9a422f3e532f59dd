"""Vectors of the instructions that can be picked, and their cosines."""

from __future__ import annotations

import numpy as np

from magister.arena._grid import FloatArray, cosines
from magister.arena.effort import Effort, each
from magister.arena.vectors import Positions, Vectors

_BLOCK_BYTES = 16 * 2**20


class Candidates:
    """Instructions in the order of their ids.

    Attributes:
        count: N.
        absent: instructions without a vector, bool, shape (N,).
        length: lengths on the grid, shape (N,).
    """

    def __init__(self, vectors: Vectors, at: Positions, effort: Effort, passes: float = 2.0) -> None:
        """Read the lengths of all vectors.

        Args:
            vectors: of the instructions.
            at: row of each instruction, shape (N,), -1 for none.
            effort: memory and threads.
            passes: how often all vectors are needed, roughly. More than once, and they are kept where they fit into a
                quarter of the memory: to fill fresh memory takes longer than to read a file a second time.

        Raises:
            UserError: for an infinite component.
        """
        self.count = at.size
        self._vectors, self._at, self._effort = vectors, at, effort
        row = 8 * max(vectors.width, 1)
        self.step = max(1, min(_BLOCK_BYTES, effort.memory // 8 // effort.workers()) // row)
        held = passes > 1 and at.size * row <= effort.memory // 4
        self._rows = np.empty((at.size, vectors.width)) if held else None
        self.length = np.empty(at.size)

        def work(start: int) -> None:
            stop = min(start + self.step, self.count)
            out = np.empty((stop - start, vectors.width)) if self._rows is None else self._rows[start:stop]
            self.length[start:stop] = vectors.read(at[start:stop], out)

        each(work, self.starts(), effort)
        self.absent = self.length == 0

    def starts(self) -> range:
        """Where the blocks of instructions begin."""
        return range(0, self.count, self.step)

    def rows(self, picks: Positions) -> FloatArray:
        """Vectors on the grid, shape (n, D)."""
        if self._rows is not None:
            return self._rows[picks]
        out = np.empty((picks.size, self._vectors.width))
        self._vectors.read(self._at[picks], out)
        return out

    def block(self, start: int) -> FloatArray:
        """Vectors of a block on the grid."""
        stop = min(start + self.step, self.count)
        return self._rows[start:stop] if self._rows is not None else self.rows(np.arange(start, stop))

    def cosines(self, some: Positions, others: Positions, rows: FloatArray | None = None) -> FloatArray:
        """Cosines of instructions with others, shape (n, m).

        Args:
            some: n instructions.
            others: m instructions.
            rows: vectors of `others`, where they are at hand.
        """
        second = self.rows(others) if rows is None else rows
        return cosines(self.rows(some) @ second.T, self.length[some][:, None], self.length[others])
