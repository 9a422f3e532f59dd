"""Texts beside one another: which stand twice, and which are unlike all others."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MIN_TEXTS = 6
"""Fewer texts say nothing about which of them is unlike the others."""
SAME = 0.9
"""Share of common pairs of characters from which two texts are nearly the same."""
APART = 0.3
"""A text is unlike the others where its nearest is below this share of what is usual."""
_SHORT = 12


class Alike(NamedTuple):
    """What was found.

    Attributes:
        repeated: (index, index of the earlier text, whether they are equal and not nearly so).
        apart: indices of texts that are unlike all others.
    """

    repeated: list[tuple[int, int, bool]]
    apart: list[int]


def _normal(text: str) -> str:
    return re.sub(r"\W+", " ", unicodedata.normalize("NFKC", text).casefold()).strip()


def _pairs(text: str) -> frozenset[str]:
    """Pairs of neighbouring characters: the same for scripts with spaces and without."""
    return frozenset(text[at : at + 2] for at in range(len(text) - 1))


def compare_texts(texts: Sequence[str]) -> Alike:
    """Compare each text with all others.

    Likeness is the share of character pairs in common (Jaccard 1912). A text is apart where its nearest neighbour
    is far below the median of all nearest neighbours; both limits are ours.

    Args:
        texts: in order.

    Reference: Jaccard, P. (1912). The distribution of the flora in the alpine zone. New Phytologist 11(2), 37-50.
    """
    normal = [_normal(text) for text in texts]
    first: dict[str, int] = {}
    repeated: list[tuple[int, int, bool]] = []
    for at, text in enumerate(normal):
        if text in first:
            repeated.append((at, first[text], True))
        first.setdefault(text, at)
    distinct = list(first.values())
    if len(distinct) < 2:
        return Alike(repeated, [])
    likeness = _likeness([_pairs(normal[at]) for at in distinct])
    for row, at in enumerate(distinct):
        earlier = likeness[row, :row]
        # Of short texts a changed word is a changed task.
        if row and len(normal[at]) >= _SHORT and earlier.max() >= SAME:
            repeated.append((at, distinct[int(earlier.argmax())], False))
    np.fill_diagonal(likeness, 0.0)
    nearest = likeness.max(axis=1)
    usual = float(np.median(nearest))
    apart = (
        [distinct[row] for row in np.flatnonzero(nearest < APART * usual)]
        if len(distinct) >= MIN_TEXTS
        else []
    )
    return Alike(sorted(repeated), apart)


def _likeness(sets: Sequence[frozenset[str]]) -> np.ndarray:
    """Jaccard likeness of each two sets."""
    from scipy.sparse import csr_array

    places = {pair: at for at, pair in enumerate(sorted(frozenset().union(*sets)))}
    columns = [places[pair] for one in sets for pair in sorted(one)]
    starts = np.cumsum([0, *(len(one) for one in sets)])
    matrix = csr_array(
        (np.ones(len(columns), dtype=np.int32), columns, starts), shape=(len(sets), max(1, len(places)))
    )
    common = (matrix @ matrix.T).toarray().astype(float)
    sizes = np.array([len(one) for one in sets], dtype=float)
    union = sizes[:, None] + sizes[None, :] - common
    likeness: np.ndarray = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    return likeness
