"""Files of responses: item by model, model by item, or a row per response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts.diagnosis_tables import RESPONSE_STATUSES
from magister.diagnosis._cells import BAD, EMPTY, EXPECTED, NOTHING, RIGHT, WRONG, cell_codes
from magister.diagnosis._rejected import Rejected, refuse_rejected
from magister.diagnosis._response_rows import Rows, gather
from magister.diagnosis.item_files import ITEM_ROLES, item_columns, items_of_columns
from magister.diagnosis.responses import Grid, Unparsed, count_unparsed
from magister.errors import UserError
from magister.items import Columns, read_columns

Layout = Literal["auto", "item_by_model", "model_by_item", "long"]
LAYOUTS = ("auto", "item_by_model", "model_by_item", "long")
_LONG = ("model", "item_id", "correct")
_ROLES = ("model", "correct", "status", *ITEM_ROLES)
# What an id column of items may be called where nobody names it.
_ITEM_IDS = ("item_id", "item", "question_id")
_OK, _NO_ANSWER, _ABSENT = (RESPONSE_STATUSES.index(name) for name in ("ok", "no_answer", "missing"))


@dataclass(frozen=True)
class MatrixForm:
    """How a file is to be read.

    Attributes:
        layout: `item_by_model` (a row per item, a column per model), `model_by_item`, `long` (a row per response), or
            `auto`: by the names of the columns, and by whether the first one holds responses.
        columns: by role (model, item_id, correct, status, text, question, solution, item_type) the column's name,
            where it is not that of the role.
        ignore: columns that are neither ids, texts nor responses.
        empty: what an empty cell says: asked without a readable answer (`unparsed`), or nobody asked (`missing`).
        unparsed: what an unreadable reply counts as.
    """

    layout: Layout = "auto"
    columns: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    empty: Literal["unparsed", "missing"] = "unparsed"
    unparsed: Unparsed = "wrong"


@dataclass(frozen=True)
class ResponseFile:
    """What files of responses hold.

    Attributes:
        grid: the responses, models and items in the order of the file.
        rejected: table of the contract `responses_rejected`; the cells are missing in the grid.
        items: table of the contract `diagnosed_items`, where the file has texts of its items.
        notes: what was assumed, for the reader.
        unnamed: whether the rows have no ids and are numbered.
    """

    grid: Grid
    rejected: pa.Table
    items: pa.Table | None = None
    notes: tuple[str, ...] = ()
    unnamed: bool = False

    def check(self) -> None:
        """Refuse a file of which a cell or a row is no response.

        Raises:
            UserError: names the first by file, row and column.
        """
        refuse_rejected(self.rejected)


def read_matrix(path: Path, form: MatrixForm | None = None) -> ResponseFile:
    """Read a file of responses.

    Args:
        path: a .csv, .jsonl, .json or .parquet file.
        form: how; found out by the names of the columns by default.

    Returns:
        Every model x item of it; what is no response is missing there and listed.

    Raises:
        UserError: the file cannot be read, has no such columns, or a column that holds no responses.
    """
    form = form or MatrixForm()
    unknown = sorted(set(form.columns) - set(_ROLES))
    if unknown:
        raise UserError(f"columns: {unknown[0]!r} is no role; expected some of {', '.join(_ROLES)}")
    file = read_columns(path)
    names = file.table.column_names
    for what, name in [*form.columns.items(), *(("ignore", name) for name in form.ignore)]:
        if name not in names:
            raise UserError(f"{path}: no column {name!r} ({what}); found {_listed(names)}")
    rejected = Rejected()
    rejected.add_broken(str(path), file.broken)
    if not file.table.num_rows:
        if len(rejected):
            refuse_rejected(rejected.table())
        raise UserError(f"{path}: no rows; expected a row per item, model or response")
    file = replace(file, table=file.table.drop_columns(list(form.ignore)))
    layout = _layout(path, file.table, form)
    if layout == "long":
        return _read_long(path, file, form, rejected)
    return _read_wide(path, file, form, layout, rejected)


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"


def _role(form: MatrixForm, names: list[str], role: str) -> str | None:
    """The column of a role: the one that was named, or the one of that name."""
    return form.columns.get(role) or (role if role in names else None)


def _item_id(form: MatrixForm, names: list[str]) -> str | None:
    named = form.columns.get("item_id")
    return named or next((name for name in _ITEM_IDS if name in names), None)


def _layout(path: Path, table: pa.Table, form: MatrixForm) -> Layout:
    names = table.column_names
    if form.layout not in LAYOUTS:
        raise UserError(f"layout {form.layout!r}: expected one of {', '.join(LAYOUTS)}")
    if form.layout != "auto":
        return form.layout
    if all(_role(form, names, role) for role in _LONG):
        return "long"
    by_model, by_item = _role(form, names, "model"), _item_id(form, names)
    if by_model and not by_item:
        return "model_by_item"
    if by_item and not by_model:
        return "item_by_model"
    if not by_item and _are_responses(table[0]):
        return "model_by_item"
    raise UserError(
        f"{path}: whether its rows are items or models cannot be told from the columns {_listed(names)}; give the "
        "layout: item_by_model, model_by_item, or long with the columns model, item_id and correct"
    )


def _are_responses(column: pa.ChunkedArray) -> bool:
    codes = cell_codes(column)
    return bool((codes != BAD).all() and (codes >= 0).any())


def _read_wide(
    path: Path, file: Columns, form: MatrixForm, layout: Layout, rejected: Rejected
) -> ResponseFile:
    table, names = file.table, file.table.column_names
    by_item = layout == "item_by_model"
    column = _item_id(form, names) if by_item else _role(form, names, "model")
    if column is None and not _are_responses(table[0]):
        column = names[0]
    numbered: list[str | None] = [f"row {number}" for number in range(1, table.num_rows + 1)]
    ids: list[str | None] = numbered if column is None else table[column].cast(pa.string()).to_pylist()
    roles = item_columns(path, names, {"item_id": column} | dict(form.columns)) if by_item and column else {}
    heads = [name for name in names if name not in {column, *roles.values()}]
    if not heads:
        raise UserError(f"{path}: no column of responses beside {_listed(names)}")
    codes = np.stack([cell_codes(table[name]) for name in heads], axis=1)
    _refuse_no_responses(path, file, heads, codes)
    sheet = _Sheet(str(path), file.rows, "item" if by_item else "model", ids, heads, codes)
    kept = _kept_rows(sheet, table, column or "", rejected)
    if not kept.size:
        refuse_rejected(rejected.table())
    named = [str(ids[row]) for row in kept.tolist()]
    models, items = (heads, named) if by_item else (named, heads)
    codes = codes[kept]
    grid = _grid(tuple(models), tuple(items), codes.T if by_item else codes, form)
    texts = items_of_columns(path, file, roles, kept) if {"text", "question"} & set(roles) else None
    notes = () if column else (f"rows have no ids and are called 'row 1' to 'row {len(ids)}'",)
    return ResponseFile(grid, rejected.table(), texts, notes, column is None)


@dataclass(frozen=True)
class _Sheet:
    """A wide file: a row per item (or model), a column per model (or item).

    Attributes:
        source: the file.
        numbers: of its rows.
        what: what a row is.
        ids: of the rows; may be empty, missing or repeated.
        heads: names of the columns.
        codes: of the cells, rows x columns.
    """

    source: str
    numbers: NDArray[np.int64]
    what: Literal["item", "model"]
    ids: list[str | None]
    heads: list[str]
    codes: NDArray[np.int8]

    def named(self, row: int, head: str | None = None) -> tuple[str | None, str | None]:
        """Model and item of a cell."""
        down = self.ids[row] or None
        return (head, down) if self.what == "item" else (down, head)


def _kept_rows(sheet: _Sheet, table: pa.Table, column: str, rejected: Rejected) -> NDArray[np.int64]:
    """Rows that count; what is no response becomes nothing, and is listed."""
    for row, head in zip(*(at.tolist() for at in np.nonzero(sheet.codes == BAD)), strict=True):
        name = sheet.heads[head]
        raw = str(table[name][row].as_py())
        model, item = sheet.named(row, name)
        rejected.add(
            sheet.source,
            int(sheet.numbers[row]),
            "bad_value",
            f"expected {EXPECTED}, found {_short(raw)}",
            column=name,
            raw=raw,
            model=model,
            item_id=item,
        )
    sheet.codes[sheet.codes == BAD] = NOTHING
    together: dict[str, list[int]] = {}
    for row, name in enumerate(sheet.ids):
        if name:
            together.setdefault(name, []).append(row)
        else:
            detail = f"the {sheet.what} has no id"
            rejected.add(sheet.source, int(sheet.numbers[row]), "no_id", detail, column=column)
    for name, rows in together.items():
        if len(rows) > 1:
            _fold(sheet, name, rows, rejected)
    return np.array([rows[0] for rows in together.values()], dtype=np.int64)


def _fold(sheet: _Sheet, name: str, rows: list[int], rejected: Rejected) -> None:
    """Of rows with one id, keep the first if all are alike, else none: which is right, nobody knows."""
    alike = bool((sheet.codes[rows] == sheet.codes[rows[0]]).all())
    lines = ", ".join(str(int(sheet.numbers[row])) for row in rows[:5])
    detail = f"the {sheet.what} {name!r} stands in rows {lines}, " + (
        "with the same responses" if alike else "with different responses; none of them is used"
    )
    for row in rows[1:] if alike else rows:
        reason = "duplicate" if alike else "conflict"
        model, item = sheet.named(row)
        rejected.add(sheet.source, int(sheet.numbers[row]), reason, detail, model=model, item_id=item)
    if not alike:
        sheet.codes[rows[0]] = NOTHING


def _short(raw: str) -> str:
    return repr(raw if len(raw) <= 40 else f"{raw[:37]}...")


def _refuse_no_responses(path: Path, file: Columns, heads: list[str], codes: NDArray[np.int8]) -> None:
    """A column of other things is a mistake of the columns, not of its rows."""
    bad = codes == BAD
    there = (codes != NOTHING) & (codes != EMPTY)
    other = np.flatnonzero(2 * bad.sum(axis=0) > there.sum(axis=0))
    if not other.size:
        return
    row = int(np.flatnonzero(bad[:, other[0]])[0])
    value = _short(str(file.table[heads[other[0]]][row].as_py()))
    columns = [heads[at] for at in other]
    raise UserError(
        f"{path}: row {int(file.rows[row])}, column {columns[0]!r}: expected {EXPECTED}, found {value}; most values of "
        f"{_listed(columns)} are no responses: ignore the columns that are neither models nor items"
    )


def _grid(models: tuple[str, ...], items: tuple[str, ...], codes: NDArray[np.int8], form: MatrixForm) -> Grid:
    """Codes of cells, N x J, as responses."""
    unparsed = codes == EMPTY if form.empty == "unparsed" else np.zeros(codes.shape, dtype=bool)
    answered = (codes == RIGHT) | (codes == WRONG)
    status = np.where(answered, _OK, np.where(unparsed, _NO_ANSWER, _ABSENT)).astype(np.int8)
    return Grid(models, items, count_unparsed(codes, status, form.unparsed), status)


def _read_long(path: Path, file: Columns, form: MatrixForm, rejected: Rejected) -> ResponseFile:
    table, source = file.table, str(path)
    names = table.column_names
    model, item, correct = (_role(form, names, role) for role in _LONG)
    lacking = [role for role, name in zip(_LONG, (model, item, correct), strict=True) if name is None]
    if model is None or item is None or correct is None:
        raise UserError(
            f"{path}: no column for {', '.join(lacking)}; found {_listed(names)}: name it under columns"
        )
    codes = cell_codes(table[correct])
    who, what = table[model].cast(pa.string()), table[item].cast(pa.string())
    status = _statuses(source, file, form, codes, rejected)
    nameless = np.zeros(table.num_rows, dtype=bool)
    for column, values in ((model, who), (item, what)):
        empty = pc.fill_null(pc.equal(values, ""), True).to_numpy()
        for row in np.flatnonzero(empty & ~nameless).tolist():
            rejected.add(
                source,
                int(file.rows[row]),
                "no_id",
                f"no {'model' if column == model else 'item'}",
                column=column,
            )
        nameless |= empty
    for row in np.flatnonzero((codes == BAD) & ~nameless).tolist():
        raw = str(table[correct][row].as_py())
        rejected.add(
            source,
            int(file.rows[row]),
            "bad_value",
            f"expected {EXPECTED}, found {_short(raw)}",
            column=correct,
            raw=raw,
            model=who[row].as_py(),
            item_id=what[row].as_py(),
        )
    kept = np.flatnonzero(~nameless)
    if not kept.size:
        refuse_rejected(rejected.table())
    codes[codes == BAD] = NOTHING
    rows = Rows(
        source,
        file.rows[kept],
        who.take(pa.array(kept)),
        what.take(pa.array(kept)),
        codes[kept],
        status[kept],
    )
    return ResponseFile(gather([rows], form.unparsed, rejected), rejected.table())


def _statuses(
    source: str, file: Columns, form: MatrixForm, codes: NDArray[np.int8], rejected: Rejected
) -> NDArray[np.int8]:
    """What became of each row: what the file says of it, or what follows from its value."""
    absent = (codes == NOTHING) | (codes == BAD) | ((codes == EMPTY) & (form.empty == "missing"))
    implied = np.where(codes == EMPTY, _NO_ANSWER, np.where(absent, _ABSENT, _OK))
    implied = np.where(absent, _ABSENT, implied).astype(np.int8)
    column = _role(form, file.table.column_names, "status")
    if column is None:
        return implied
    found = pc.index_in(
        file.table[column].cast(pa.string()), value_set=pa.array(RESPONSE_STATUSES, pa.string())
    )
    places = np.asarray(pc.fill_null(found, -1).to_numpy(), dtype=np.int64)
    for row in np.flatnonzero(places < 0).tolist():
        raw = str(file.table[column][row].as_py())
        detail = f"expected a status of {', '.join(RESPONSE_STATUSES)}, found {_short(raw)}"
        rejected.add(source, int(file.rows[row]), "unknown_status", detail, column=column, raw=raw)
        codes[row] = NOTHING
    claimed = (places == _OK) & (codes < 0)
    for row in np.flatnonzero(claimed & (codes != BAD)).tolist():
        detail = f"the status is ok, and the response is none of 1, 0, true and false ({column!r})"
        rejected.add(source, int(file.rows[row]), "bad_value", detail, column=column)
    places[(places < 0) | claimed] = _ABSENT
    return places.astype(np.int8)
