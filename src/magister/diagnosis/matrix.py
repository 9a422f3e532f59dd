"""Responses of models to items as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from magister.errors import UserError

MISSING = -1
"""Of a response that is not there."""


@dataclass(frozen=True)
class ResponseMatrix:
    """Responses of N models to J items.

    Attributes:
        models: their names, N.
        items: their ids, J.
        correct: int8, N x J: 1 right, 0 wrong, -1 missing.
    """

    models: tuple[str, ...]
    items: tuple[str, ...]
    correct: NDArray[np.int8]

    def __post_init__(self) -> None:
        if self.correct.shape != (len(self.models), len(self.items)):
            raise ValueError(
                f"responses of shape {self.correct.shape} for {len(self.models)} models and {len(self.items)} items"
            )

    @property
    def answered(self) -> NDArray[np.bool_]:
        """N x J: which responses are there."""
        return self.correct != MISSING

    def masked(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> ResponseMatrix:
        """The same responses with some cells missing."""
        correct = self.correct.copy()
        correct[rows, columns] = MISSING
        return ResponseMatrix(self.models, self.items, correct)


def response_matrix(responses: ResponseMatrix | pd.DataFrame | NDArray[Any]) -> ResponseMatrix:
    """Check responses and put them in their form.

    Args:
        responses: a matrix as is; a frame of models (index) x items (columns) of 1, 0 and missing (NaN, None); or an
            array likewise, whose models and items are numbered from 1.

    Returns:
        The matrix.

    Raises:
        UserError: a response is none of 0, 1 and missing, a name stands twice, or a model or an item has no response.
    """
    if not isinstance(responses, ResponseMatrix):
        frame = responses if isinstance(responses, pd.DataFrame) else _numbered(np.asarray(responses))
        responses = _from_frame(frame)
    _unique(responses.models, "model")
    _unique(responses.items, "item")
    answered = responses.answered
    for names, there, what in (
        (responses.models, answered.any(axis=1), "model"),
        (responses.items, answered.any(axis=0), "item"),
    ):
        if not there.all():
            name = names[int(np.flatnonzero(~there)[0])]
            raise UserError(
                f"the {what} {name!r} has no response ({int((~there).sum())} such {what}s); leave it out: nothing can "
                "be said of it"
            )
    return responses


def _numbered(array: NDArray[Any]) -> pd.DataFrame:
    if array.ndim != 2:
        raise UserError(f"responses: expected an array of models x items, found {array.ndim} dimensions")
    return pd.DataFrame(
        array,
        index=[f"model {number}" for number in range(1, array.shape[0] + 1)],
        columns=[f"item {number}" for number in range(1, array.shape[1] + 1)],
    )


def _from_frame(frame: pd.DataFrame) -> ResponseMatrix:
    if frame.empty:
        raise UserError("responses: expected models x items, found none")
    values = frame.to_numpy(dtype=object)
    missing = frame.isna().to_numpy()
    # True == 1 and 1.0 == 1: read by value, whatever the type of the column.
    right, wrong = values == 1, values == 0
    bad = ~(missing | right | wrong)
    if bad.any():
        row, column = (int(index[0]) for index in np.nonzero(bad))
        raise UserError(
            f"responses: model {frame.index[row]!r}, item {frame.columns[column]!r}: expected 1, 0 or nothing, found "
            f"{values[row, column]!r} ({int(bad.sum())} such cells)"
        )
    correct = np.where(missing, MISSING, right.astype(np.int8)).astype(np.int8)
    return ResponseMatrix(
        tuple(str(name) for name in frame.index), tuple(str(name) for name in frame.columns), correct
    )


def _unique(names: Sequence[str], what: str) -> None:
    seen: set[str] = set()
    for number, name in enumerate(names, start=1):
        if name in seen:
            raise UserError(f"responses: the {what} {name!r} stands twice (again as {what} number {number})")
        seen.add(name)
