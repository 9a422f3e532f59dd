"""Plain copies of a board: csv, JSON and Markdown say what the parquet says, to the digits that they print."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from magister.audit.recompute._ledger import LISTED, Ledger, shown
from magister.audit.recompute._project import MissingError, Project

# A spreadsheet takes these for a formula; the csv has an apostrophe before them.
_FORMULA = re.compile(r"^[=+\-@\t\r]")


def hold_csv(project: Project, path: str, table: pa.Table, key: Sequence[str]) -> None:
    """Rows and cells of a csv, by their key: it may stand in another order than the table.

    Args:
        project: where the file is.
        path: of the csv.
        table: what it must say; lists are written as JSON-like text.
        key: columns that name a row.
    """
    try:
        rows = list(csv.reader(io.StringIO(project.text(path))))
    except MissingError:
        return
    ledger, check = project.ledger, "copies: the csv says what the table says"
    names = table.column_names
    if not rows or rows[0] != names:
        ledger.add(path, "line 1", check, ", ".join(rows[0]) if rows else "no lines", ", ".join(names))
        return
    if len(rows) - 1 != table.num_rows:
        ledger.add(path, "", check, f"{len(rows) - 1} rows", f"{table.num_rows} rows")
        return
    places = [names.index(part) for part in key]
    lines = {tuple(row[at] for at in places): row for row in rows[1:] if len(row) == len(names)}
    cells = {name: table[name].to_pylist() for name in names}
    listed = 0
    for row in range(table.num_rows):
        said = [cells[part][row] for part in key]
        place = ", ".join(f"{part} {value}" for part, value in zip(key, said, strict=True))
        line = lines.get(tuple(_written(value) for value in said))
        if line is None:
            ledger.add(path, place, check, "no such row", "a row")
            continue
        for name, seen in zip(names, line, strict=True):
            value = cells[name][row]
            if not _says(seen, value) and (listed := listed + 1) <= LISTED:
                ledger.add(path, f"{place}: {name}", check, seen, value)
    ledger.count(check, table.num_rows * len(names))


def _written(value: Any) -> str:
    """A part of a key as the csv writes it."""
    text = str(value)
    return f"'{text}" if isinstance(value, str) and _FORMULA.match(text) else text


def _says(text: str, value: Any) -> bool:
    if value is None:
        return text in ("", "null")
    if isinstance(value, bool):
        return text.lower() == str(value).lower()
    if isinstance(value, (int, float)):
        try:
            return float(text) == float(value)
        except ValueError:
            return False
    if isinstance(value, str):
        return text == (f"'{value}" if _FORMULA.match(value) else value)
    # Lists are written in the form of their library: all of their parts are there, and nothing but them.
    parts = [str(part) for part in value]
    return re.sub(r"[\[\]\"'\s,;]", "", text) == re.sub(r"[\[\]\"'\s,;]", "", "".join(parts))


def hold_json(ledger: Ledger, path: str, seen: Any, wanted: Any, check: str) -> None:
    """A document, leaf by leaf.

    Args:
        ledger: for findings.
        path: of the file.
        seen: what it says.
        wanted: what it must say.
        check: name of the check.
    """
    here, there = dict(leaves(seen)), dict(leaves(wanted))
    ledger.count(check, len(there))
    listed = 0
    for place in sorted(here.keys() | there.keys()):
        one, two = here.get(place, _NOTHING), there.get(place, _NOTHING)
        if not _same(one, two) and (listed := listed + 1) <= LISTED:
            ledger.add(path, place, check, _said(one), _said(two))


_NOTHING = object()


def leaves(document: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Place and value of every leaf of a JSON document; an empty list or object is one."""
    if isinstance(document, Mapping) and document:
        for name, value in document.items():
            yield from leaves(value, f"{place}.{name}" if place else str(name))
    elif isinstance(document, (list, tuple)) and len(document):
        for at, value in enumerate(document):
            yield from leaves(value, f"{place}[{at}]")
    else:
        yield place, document


def _same(one: Any, two: Any) -> bool:
    if one is _NOTHING or two is _NOTHING:
        return one is two
    if isinstance(one, (int, float)) and isinstance(two, (int, float)) and not isinstance(one, bool):
        return bool(abs(one - two) <= 1e-12 * max(1.0, abs(two))) or (one == two)
    return bool(one == two)


def _said(value: Any) -> str:
    return "nothing" if value is _NOTHING else shown(value)


def hold_lines(
    ledger: Ledger, path: str, text: str, wanted: Sequence[tuple[str, str, Sequence[str]]], check: str
) -> None:
    """Table rows of a page: for each name a row that begins with it and holds all of its cells.

    Args:
        ledger: for findings.
        path: of the page.
        text: its Markdown.
        wanted: heading of the part of the page, name of the row, and texts that its cells must hold, in order.
        check: name of the check.
    """
    parts = _parts(text)
    listed = 0
    for heading, name, cells in wanted:
        ledger.count(check, len(cells))
        rows = [row for row in parts.get(heading, []) if name in row]
        if any(_holds(row, cells) for row in rows):
            continue
        if (listed := listed + 1) <= LISTED:
            seen = " | ".join(rows[0]) if rows else "no such row"
            ledger.add(path, f"{heading}: {name}", check, seen, " | ".join(cells))


def _holds(row: list[str], cells: Sequence[str]) -> bool:
    rest = iter(row)
    return all(cell in rest for cell in cells)


def _parts(text: str) -> dict[str, list[list[str]]]:
    """Rows of the tables below each heading, their cells stripped of space and emphasis."""
    found: dict[str, list[list[str]]] = {"": []}
    heading = ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("#").strip()
            found.setdefault(heading, [])
        elif line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
            found[heading].append([plain(cell) for cell in cells])
    return found


def plain(cell: str) -> str:
    """A cell of a Markdown table as text: without emphasis and escapes, and with single spaces."""
    bare = re.sub(r"\\([\\`*_{}\[\]()#+\-.!|<>~&])", r"\1", cell)
    return re.sub(r"\[ ", "[", re.sub(r"\s+", " ", bare.replace("*", ""))).strip()


def percent(value: float | None, *, signed: bool) -> str:
    """A share in percent points with a decimal, as pages write it; "-" where it is unknown."""
    if value is None or np.isnan(value):
        return "-"
    if not signed:
        return f"{100 * value:.1f}"
    text = f"{100 * value:+.1f}" if abs(value) < 9.9 else f"{100 * value:+.0f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def bracketed(value: float | None, low: float | None, high: float | None, *, signed: bool) -> str:
    """A share with its interval, as pages write it."""
    said = percent(value, signed=signed)
    if low is None or high is None or said == "-":
        return said
    return f"{said} [{percent(low, signed=signed)}, {percent(high, signed=signed)}]"
