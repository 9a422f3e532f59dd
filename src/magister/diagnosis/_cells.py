"""Values of responses as files write them."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

RIGHT, WRONG, NOTHING, EMPTY, BAD = 1, 0, -1, -2, -3
"""Codes of a cell: a response, no value at all (NA, null), an empty text, and what is none of these."""

EXPECTED = "1, 0, true, false, nothing (an empty cell) or NA"

_WORDS = {
    **dict.fromkeys(("1", "1.0", "true"), RIGHT),
    **dict.fromkeys(("0", "0.0", "false"), WRONG),
    "": EMPTY,
    "na": NOTHING,
}


def cell_codes(column: pa.ChunkedArray) -> NDArray[np.int8]:
    """Read a column of responses.

    Args:
        column: of truth values, numbers or texts.

    Returns:
        int8, a code a row, free to be changed.
    """
    kind = column.type
    if pa.types.is_boolean(kind):
        return np.array(pc.fill_null(column.cast(pa.int8()), NOTHING).to_numpy(), dtype=np.int8)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = column.cast(pa.float64(), safe=False).to_numpy()
        return np.select([np.isnan(values), values == 1, values == 0], [NOTHING, RIGHT, WRONG], BAD).astype(
            np.int8
        )
    if pa.types.is_nested(kind):
        return np.where(column.is_null().to_numpy(), NOTHING, BAD).astype(np.int8)
    # Few different values, however many rows.
    coded = (column if pa.types.is_dictionary(kind) else column.dictionary_encode()).combine_chunks()
    coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
    known = np.array([*map(_word, coded.dictionary.to_pylist()), NOTHING], dtype=np.int8)
    places = pc.fill_null(coded.indices, len(known) - 1)
    return known[places.to_numpy(zero_copy_only=False).astype(np.int64)]


def _word(value: object) -> int:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOTHING
    return _WORDS.get(value.strip().casefold(), BAD) if isinstance(value, str) else BAD
