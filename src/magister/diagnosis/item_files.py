"""The diagnosed items with their texts: from the pipeline's items, and from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts.diagnosis_tables import DIAGNOSED_ITEMS
from magister.diagnosis._rejected import Rejected, refuse_rejected
from magister.errors import UserError
from magister.items import Columns, read_columns

ITEM_ROLES = ("item_id", "text", "question", "solution", "item_type")
"""What the columns of an items file are for."""


def item_text(question: str, solution: str | None) -> str:
    """What is embedded: the question, and below it the reference solution."""
    return question.strip() if not solution else f"{question.strip()}\n{solution.strip()}"


def diagnosed_items(items: pa.Table, item_type: Literal["dataset", "domain"]) -> pa.Table:
    """The pipeline's items as diagnosed ones.

    Passages are left out: items would come together by what they are about, not by what they need.

    Args:
        items: table of the contract `items`.
        item_type: the column that says what type an item is of.

    Returns:
        Table of the contract `diagnosed_items`, in the order of the items.
    """
    texts = [
        item_text(question, gold)
        for question, gold in zip(items["question"].to_pylist(), items["gold"].to_pylist(), strict=True)
    ]
    return pa.table(
        {"item_id": items["item_id"], "text": pa.array(texts, pa.string()), "item_type": items[item_type]},
        schema=DIAGNOSED_ITEMS.schema,
    )


def read_items(path: Path, columns: Mapping[str, str] | None = None) -> pa.Table:
    """Read a file of items.

    Args:
        path: a .csv, .jsonl, .json or .parquet file with item_id, and text or question (with solution), and perhaps
            item_type.
        columns: by role the column's name, where it is not that of the role.

    Returns:
        Table of the contract `diagnosed_items`, in the order of the file.

    Raises:
        UserError: the file or a row cannot be read, an id is empty or stands twice, or a text is empty; names row and
            column.
    """
    file = read_columns(path)
    rejected = Rejected()
    rejected.add_broken(str(path), file.broken)
    refuse_rejected(rejected.table())
    names = file.table.column_names
    roles = item_columns(path, names, columns or {})
    if "item_id" not in roles or not {"text", "question"} & set(roles):
        raise UserError(
            f"{path}: expected the columns item_id and text, or item_id, question and solution; found "
            f"{', '.join(map(repr, names)) or 'no rows'}"
        )
    return items_of_columns(path, file, roles, np.arange(file.table.num_rows))


def item_columns(path: Path, names: Sequence[str], columns: Mapping[str, str]) -> dict[str, str]:
    """Which column stands for which role: the one that was named, or the one of the role's name.

    Raises:
        UserError: a named column is not there.
    """
    roles = {}
    for role in ITEM_ROLES:
        if role in columns and columns[role] not in names:
            raise UserError(
                f"{path}: no column {columns[role]!r} for the {role}; found {', '.join(map(repr, names))}"
            )
        if role in columns or role in names:
            roles[role] = columns.get(role, role)
    return roles


def items_of_columns(
    path: Path, file: Columns, roles: Mapping[str, str], places: NDArray[np.int64]
) -> pa.Table:
    """Items of some rows of a file.

    Args:
        path: the file, for messages.
        file: its columns.
        roles: the column of each role; item_id, and text or question, are there.
        places: the rows that count.

    Raises:
        UserError: an id or a text is empty or no text, or an id stands twice.
    """
    numbers = file.rows[places]
    for role, name in roles.items():
        if name in file.nested or pa.types.is_nested(file.table[name].type):
            row = file.nested.get(name, 1)
            raise UserError(
                f"{path}: row {row}, column {name!r}: expected a text for the {role}, found a list or object"
            )
    found = {role: file.table[name].take(pa.array(places)).cast(pa.string()) for role, name in roles.items()}
    main = "text" if "text" in found else "question"
    for role in ("item_id", main):
        empty = np.flatnonzero(
            pc.fill_null(pc.equal(pc.utf8_trim_whitespace(found[role]), ""), True).to_numpy()
        )
        if empty.size:
            more = f" ({empty.size} such rows)" if empty.size > 1 else ""
            raise UserError(
                f"{path}: row {int(numbers[empty[0]])}, column {roles[role]!r}: the {role} is empty{more}"
            )
    seen: dict[str, int] = {}
    for item, number in zip(found["item_id"].to_pylist(), numbers.tolist(), strict=True):
        if item in seen:
            raise UserError(
                f"{path}: row {number}, column {roles['item_id']!r}: the item {item!r} stands in row {seen[item]} too"
            )
        seen[item] = number
    texts = found["text"] if main == "text" else _joined(found)
    types = found.get("item_type")
    return pa.table(
        {
            "item_id": found["item_id"],
            "text": texts,
            "item_type": pa.nulls(len(places), pa.string()) if types is None else _or_null(types),
        },
        schema=DIAGNOSED_ITEMS.schema,
    )


def _joined(found: Mapping[str, pa.ChunkedArray]) -> pa.Array:
    questions = found["question"].to_pylist()
    solutions = found["solution"].to_pylist() if "solution" in found else [None] * len(questions)
    return pa.array([item_text(*pair) for pair in zip(questions, solutions, strict=True)], pa.string())


def _or_null(types: pa.ChunkedArray) -> pa.ChunkedArray:
    """An empty type is none."""
    return pc.if_else(pc.equal(pc.utf8_trim_whitespace(types), ""), pa.scalar(None, pa.string()), types)


def texts_of(items: pa.Table, item_ids: Sequence[str], where: str = "items") -> pa.Table:
    """Items that responses are of, in the order of the responses.

    Args:
        items: table of the contract `diagnosed_items`; items beyond those asked for are left out.
        item_ids: ids of the responses' items.
        where: the file of the items, for the message.

    Raises:
        UserError: an item of the responses is not among them.
    """
    places = pc.index_in(pa.array(item_ids, pa.string()), value_set=items["item_id"].combine_chunks())
    lost = np.flatnonzero(places.is_null().to_numpy(zero_copy_only=False))
    if lost.size:
        raise UserError(
            f"{where}: {lost.size} of {len(item_ids)} items of the responses are not there, first "
            f"{item_ids[int(lost[0])]!r} (the {int(lost[0]) + 1}. item); expected a text for each: add them, or take "
            "these items out of the responses"
        )
    return items.take(places)
