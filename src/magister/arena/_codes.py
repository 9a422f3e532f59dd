"""Texts as whole numbers, and what a vote may say: the one place where votes are coded."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Ints = NDArray[np.int64]

LABELS = {"model_a": 0, "a": 0, "model_b": 1, "b": 1, "tie": 2, "tie (bothbad)": 3, "both_bad": 3}
"""What `winner` may say: the side that won, or a tie; `both_bad` is a tie that is counted on its own too."""
UNKNOWN, UNJUDGED = -1, -2
"""Codes of a winner that is none of `LABELS`, and of none at all."""


def text_codes(*columns: pa.ChunkedArray | pa.Array) -> tuple[list[Ints], list[str]]:
    """Codes of several columns of one vocabulary, in the order of the labels, whatever the order of the rows.

    Args:
        columns: texts, or values that are written as texts (7.0 in a column of whole numbers is "7").

    Returns:
        Codes of each column, -1 for null and empty texts; and the labels.
    """
    encoded = [_texts(column).combine_chunks().dictionary_encode() for column in columns]
    vocabularies = [part.dictionary.to_pylist() for part in encoded]
    labels = sorted({text for vocabulary in vocabularies for text in vocabulary} - {""})
    place = {text: k for k, text in enumerate(labels)}
    out = []
    for part, vocabulary in zip(encoded, vocabularies, strict=True):
        codes = np.array([*(place.get(text, -1) for text in vocabulary), -1], dtype=np.int64)
        at = pc.fill_null(part.indices, len(vocabulary)).to_numpy(zero_copy_only=False)
        out.append(codes[at])
    return out, labels


def winner_codes(column: pa.ChunkedArray | pa.Array) -> Ints:
    """What each vote says: 0 side a, 1 side b, 2 tie, 3 a tie of two bad ones, else `UNKNOWN` or `UNJUDGED`."""
    (winner,), labels = text_codes(column)
    said = np.array([*(LABELS.get(label, UNKNOWN) for label in labels), UNJUDGED], dtype=np.int64)
    return np.asarray(said[winner], dtype=np.int64)


def _texts(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        # Frames turn whole numbers with gaps into floats: 7.0 is the label "7", and NaN is none.
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        whole = pc.cast(column, pa.int64(), safe=False)
        if pc.all(pc.equal(pc.cast(whole, column.type), column)).as_py():
            column = whole
    if pa.types.is_null(column.type) or not pa.types.is_string(column.type):
        column = column.cast(pa.string())
    return column
