"""Vectors made ready for clustering: neighbours by cosine, fewer dimensions by UMAP, types as a soft constraint."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from magister.errors import UserError

GRID = 2.0**20
"""Unit vectors are rounded to whole numbers of this part of 1: products of two then sum exactly in float64 (41 bits of
53), so that neighbours do not depend on the number of threads, and ties are ties."""
FEW = 4
"""UMAP is left out below so many times `neighbours` items."""
EPOCHS = 200
"""Of UMAP: on 900 items 500 of them take twice as long, and runs of other seeds agree less, not more."""
_BLOCK = 1024
# What UMAP says of neighbours that are given to it (it could not project more items later; none are), and on import.
_KNOWN = (r"precomputed_knn\[2\]", "Tensorflow not installed")


class Neighbours(NamedTuple):
    """The nearest neighbours of n items, each first its own.

    Attributes:
        rows: n x m, places of the neighbours, nearest first; ties by place.
        distances: n x m, 1 - cosine.
    """

    rows: NDArray[np.int32]
    distances: NDArray[np.float32]


def unit_vectors(vectors: NDArray[np.floating], names: Sequence[str]) -> NDArray[np.float64]:
    """Rows of length 1, on a grid on which dot products are exact.

    Args:
        vectors: n x d.
        names: of the rows, for messages.

    Returns:
        float64, n x d.

    Raises:
        UserError: the rows are not as many as the names, or one is no vector: not finite, or of length 0.
    """
    array = np.asarray(vectors, dtype=np.float64)
    if array.ndim != 2 or len(array) != len(names) or array.shape[1] == 0:
        raise UserError(
            f"vectors of shape {array.shape} for {len(names)} items; expected a row of numbers per item"
        )
    # The largest value first, so that squares of very large or small values neither overflow nor vanish.
    largest = np.abs(array).max(axis=1, initial=0.0)
    broken = ~(np.isfinite(largest) & (largest > 0))
    if broken.any():
        first = ", ".join(sorted(np.array(names)[broken].tolist())[:5])
        raise UserError(
            f"{int(broken.sum())} of {len(names)} items have no vector (not finite, or of length 0); first: {first}. "
            "The table beside the vectors says why (`status`): embed them again, or leave these items out of the study"
        )
    scaled = array / largest[:, None]
    unit = scaled / np.sqrt(np.square(scaled).sum(axis=1, keepdims=True))
    return np.round(unit * GRID) / GRID


def nearest(unit: NDArray[np.float64], count: int, of: NDArray[np.intp] | None = None) -> Neighbours:
    """Find the nearest neighbours by cosine, exactly.

    Args:
        unit: n x d, from `unit_vectors`.
        count: neighbours of each, itself included, at most n.
        of: rows whose neighbours are wanted; all by default.

    Returns:
        Neighbours of these rows.
    """
    wanted = np.arange(len(unit)) if of is None else of
    rows = np.empty((len(wanted), count), np.int32)
    distances = np.empty((len(wanted), count), np.float32)
    for start in range(0, len(wanted), _BLOCK):
        block = wanted[start : start + _BLOCK]
        cosine = unit[block] @ unit.T
        cosine[np.arange(len(block)), block] = np.inf
        least = np.partition(cosine, -count, axis=1)[:, -count]
        # All ties of the last one are candidates, so that places and nothing else decide between them.
        row, column = np.nonzero(cosine >= least[:, None])
        value = cosine[row, column]
        order = np.lexsort((column, -value, row))
        first = np.searchsorted(row, np.arange(len(block)))
        taken = order[first[:, None] + np.arange(count)]
        rows[start : start + _BLOCK] = column[taken]
        distances[start : start + _BLOCK] = np.clip(1.0 - value[taken], 0.0, None)
    return Neighbours(rows, distances)


def among(found: Neighbours, sample: NDArray[np.intp], unit: NDArray[np.float64], count: int) -> Neighbours:
    """The nearest neighbours within a sample, from those within all items.

    Args:
        found: of all items, more than `count` each.
        sample: ascending places.
        unit: n x d.
        count: neighbours of each, itself included.

    Returns:
        Neighbours, rows as places in the sample. A row of which too few neighbours were drawn is searched anew.
    """
    place = np.full(len(unit), -1, np.int32)
    place[sample] = np.arange(len(sample), dtype=np.int32)
    rows, distances = place[found.rows[sample]], found.distances[sample]
    order = np.argsort(rows < 0, axis=1, kind="stable")[:, :count]
    rows, distances = np.take_along_axis(rows, order, 1), np.take_along_axis(distances, order, 1)
    short = np.flatnonzero((rows < 0).any(axis=1))
    if len(short):
        again = nearest(unit[sample], count, short)
        rows[short], distances[short] = again
    return Neighbours(rows, distances)


def umap_size(n: int, dimensions: int, width: int) -> int:
    """Dimensions that UMAP can give to n items: at most a quarter of them, and no more than the vectors have.

    Its start from the graph's eigenvectors needs more items than twice the dimensions.
    """
    return max(2, min(dimensions, n // 4, width))


def project(
    unit: NDArray[np.float64], neighbours: Neighbours, dimensions: int, seed: int
) -> NDArray[np.float64]:
    """Fewer dimensions by UMAP, on one thread.

    Args:
        unit: n x d.
        neighbours: of each item.
        dimensions: wanted; see `umap_size`.
        seed: of the run.

    Returns:
        float64, n x dimensions.

    References:
        L. McInnes, J. Healy and J. Melville, UMAP: Uniform Manifold Approximation and Projection for Dimension
        Reduction, arXiv 1802.03426.
    """
    # Imported on use: it takes seconds.
    import numba
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings():
        for known in _KNOWN:
            warnings.filterwarnings("ignore", message=known)
        import umap

        threads = numba.get_num_threads()
        numba.set_num_threads(1)
        try:
            with threadpool_limits(1):
                reducer = umap.UMAP(
                    n_neighbors=neighbours.rows.shape[1],
                    n_components=umap_size(len(unit), dimensions, unit.shape[1]),
                    # Clusters, not a picture: points may lie on one another.
                    min_dist=0.0,
                    metric="cosine",
                    n_epochs=EPOCHS,
                    random_state=seed,
                    n_jobs=1,
                    precomputed_knn=(neighbours.rows, neighbours.distances, None),
                    # Else neighbours of fewer than 4,096 items are computed again, on all threads.
                    force_approximation_algorithm=True,
                )
                return np.asarray(reducer.fit_transform(unit.astype(np.float32)), dtype=np.float64)
        finally:
            numba.set_num_threads(threads)


def rms_scaled(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points about their mean, of root mean square length 1; as they are where all are the same."""
    centred = points - points.mean(axis=0)
    mean_square = np.square(centred).sum() / max(1, len(points))
    return centred / np.sqrt(mean_square) if mean_square > 0 else centred


def type_columns(types: Sequence[str | None], weight: float) -> NDArray[np.float64]:
    """Columns that put items of two types `weight` apart.

    Args:
        types: of n items; None where not known.
        weight: lambda, in units of the root mean square length of the vectors.

    Returns:
        float64, n x types: weight * one-hot / sqrt(2). An item of unknown type stands at the mean of the known ones.
    """
    known = sorted({kind for kind in types if kind is not None})
    place = {kind: at for at, kind in enumerate(known)}
    hot = np.zeros((len(types), len(known)))
    rows = np.array([at for at, kind in enumerate(types) if kind is not None], dtype=np.intp)
    hot[rows, [place[kind] for kind in types if kind is not None]] = 1.0
    if 0 < len(rows) < len(types):
        hot[np.setdiff1d(np.arange(len(types)), rows)] = hot[rows].mean(axis=0)
    return weight * hot / np.sqrt(2.0)
