"""Small pools of instructions, and the greedy written out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from magister.arena.effort import Effort
from magister.arena.vectors import Vectors

# So little that every block is one instruction, or one pair.
TIGHT = Effort(memory=1, threads=1)


def ids_of(count: int) -> list[str]:
    return [f"i{k:04}" for k in range(count)]


def vectors(name: str, values: NDArray, ids: list[str] | None = None) -> Vectors:
    return Vectors(name, values, pa.array(ids or ids_of(len(values)), pa.string()))


def normal(seed: int, *shape: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal(shape)


def written_out(
    similarity: NDArray[np.float64], cosine: NDArray[np.float64], k: int, lam: float, penalty: str
) -> list[int]:
    """Picks of one pair, a loop over steps and instructions."""
    picked: list[int] = []
    while len(picked) < k:
        best, row = np.inf, -1
        for x, value in enumerate(similarity.tolist()):
            if x in picked or np.isnan(value):
                continue
            near = [cosine[x, z] for z in picked]
            worth = (
                value
                if not near
                else value + lam * (max(near) if penalty == "max" else sum(near) / len(near))
            )
            if worth < best:
                best, row = worth, x
        if row < 0:
            break
        picked.append(row)
    return picked + [-1] * (k - len(picked))


@st.composite
def pools(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64], int, float]:
    """Similarities with ties and gaps, vectors with duplicates and opposites, K and lambda."""
    count, width = draw(st.integers(1, 24)), draw(st.integers(1, 4))
    pairs = draw(st.integers(1, 4))
    coarse = st.integers(-3, 3).map(lambda step: step / 4)
    fine = st.floats(-1, 1, allow_subnormal=False)
    similarity = draw(
        hnp.arrays(np.float64, (pairs, count), elements=st.one_of(coarse, coarse, fine, st.just(np.nan)))
    )
    whole = st.integers(-2, 2).map(float)
    values = draw(hnp.arrays(np.float64, (count, width), elements=st.one_of(whole, whole, st.floats(-9, 9))))
    return similarity, values, draw(st.integers(1, 8)), draw(st.sampled_from([0.0, 0.25, 1.0, 3.0]))
