"""Vectors of a study's items as steps read them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.embeddings import find_rows, open_vectors
from magister.errors import UserError
from scripts.step import Step


def item_vectors(step: Step, items: pa.Table) -> NDArray[np.float64]:
    """Vectors of the items, in the order of their table.

    Raises:
        UserError: an item has no vector; names the first ones and why.
    """
    vectors = open_vectors(step.path("vectors"), step.table("ids"))
    rows = find_rows(vectors, items["item_id"].to_pylist())
    broken = ~vectors.ok[rows]
    if broken.any():
        status = step.table("ids")["status"].to_pylist()
        named = [f"{vectors.ids[row]} ({status[row]})" for row in rows[broken][:5].tolist()]
        raise UserError(
            f"{step.path('vectors')}: {int(broken.sum())} of {len(rows)} items have no vector, first: "
            f"{', '.join(named)}. `no_text`: give them a text, or leave them out of the study; `error`: run the "
            "step that embeds again"
        )
    return np.asarray(vectors.array[rows], dtype=np.float64)
