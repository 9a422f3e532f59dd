"""Agglomerative clustering in little memory: trees by nearest-neighbour chains, cut into any number of clusters.

Ward's method on points holds the points alone, where a matrix of distances of 12,000 items would take 1.2 GB in float64
and its copy; a co-association matrix is held once, in float32, and worked on in place. Both chains find the same trees
as a search over all pairs, as either method's distances are reducible: F. Murtagh, A survey of recent advances in
hierarchical clustering algorithms, Computer Journal 26 (1983). Sums run in one order on one thread, so that the trees
are the same on any number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numba
import numpy as np
from numpy.typing import NDArray

Method = Literal["ward", "average"]
Tree = NDArray[np.int64]
"""(n - 1) x 2: an item of each of the two clusters that a merge joins, from the closest to the farthest merge."""


@numba.njit(cache=True, nogil=True)
def _forget(slot: int, last: int, chain: Any, place: Any) -> None:
    """What stood in the last slot now stands in another one, in the chain too."""
    place[slot] = place[last]
    if place[last] >= 0:
        chain[place[last]] = slot
    place[last] = -1


@numba.njit(cache=True, nogil=True)
def _ward_chain(centre: Any, merges: Any, heights: Any) -> None:
    """Merges of points, in the order of the chain; `centre` (d x n) is overwritten."""
    width, active = centre.shape
    size = np.ones(active)
    item = np.arange(active)
    chain = np.empty(active, np.int64)
    place = np.full(active, -1, np.int64)
    far = np.empty(active)
    length = done = 0
    while active > 1:
        if length == 0:
            chain[0] = place[0] = 0
            length = 1
        top = chain[length - 1]
        # Slots run inside, so that the loop is vectorised without changing the order of any sum.
        far[:active] = 0.0
        for axis in range(width):
            here = centre[axis, top]
            for slot in range(active):
                step = centre[axis, slot] - here
                far[slot] += step * step
        for slot in range(active):
            far[slot] *= size[slot] * size[top] / (size[slot] + size[top])
        before = chain[length - 2] if length > 1 else -1
        nearest, least = before, far[before] if before >= 0 else np.inf
        for slot in range(active):
            if slot != top and far[slot] < least:
                nearest, least = slot, far[slot]
        if nearest != before:
            chain[length] = nearest
            place[nearest] = length
            length += 1
            continue
        length -= 2
        kept, gone = min(top, before), max(top, before)
        place[kept] = place[gone] = -1
        merges[done, 0], merges[done, 1], heights[done] = item[kept], item[gone], least
        done += 1
        total = size[kept] + size[gone]
        for axis in range(width):
            both = size[kept] * centre[axis, kept] + size[gone] * centre[axis, gone]
            centre[axis, kept] = both / total
        size[kept], item[kept] = total, min(item[kept], item[gone])
        active -= 1
        if gone != active:
            centre[:, gone], size[gone], item[gone] = centre[:, active], size[active], item[active]
            _forget(gone, active, chain, place)


@numba.njit(cache=True, nogil=True)
def _matrix_chain(far: Any, ward: bool, merges: Any, heights: Any) -> None:
    """Merges by a matrix of distances, in the order of the chain; the matrix is overwritten."""
    active = len(far)
    size = np.ones(active)
    item = np.arange(active)
    chain = np.empty(active, np.int64)
    place = np.full(active, -1, np.int64)
    length = done = 0
    while active > 1:
        if length == 0:
            chain[0] = place[0] = 0
            length = 1
        top = chain[length - 1]
        before = chain[length - 2] if length > 1 else -1
        nearest, least = before, far[top, before] if before >= 0 else np.float32(np.inf)
        for slot in range(active):
            if slot != top and far[top, slot] < least:
                nearest, least = slot, far[top, slot]
        if nearest != before:
            chain[length] = nearest
            place[nearest] = length
            length += 1
            continue
        length -= 2
        kept, gone = min(top, before), max(top, before)
        place[kept] = place[gone] = -1
        merges[done, 0], merges[done, 1], heights[done] = item[kept], item[gone], least
        done += 1
        one, two = size[kept], size[gone]
        for slot in range(active):
            # Lance and Williams, Computer Journal 9 (1967).
            a, b, other = np.float64(far[kept, slot]), np.float64(far[gone, slot]), size[slot]
            if ward:
                joined = ((one + other) * a + (two + other) * b - other * least) / (one + two + other)
            else:
                joined = (one * a + two * b) / (one + two)
            far[kept, slot] = far[slot, kept] = joined
        far[kept, kept] = 0.0
        size[kept], item[kept] = one + two, min(item[kept], item[gone])
        active -= 1
        if gone != active:
            far[gone, :active], size[gone], item[gone] = far[active, :active], size[active], item[active]
            far[:active, gone] = far[gone, :active]
            far[gone, gone] = 0.0
            _forget(gone, active, chain, place)


def ward_tree(points: NDArray[np.float64]) -> Tree:
    """Ward's tree of points.

    Args:
        points: n x d.

    Returns:
        n - 1 merges by the growth of the sum of squares; equal ones in the order in which they were found, which
        depends on the order of the points alone.

    References:
        J. H. Ward, Hierarchical grouping to optimize an objective function, JASA 58 (1963).
    """
    merges, heights = _room(len(points))
    _ward_chain(np.array(points.T, dtype=np.float64, order="C"), merges, heights)
    return _sorted(merges, heights)


def matrix_tree(distances: NDArray[np.float32], method: Method) -> Tree:
    """Tree by a matrix of distances, which is overwritten.

    Args:
        distances: float32, n x n, symmetric, zero on the diagonal; squared ones for `ward`.
        method: `average` (mean distance of two clusters' items) or `ward`.

    Returns:
        n - 1 merges, as `ward_tree` has them.
    """
    merges, heights = _room(len(distances))
    _matrix_chain(distances, method == "ward", merges, heights)
    return _sorted(merges, heights)


def _room(n: int) -> tuple[Tree, NDArray[np.float64]]:
    return np.zeros((max(0, n - 1), 2), np.int64), np.zeros(max(0, n - 1))


def _sorted(merges: Tree, heights: NDArray[np.float64]) -> Tree:
    return merges[np.argsort(heights, kind="stable")]


def cut_tree(tree: Tree, ks: Sequence[int]) -> NDArray[np.int16]:
    """Cut a tree into clusters.

    Args:
        tree: of n items.
        ks: numbers of clusters, each within 1..n.

    Returns:
        len(ks) x n, labels from 0, by the smallest item of each cluster.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(tree) + 1
    labels = np.empty((len(ks), n), np.int16)
    for row, k in enumerate(ks):
        one, two = tree[: n - k].T
        joined = coo_array((np.ones(n - k, np.int8), (one, two)), shape=(n, n))
        # Components are numbered by their first item.
        labels[row] = connected_components(joined, directed=False)[1]
    return labels


@numba.njit(cache=True, nogil=True)
def apart(labels: Any) -> Any:
    """Distances of items over runs: 1 - the share of runs in which two items are together, of those that drew both.

    Args:
        labels: int16, n x runs, C-contiguous; -1 where a run did not draw the item.

    Returns:
        float32, n x n; 1 for two items that no run drew together.
    """
    n, runs = labels.shape
    far = np.zeros((n, n), np.float32)
    for one in range(n):
        for two in range(one):
            both = together = 0
            for run in range(runs):
                drawn = labels[one, run] >= 0 and labels[two, run] >= 0
                both += drawn
                together += drawn and labels[one, run] == labels[two, run]
            if both > 0:
                far[one, two] = far[two, one] = 1.0 - together / both
            else:
                far[one, two] = far[two, one] = 1.0
    return far
