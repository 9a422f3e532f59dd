"""What is believed of a Q-matrix before any response is seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from magister.errors import UserError


@dataclass(frozen=True)
class QPrior:
    """Prior of J items x K attributes.

    Attributes:
        items: their ids, J.
        attributes: their names, K.
        reference: J x K, the Q-matrix that the prior believes in; every row has at least one True.
        probability: float64, J x K, r_jk: that item j needs attribute k, within (0, 1); exactly 0 or 1 fixes an entry.
    """

    items: tuple[str, ...]
    attributes: tuple[str, ...]
    reference: NDArray[np.bool_]
    probability: NDArray[np.float64]

    def __post_init__(self) -> None:
        shape = (len(self.items), len(self.attributes))
        if self.reference.shape != shape or self.probability.shape != shape:
            raise ValueError(f"a prior of {shape} with {self.reference.shape} and {self.probability.shape}")


def q_matrix(q: pd.DataFrame) -> QPrior:
    """A Q-matrix as a prior that leaves nothing open.

    Args:
        q: items (index) x attributes (columns) of 0 and 1.

    Raises:
        UserError: a value is neither 0 nor 1, an item needs no attribute, or a name stands twice.
    """
    values = q.to_numpy(dtype=object)
    bad = ~((values == 0) | (values == 1))
    if bad.any():
        row, column = (int(index[0]) for index in np.nonzero(bad))
        raise UserError(
            f"Q-matrix: item {q.index[row]!r}, attribute {q.columns[column]!r}: expected 0 or 1, found "
            f"{values[row, column]!r}"
        )
    reference = (values == 1).astype(bool)
    for names, what in ((q.index, "item"), (q.columns, "attribute")):
        if names.has_duplicates:
            raise UserError(f"Q-matrix: the {what} {names[names.duplicated()][0]!r} stands twice")
    if not reference.any(axis=1).all():
        item = q.index[int(np.flatnonzero(~reference.any(axis=1))[0])]
        raise UserError(f"Q-matrix: the item {item!r} needs no attribute; every item needs at least one")
    return QPrior(
        tuple(map(str, q.index)), tuple(map(str, q.columns)), reference, reference.astype(np.float64)
    )


def point_prior(reference: QPrior, *, kept: float = 0.8, added: float | None = None) -> QPrior:
    """The same belief in every entry of a Q-matrix.

    Args:
        reference: whose Q-matrix is believed in.
        kept: p*, probability of an entry that is there.
        added: probability of one that is not; 1/K where not given: 1 - p* would mean many attributes an item.
    """
    low = 1.0 / len(reference.attributes) if added is None else added
    return QPrior(
        reference.items,
        reference.attributes,
        reference.reference,
        np.where(reference.reference, kept, low).astype(np.float64),
    )
