"""Files of vectors: one `.npy` a model, mapped into memory, and a table that says which row is whose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.contracts.arena_tables import VECTORS
from magister.embeddings._embed import Embedded
from magister.errors import UserError
from magister.llm import write_pieces

Precision = Literal["float16", "float32"]
UNIT_TOLERANCE: dict[str, float] = {"float16": 2e-3, "float32": 1e-5}
"""How far from 1 the length of a row may be."""
_BLOCK = 4096


@dataclass(frozen=True)
class VectorFile:
    """Vectors of one model's responses, or of the instructions.

    Attributes:
        ids: instruction ids, ascending; row by row.
        array: shape (n, dimensions), float16 or float32, mapped read-only; rows without a vector are NaN.
        ok: shape (n,), whether a row holds a vector.
    """

    ids: list[str]
    array: NDArray[Any]
    ok: NDArray[np.bool_]


def vector_table(ids: Sequence[str], embedded: Embedded) -> pa.Table:
    """Say which row of a file of vectors is whose, and what is known of it.

    Args:
        ids: instruction ids, ascending and distinct, in the order of the texts.
        embedded: what became of the texts.

    Returns:
        VECTORS table.

    Raises:
        ValueError: the ids do not ascend, or are not as many as the vectors.
    """
    if len(ids) != len(embedded.vectors):
        raise ValueError(f"{len(ids)} ids for {len(embedded.vectors)} vectors")
    if any(one >= two for one, two in pairwise(ids)):
        raise ValueError("ids must ascend: the table is sorted by them and its rows are those of the file")
    have = np.isfinite(embedded.vectors).all(axis=1) & (embedded.vectors.shape[1] > 0)
    return pa.table(
        {
            "instruction_id": pa.array(ids, pa.string()),
            "row": pa.array(np.arange(len(ids), dtype=np.int32)),
            "status": pa.array(
                [
                    "ok" if there else "no_text" if error is None else "error"
                    for there, error in zip(have.tolist(), embedded.errors, strict=True)
                ],
                pa.string(),
            ),
            "tokens": pa.array(embedded.tokens, pa.int32()),
            "truncated": pa.array(embedded.truncated, pa.bool_()),
            "error": pa.array(embedded.errors, pa.string()),
        },
        schema=VECTORS.schema,
    )


def write_vectors(path: Path, embedded: Embedded, precision: Precision = "float32") -> None:
    """Write a `.npy` file: whole or not at all, the same bytes for the same vectors.

    Args:
        path: where to.
        embedded: what became of the texts.
        precision: `float16` halves the file; cosines then hold to about three digits.

    Raises:
        UserError: no text has a vector, or the file cannot be written.
    """
    if embedded.vectors.shape[1] == 0:
        raise UserError(
            f"{path}: none of the {len(embedded.vectors)} texts has a vector. `status` in the table of responses "
            "says why there are no texts."
        )
    write_pieces(path, _npy(embedded.vectors, np.dtype(precision).newbyteorder("<")))


def _npy(vectors: NDArray[Any], kind: np.dtype[Any]) -> Iterator[bytes]:
    """A `.npy` file in pieces."""
    header = BytesIO()
    described = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": vectors.shape}
    np.lib.format.write_array_header_1_0(header, described)
    yield header.getvalue()
    for start in range(0, len(vectors), _BLOCK):
        yield np.ascontiguousarray(vectors[start : start + _BLOCK], dtype=kind).tobytes()


def open_vectors(path: Path, table: pa.Table) -> VectorFile:
    """Map a file of vectors into memory and hold it to its table. Reads no vector.

    Args:
        path: the `.npy` file.
        table: its VECTORS table.

    Raises:
        UserError: the file is missing or is no such file, or the table is not that of this file.
    """
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise UserError(f"{path}: not found. Run the step that writes it.") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a readable .npy file: {error}. {_REBUILD}") from None
    if array.ndim != 2 or array.dtype not in (np.float16, np.float32):
        raise UserError(
            f"{path}: expected rows of float16 or float32, found {array.dtype} of shape {array.shape}. {_REBUILD}"
        )
    ids = table["instruction_id"].to_pylist()
    rows = table["row"].to_numpy()
    if len(ids) != len(array) or not np.array_equal(rows, np.arange(len(array))) or ids != sorted(set(ids)):
        raise UserError(
            f"{path}: {len(array)} vectors, and a table of {len(ids)} rows that is not theirs. {_REBUILD}"
        )
    return VectorFile(ids, array, np.array([status == "ok" for status in table["status"].to_pylist()], bool))


_REBUILD = "Delete both files and run the step that writes them."


def find_rows(vectors: VectorFile, ids: Sequence[str]) -> NDArray[np.int64]:
    """Find the rows of some ids.

    Args:
        vectors: the file.
        ids: instruction ids, in any order.

    Returns:
        Row numbers, shape (len(ids),).

    Raises:
        UserError: an id has no row; names the first.
    """
    known = np.array(vectors.ids, dtype=np.str_)
    wanted = np.array(list(ids), dtype=np.str_)
    places = np.searchsorted(known, wanted).astype(np.int64)
    hit = places < len(known)
    hit[hit] = known[places[hit]] == wanted[hit]
    if not hit.all():
        first = wanted[~hit][0]
        raise UserError(
            f"{int((~hit).sum())} of {len(wanted)} instructions have no row of vectors; first: {first}"
        )
    return places


def broken_rows(vectors: VectorFile) -> list[str]:
    """Find rows that are not what the table says: of length 1 where there is a vector, NaN elsewhere.

    Args:
        vectors: the file. It is read block by block.

    Returns:
        Ids of the broken rows, ascending.
    """
    tolerance = UNIT_TOLERANCE[vectors.array.dtype.name]
    broken: list[str] = []
    for start in range(0, len(vectors.array), _BLOCK):
        block = np.asarray(vectors.array[start : start + _BLOCK], dtype=np.float64)
        ok = vectors.ok[start : start + _BLOCK]
        length = np.sqrt(np.square(block).sum(axis=1))
        good = np.where(ok, np.abs(length - 1.0) <= tolerance, np.isnan(block).all(axis=1))
        broken += [vectors.ids[start + place] for place in np.flatnonzero(~good)]
    return broken
