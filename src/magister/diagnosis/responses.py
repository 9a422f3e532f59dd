"""Response matrices: what every model made of every item, from answers, as a table, and as a fit wants them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts.diagnosis_tables import RESPONSE_MATRIX, RESPONSE_STATUSES
from magister.diagnosis.matrix import MISSING, ResponseMatrix
from magister.errors import UserError

UNPARSED = ("no_answer", "ambiguous", "refusal", "truncated", "context_exceeded")
"""Statuses of a model that was asked and gave nothing that can be read: its own failure."""
ABSENT = ("error", "missing")
"""Statuses of a response that nobody knows; never wrong."""

Unparsed = Literal["wrong", "missing"]
"""What a reply that cannot be read counts as."""

_CODE = {status: np.int8(code) for code, status in enumerate(RESPONSE_STATUSES)}


@dataclass(frozen=True)
class Grid:
    """Every response of N models to J items, with what became of it.

    Attributes:
        models: names, N, in any order.
        items: ids, J, in any order.
        correct: int8, N x J: 1 right, 0 wrong, -1 unknown.
        status: int8, N x J: place in `RESPONSE_STATUSES`.
        request_id: N x J texts or None, where requests are known.
    """

    models: tuple[str, ...]
    items: tuple[str, ...]
    correct: NDArray[np.int8]
    status: NDArray[np.int8]
    request_id: NDArray[np.object_] | None = None

    def has_status(self, statuses: Sequence[str]) -> NDArray[np.bool_]:
        """N x J: which responses have one of some statuses."""
        return np.isin(self.status, status_codes(statuses))

    def count(self, statuses: Sequence[str]) -> int:
        """How many responses have one of some statuses."""
        return int(self.has_status(statuses).sum())


class LeftOut(NamedTuple):
    """A model or an item of which nothing can be said."""

    kind: Literal["model", "item"]
    name: str
    reason: str


class Known(NamedTuple):
    """What can be fitted, and what was left out."""

    matrix: ResponseMatrix
    left_out: tuple[LeftOut, ...]


def status_codes(statuses: Sequence[str]) -> NDArray[np.int8]:
    """Places of statuses in `RESPONSE_STATUSES`."""
    return np.array([_CODE[status] for status in statuses], dtype=np.int8)


def count_unparsed(
    correct: NDArray[np.int8], status: NDArray[np.int8], unparsed: Unparsed
) -> NDArray[np.int8]:
    """Apply what unreadable replies count as; what nobody knows is unknown under both.

    Args:
        correct: int8, any shape; a scorer that found an unreadable reply right is believed under `wrong`.
        status: places in `RESPONSE_STATUSES`, same shape.
        unparsed: `wrong`, or `missing`: then the whole status is unknown, right or wrong, lest only its wrong ones go.

    Returns:
        int8 of that shape: 1, 0, -1.
    """
    unread = np.isin(status, status_codes(UNPARSED))
    absent = np.isin(status, status_codes(ABSENT))
    counted = np.where(unread & (correct != 1), np.int8(0), correct) if unparsed == "wrong" else correct
    gone = absent if unparsed == "wrong" else absent | unread
    return np.where(gone, np.int8(MISSING), counted).astype(np.int8)


def answer_grid(answers: Sequence[pa.Table], items: Sequence[str], unparsed: Unparsed = "wrong") -> Grid:
    """Responses from models' own answers.

    Args:
        answers: tables of the contract `answers`, of a model each or of several.
        items: ids that were to be answered; one without an answer is `missing`.
        unparsed: what an unreadable reply counts as. A call that failed is unknown either way.

    Returns:
        Every model x item, both sorted by name.

    Raises:
        UserError: no answers, an answer to another item, or two answers of a model to an item.
    """
    table = pa.concat_tables(
        [part.select(["model", "item_id", "status", "correct", "request_id"]) for part in answers]
    )
    if not table.num_rows or not items:
        raise UserError(f"responses: {table.num_rows} answers to {len(items)} items; expected some of both")
    models = tuple(sorted(pc.unique(table["model"]).to_pylist()))
    ids = tuple(sorted(items))
    row, column = _places(table["model"], models), _places(table["item_id"], ids)
    if (column < 0).any():
        strange = table["item_id"][int(np.flatnonzero(column < 0)[0])].as_py()
        raise UserError(
            f"responses: {int((column < 0).sum())} answers are to items that are not among the {len(ids)} asked, first "
            f"{strange!r}; answers and items belong to different runs: make the answers anew"
        )
    _refuse_twice(row, column, models, ids)
    grid = _empty(models, ids)
    status = _places(table["status"], RESPONSE_STATUSES).astype(np.int8)
    grid.status[row, column] = status
    grid.correct[row, column] = count_unparsed(_as_codes(table["correct"]), status, unparsed)
    requests = np.full(grid.status.shape, None, dtype=object)
    requests[row, column] = table["request_id"].to_numpy(zero_copy_only=False)
    return replace(grid, request_id=requests)


def grid_table(grid: Grid) -> pa.Table:
    """A table of the contract `response_matrix`, sorted by its key."""
    by_model = np.array(sorted(range(len(grid.models)), key=lambda at: grid.models[at]), dtype=np.int64)
    by_item = np.array(sorted(range(len(grid.items)), key=lambda at: grid.items[at]), dtype=np.int64)
    here = np.ix_(by_model, by_item)
    correct = grid.correct[here].ravel()
    requests = (
        pa.nulls(correct.size, pa.string())
        if grid.request_id is None
        else pa.array(grid.request_id[here].ravel(), pa.string(), from_pandas=True)
    )
    return pa.table(
        {
            "model": _texts(
                np.repeat(np.arange(len(by_model)), len(by_item)), [grid.models[at] for at in by_model]
            ),
            "item_id": _texts(
                np.tile(np.arange(len(by_item)), len(by_model)), [grid.items[at] for at in by_item]
            ),
            "status": _texts(grid.status[here].ravel(), RESPONSE_STATUSES),
            "correct": pa.array(correct == 1, mask=correct == MISSING),
            "request_id": requests,
        },
        schema=RESPONSE_MATRIX.schema,
    )


def table_grid(table: pa.Table) -> Grid:
    """Read a table of the contract `response_matrix`.

    Args:
        table: rows in any order.

    Returns:
        Every model x item, both sorted by name.

    Raises:
        UserError: a model x item has no row or two, or there is none at all.
    """
    models = tuple(sorted(pc.unique(table["model"]).to_pylist()))
    items = tuple(sorted(pc.unique(table["item_id"]).to_pylist()))
    row, column = _places(table["model"], models), _places(table["item_id"], items)
    if not table.num_rows:
        raise UserError("responses: the table has no rows")
    _refuse_twice(row, column, models, items)
    if table.num_rows != len(models) * len(items):
        there = np.zeros((len(models), len(items)), dtype=bool)
        there[row, column] = True
        at = tuple(int(index[0]) for index in np.nonzero(~there))
        raise UserError(
            f"responses: {len(models)} models x {len(items)} items have {table.num_rows} rows; model "
            f"{models[at[0]]!r}, item {items[at[1]]!r} has none: expected a row of status 'missing' there"
        )
    grid = _empty(models, items)
    grid.status[row, column] = _places(table["status"], RESPONSE_STATUSES)
    grid.correct[row, column] = _as_codes(table["correct"])
    if table["request_id"].null_count == table.num_rows:
        return grid
    requests = np.full(grid.status.shape, None, dtype=object)
    requests[row, column] = table["request_id"].to_numpy(zero_copy_only=False)
    return replace(grid, request_id=requests)


def known_matrix(grid: Grid) -> Known:
    """What can be fitted: models and items with a response at least.

    Returns:
        The matrix, its models and items in their order, and what was left out, with reasons.

    Raises:
        UserError: no response is known at all.
    """
    known = grid.correct != MISSING
    rows, columns = known.any(axis=1), known.any(axis=0)
    if not rows.any():
        raise UserError(
            f"responses: of {len(grid.models)} models x {len(grid.items)} items no response is known "
            f"({_why(grid.status)}); nothing can be fitted"
        )
    left_out = [
        LeftOut("model", grid.models[at], f"no response is known: {_why(grid.status[at])}")
        for at in np.flatnonzero(~rows)
    ]
    left_out += [
        LeftOut("item", grid.items[at], f"no response is known: {_why(grid.status[:, at])}")
        for at in np.flatnonzero(~columns)
    ]
    matrix = ResponseMatrix(
        tuple(name for name, kept in zip(grid.models, rows, strict=True) if kept),
        tuple(name for name, kept in zip(grid.items, columns, strict=True) if kept),
        np.ascontiguousarray(grid.correct[np.ix_(rows, columns)]),
    )
    return Known(matrix, tuple(left_out))


def matrix_grid(matrix: ResponseMatrix) -> Grid:
    """The other way: responses as they are, `ok` or `missing`."""
    status = np.where(matrix.answered, _CODE["ok"], _CODE["missing"]).astype(np.int8)
    return Grid(matrix.models, matrix.items, matrix.correct, status)


def _empty(models: tuple[str, ...], items: tuple[str, ...]) -> Grid:
    shape = (len(models), len(items))
    return Grid(
        models, items, np.full(shape, MISSING, dtype=np.int8), np.full(shape, _CODE["missing"], dtype=np.int8)
    )


def _why(status: NDArray[np.int8]) -> str:
    """Statuses with their counts, for a reason."""
    counts = np.bincount(status.ravel(), minlength=len(RESPONSE_STATUSES))
    return ", ".join(f"{counts[at]} {name}" for at, name in enumerate(RESPONSE_STATUSES) if counts[at])


def _places(column: pa.ChunkedArray, names: Sequence[str]) -> NDArray[np.int64]:
    """Where each value stands among some names; -1 for none."""
    found = pc.index_in(column, value_set=pa.array(names, column.type))
    return np.asarray(found.fill_null(-1).to_numpy(), dtype=np.int64)


def _as_codes(correct: pa.ChunkedArray) -> NDArray[np.int8]:
    return np.asarray(pc.fill_null(correct.cast(pa.int8()), MISSING).to_numpy(), dtype=np.int8)


def _texts(codes: NDArray[Any], names: Sequence[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(
        pa.array(codes.astype(np.int32)), pa.array(list(names), pa.string())
    ).cast(pa.string())


def _refuse_twice(
    row: NDArray[np.int64], column: NDArray[np.int64], models: Sequence[str], items: Sequence[str]
) -> None:
    cells, counts = np.unique(row * len(items) + column, return_counts=True)
    if (counts > 1).any():
        model, item = divmod(int(cells[counts > 1][0]), len(items))
        raise UserError(
            f"responses: model {models[model]!r}, item {items[item]!r} has {int(counts.max())} rows "
            f"({int((counts > 1).sum())} such pairs); expected one of each"
        )
