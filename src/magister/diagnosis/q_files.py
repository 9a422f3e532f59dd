"""Files of Q-matrices: which item needs which attribute, by people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from magister.diagnosis._cells import BAD, cell_codes
from magister.diagnosis._rejected import Rejected, refuse_rejected
from magister.diagnosis.prior import QPrior, q_matrix
from magister.errors import UserError
from magister.items import read_columns

_IDS = ("item_id", "item", "question_id", "")


def read_q(path: Path, items: Sequence[str]) -> QPrior:
    """Read a Q-matrix: a row per item, a column per attribute, of 0 and 1.

    Args:
        path: a .csv, .jsonl, .json or .parquet file. Its ids are in the column item_id, item, question_id or the first
            one; without ids its rows are the items in their order.
        items: ids of the items of the responses, in the order of their file.

    Returns:
        The Q-matrix of these items, in their order, with nothing left open.

    Raises:
        UserError: a value is neither 0 nor 1, an item needs nothing, an attribute is needed by nothing, there are more
            attributes than items, or rows and items do not belong together; names row and column.
    """
    file = read_columns(path)
    rejected = Rejected()
    rejected.add_broken(str(path), file.broken)
    refuse_rejected(rejected.table())
    table = file.table
    if not table.num_rows:
        raise UserError(f"{path}: no rows; expected a row per item")
    column = next((name for name in _IDS if name in table.column_names), None)
    if column is None and (cell_codes(table[0]) == BAD).any():
        column = table.column_names[0]
    heads = [name for name in table.column_names if name != column]
    if not heads:
        raise UserError(f"{path}: no attributes; expected a column per attribute")
    codes = np.stack([cell_codes(table[name]) for name in heads], axis=1)
    bad = (codes != 0) & (codes != 1)
    if bad.any():
        row, head = (int(at[0]) for at in np.nonzero(bad))
        raise UserError(
            f"{path}: row {int(file.rows[row])}, column {heads[head]!r}: expected 0 or 1, found "
            f"{table[heads[head]][row].as_py()!r}"
        )
    ids = _ids(path, table, column, file.rows, items)
    lacking = np.flatnonzero(codes.sum(axis=1) == 0)
    if lacking.size:
        raise UserError(
            f"{path}: row {int(file.rows[lacking[0]])}: the item {ids[int(lacking[0])]!r} needs no attribute "
            f"({lacking.size} such rows); every item needs at least one"
        )
    places = {item: at for at, item in enumerate(ids)}
    lost = [item for item in items if item not in places]
    if lost:
        raise UserError(
            f"{path}: {len(lost)} items of the responses have no row, first {lost[0]!r}; add their rows"
        )
    q = codes[[places[item] for item in items]]
    idle = np.flatnonzero(q.sum(axis=0) == 0)
    if idle.size:
        raise UserError(
            f"{path}: column {heads[int(idle[0])]!r}: no item needs it; nothing can be said of it"
        )
    if len(heads) > len(items):
        raise UserError(
            f"{path}: {len(heads)} attributes for {len(items)} items; expected no more attributes than items"
        )
    return q_matrix(pd.DataFrame(q, index=list(items), columns=heads))


def _ids(
    path: Path, table: pa.Table, column: str | None, rows: np.ndarray, items: Sequence[str]
) -> list[str]:
    if column is None:
        if table.num_rows != len(items):
            raise UserError(
                f"{path}: {table.num_rows} rows without ids for {len(items)} items; expected as many rows as items, in "
                "their order, or a column item_id"
            )
        return list(items)
    ids = table[column].cast(pa.string()).to_pylist()
    known = set(items)
    seen: dict[str, int] = {}
    for item, number in zip(ids, rows.tolist(), strict=True):
        where = f"{path}: row {number}, column {column!r}"
        if not item:
            raise UserError(f"{where}: the item has no id")
        if item in seen:
            raise UserError(f"{where}: the item {item!r} stands in row {seen[item]} too")
        if item not in known:
            raise UserError(f"{where}: the responses have no item {item!r}")
        seen[item] = number
    return ids
