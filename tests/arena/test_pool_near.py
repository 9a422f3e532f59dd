"""Near-duplicates among vectors, against the definition written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magister.arena._near import Neighbour, near_duplicates


def unit(rows: np.ndarray) -> np.ndarray:
    wide = rows.astype(np.float64)
    return (wide / np.sqrt(np.square(wide).sum(axis=1, keepdims=True))).astype(np.float32)


def plainly(new: np.ndarray, existing: np.ndarray, threshold: float) -> list[bool]:
    """Whether each row is dropped: one after the other, no blocks."""
    kept: list[np.ndarray] = list(existing.astype(np.float64))
    dropped = []
    for row in new.astype(np.float64):
        dropped.append(any(float((row * other).sum()) >= threshold for other in kept))
        if not dropped[-1]:
            kept.append(row)
    return dropped


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(0, 12), st.integers(0, 12), st.sampled_from([0.2, 0.7, 0.95]),
    st.integers(1, 7),
)  # fmt: skip
def test_blocks_find_what_the_definition_finds(
    seed: int, new: int, existing: int, threshold: float, block: int
) -> None:
    random = np.random.default_rng(seed)
    # Few distinct directions, so that many are near.
    directions = random.normal(size=(6, 4))[random.integers(0, 6, new + existing)]
    rows = unit(directions + 0.02 * random.normal(size=(new + existing, 4)))
    found = near_duplicates(rows[:new], rows[new:], threshold, block)
    assert [one is not None for one in found] == plainly(rows[:new], rows[new:], threshold)
    assert found == near_duplicates(rows[:new], rows[new:], threshold, 1000)
    for one in found:
        assert one is None or one.cosine >= threshold


def test_the_nearest_is_named() -> None:
    new = unit(np.array([[1, 0.1], [0, 1], [0.02, 1]]))
    existing = unit(np.array([[1, 0], [1, 0.08]]))
    first, second, third = near_duplicates(new, existing, 0.9)
    assert first == Neighbour(False, 1, pytest.approx(first.cosine if first else 0))
    assert second is None
    assert third is not None
    assert (third.earlier, third.row) == (True, 1)


def test_a_row_without_a_vector_is_near_to_nothing() -> None:
    new = np.array([[np.nan, np.nan], [1, 0], [np.nan, np.nan]], dtype=np.float32)
    assert near_duplicates(new, new, 0.5)[0] is None
    assert near_duplicates(new, new, 0.5)[1] == Neighbour(False, 1, 1.0)


def test_a_cosine_at_the_threshold_is_too_near() -> None:
    one, other = np.array([[1, 0]], dtype=np.float32), np.array([[0.5, 0]], dtype=np.float32)
    assert near_duplicates(one, other, 0.5) == [Neighbour(False, 0, 0.5)]
    assert near_duplicates(one, other, float(np.nextafter(0.5, 1))) == [None]
