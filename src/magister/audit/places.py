"""Where a file differs from what was recorded: rows by their keys, lines, places in a document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from magister.audit.checks import differences, shown
from magister.contracts._columns import positions
from magister.contracts.schemas import CONTRACTS, Contract
from magister.provenance._lineage import METADATA_KEY

_NONE = "nothing"


class Place(NamedTuple):
    """One place in a file.

    Attributes:
        place: row by its key and column, line, or path in a document.
        seen: what is there.
        expected: what was recorded.
    """

    place: str
    seen: str
    expected: str


def contract_of(schema: pa.Schema) -> Contract | None:
    """The contract whose columns a table has; no two contracts have the same."""
    bare = schema.remove_metadata()
    return next((contract for contract in CONTRACTS.values() if contract.schema.equals(bare)), None)


def name_row(table: pa.Table, at: int, key: tuple[str, ...]) -> str:
    """A row by its key: `teacher=judge, round=1`."""
    return ", ".join(f"{name}={shown_key(table[name][at].as_py())}" for name in key)


def shown_key(value: Any) -> str:
    """A value of a key; short texts as they are."""
    return value if isinstance(value, str) and value.isprintable() else repr(value)


def places(path: Path, recorded: Path, limit: int = 3) -> tuple[list[Place], int]:
    """Compare a file with its recorded content.

    Args:
        path: the file.
        recorded: a file with the recorded content, under any name.
        limit: how many places to name.

    Returns:
        The first places in which they differ, and how many there are. None where the bytes differ and the content,
        as far as it can be read, does not.
    """
    kind = _KINDS.get(path.suffix, _bytes)
    try:
        found = list(kind(path, recorded))
    except (pa.ArrowException, ValueError, OSError, KeyError) as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        return [Place(_first_byte(path, recorded), f"cannot be read: {what[:100]}", "as recorded")], 1
    if not found:
        found = [Place(_first_byte(path, recorded), "other bytes", "as recorded")]
    return found[:limit], len(found)


def _first_byte(path: Path, recorded: Path) -> str:
    """Where bytes begin to differ."""
    one, other = path.read_bytes(), recorded.read_bytes()
    length = min(len(one), len(other))
    differ = np.frombuffer(one, np.uint8, length) != np.frombuffer(other, np.uint8, length)
    return f"byte {int(differ.argmax()) if differ.any() else length}"


def _tables(path: Path, recorded: Path) -> Iterator[Place]:
    with pq.ParquetFile(recorded) as file:
        expected = file.read()
    with pq.ParquetFile(path) as file:
        seen = file.read()
    if seen.schema.remove_metadata() != expected.schema.remove_metadata():
        for place, one, other in differences(_columns(seen), _columns(expected)):
            yield Place(f"column {place}", one or _NONE, other or _NONE)
        return
    contract = contract_of(expected.schema)
    key = contract.key if contract else ()
    if key:
        yield from _rows(seen, expected, key)
    elif seen.num_rows != expected.num_rows:
        yield Place("rows", str(seen.num_rows), str(expected.num_rows))
    if seen.schema.metadata != expected.schema.metadata:
        records = [
            json.loads((table.schema.metadata or {}).get(METADATA_KEY, b"{}")) for table in (seen, expected)
        ]
        for place, one, other in differences(*records):
            yield Place(f"lineage {place}", shown(one), shown(other))


def _columns(table: pa.Table) -> dict[str, str]:
    return {field.name: f"{field.type}{'' if field.nullable else ' not null'}" for field in table.schema}


def _rows(seen: pa.Table, expected: pa.Table, key: tuple[str, ...]) -> Iterator[Place]:
    """Rows that are gone, were added, stand twice or hold another value."""
    place = positions(seen, expected, key)
    back = positions(expected, seen, key)
    for at in map(int, np.flatnonzero(back < 0)):
        yield Place(name_row(expected, at, key), "no such row", "a row")
    for at in map(int, np.flatnonzero(place < 0)):
        yield Place(name_row(seen, at, key), "a row", "no such row")
    known = np.flatnonzero(place >= 0)
    again = np.ones(known.size, dtype=bool)
    again[np.unique(place[known], return_index=True)[1]] = False
    for at in map(int, known[again]):
        yield Place(name_row(seen, at, key), "a second row", "one row")
    one, other = seen.take(pa.array(known)), expected.take(pa.array(place[known]))
    changed = {name: _unlike(one[name], other[name]) for name in seen.column_names if name not in key}
    rows = np.logical_or.reduce([np.zeros(known.size, dtype=bool), *changed.values()])
    for at in map(int, np.flatnonzero(rows)):
        for name in (name for name, where in changed.items() if where[at]):
            values = (shown(table[name][at].as_py()) for table in (one, other))
            yield Place(f"{name_row(one, at, key)}: {name}", *values)
    whole = known.size == seen.num_rows == expected.num_rows and not again.any()
    if whole and not rows.any() and (np.diff(place) < 0).any():
        first = int(np.flatnonzero(place != np.arange(place.size))[0])
        yield Place(f"row {first}", name_row(seen, first, key), name_row(expected, first, key))


def _unlike(one: pa.ChunkedArray, other: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Where two columns differ; null is like null and NaN like NaN."""
    if pa.types.is_nested(one.type):
        return np.array([a != b for a, b in zip(one.to_pylist(), other.to_pylist(), strict=True)], dtype=bool)
    alike = pc.fill_null(pc.equal(one, other), False).to_numpy().astype(bool)
    alike |= (pc.is_null(one, nan_is_null=True).to_numpy()) & (pc.is_null(other, nan_is_null=True).to_numpy())
    return np.asarray(~alike, dtype=bool)


def _documents(path: Path, recorded: Path) -> Iterator[Place]:
    values = [json.loads(each.read_text(encoding="utf-8")) for each in (path, recorded)]
    for place, one, other in differences(*values):
        yield Place(place or "the whole", shown(one), shown(other))


def _lines(path: Path, recorded: Path) -> Iterator[Place]:
    pairs = zip_longest(path.read_bytes().splitlines(), recorded.read_bytes().splitlines())
    for number, (one, other) in enumerate(pairs, start=1):
        if one != other:
            yield Place(_line_name(number, other, one), _line(one), _line(other))


def _line_name(number: int, *lines: bytes | None) -> str:
    """A line, with the key of the request that stands in it."""
    for line in lines:
        try:
            return f"line {number}, custom_id {json.loads(line or b'')['custom_id']}"
        except (ValueError, KeyError, TypeError):
            continue
    return f"line {number}"


def _line(line: bytes | None) -> str:
    return _NONE if line is None else shown(line.decode("utf-8", "replace"), 60)


def _vectors(path: Path, recorded: Path) -> Iterator[Place]:
    one, other = (np.load(each, allow_pickle=False) for each in (path, recorded))
    if one.shape != other.shape or one.dtype != other.dtype:
        yield Place("array", f"{one.dtype} {one.shape}", f"{other.dtype} {other.shape}")
        return
    unlike = (one != other) & ~((one != one) & (other != other))
    for at in np.flatnonzero(unlike.reshape(len(one), -1).any(axis=1)):
        column = int(unlike.reshape(len(one), -1)[at].argmax())
        values = (each.reshape(len(each), -1)[at, column] for each in (one, other))
        yield Place(f"row {at}, column {column}", *map(str, values))


def _bytes(path: Path, recorded: Path) -> Iterator[Place]:
    yield Place(
        _first_byte(path, recorded), f"{path.stat().st_size} bytes", f"{recorded.stat().st_size} bytes"
    )


_TEXTS = (".jsonl", ".csv", ".md", ".html", ".svg", ".txt", ".yaml")
_KINDS: dict[str, Callable[[Path, Path], Iterator[Place]]] = {
    **dict.fromkeys(_TEXTS, _lines),
    ".parquet": _tables,
    ".json": _documents,
    ".npy": _vectors,
}
