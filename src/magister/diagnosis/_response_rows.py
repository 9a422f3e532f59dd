"""Responses as rows, of one or several files, put together into a grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.contracts.diagnosis_tables import RESPONSE_STATUSES
from magister.diagnosis._cells import NOTHING
from magister.diagnosis._rejected import Rejected
from magister.diagnosis.responses import Grid, Unparsed, count_unparsed

_ABSENT = RESPONSE_STATUSES.index("missing")


@dataclass(frozen=True)
class Rows:
    """Rows of one file, a response each.

    Attributes:
        source: the file.
        numbers: of the rows, int64, n.
        model, item_id: texts, n.
        codes: int8, n: right, wrong, or another code for none.
        status: int8, n: places in `RESPONSE_STATUSES`.
    """

    source: str
    numbers: NDArray[np.int64]
    model: pa.ChunkedArray
    item_id: pa.ChunkedArray
    codes: NDArray[np.int8]
    status: NDArray[np.int8]


def gather(parts: list[Rows], unparsed: Unparsed, rejected: Rejected) -> Grid:
    """Put rows of one or several files together.

    Of several rows of a model and an item the first is kept if all are alike, else none; the others are rejected.

    Returns:
        Models and items in the order in which they first stand there.
    """
    models, row = _coded([part.model for part in parts])
    items, column = _coded([part.item_id for part in parts])
    codes = np.concatenate([part.codes for part in parts])
    status = np.concatenate([part.status for part in parts])
    cell = row * len(items) + column
    order = np.argsort(cell, kind="stable")
    starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
    sizes = np.diff(np.append(starts, cell.size))
    first = order[starts].copy()
    conflicts = np.zeros(len(first), dtype=bool)
    for at in np.flatnonzero(sizes > 1).tolist():
        places = order[starts[at] : starts[at] + sizes[at]].tolist()
        alike = len({(int(codes[place]), int(status[place])) for place in places}) == 1
        conflicts[at] = not alike
        for place in places[1:] if alike else places:
            source, number = _origin(parts, place)
            model, item = models[int(row[place])], items[int(column[place])]
            rejected.add(
                source,
                number,
                "duplicate" if alike else "conflict",
                f"model {model!r} and item {item!r} stand in {len(places)} rows"
                + (", all alike" if alike else ", which differ; none of them is used"),
                model=model,
                item_id=item,
            )
    shape = (len(models), len(items))
    filled = np.full(shape, NOTHING, dtype=np.int8)
    what = np.full(shape, _ABSENT, dtype=np.int8)
    good = first[~conflicts]
    filled[row[good], column[good]] = codes[good]
    what[row[good], column[good]] = status[good]
    return Grid(models, items, count_unparsed(filled, what, unparsed), what)


def _coded(parts: list[pa.ChunkedArray]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Different texts in the order in which they come, and the place of each among them."""
    chunks = [chunk for part in parts for chunk in part.chunks]
    whole = pa.chunked_array(chunks, pa.string()).combine_chunks()
    whole = pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
    coded = whole.dictionary_encode()
    return tuple(coded.dictionary.to_pylist()), coded.indices.to_numpy().astype(np.int64)


def _origin(parts: list[Rows], place: int) -> tuple[str, int]:
    for part in parts:
        if place < len(part.numbers):
            return part.source, int(part.numbers[place])
        place -= len(part.numbers)
    raise IndexError(place)
