"""Clusters of items by their vectors, over many runs, and the partition that the runs agree on most.

A run draws its share of the items, brings their vectors to few dimensions by UMAP with a seed of its own, appends the
item types as a soft constraint, and cuts Ward's tree into every number of clusters that is asked for. One such run is
not stable, so the partition comes from all of them: two items are as near as the share of runs in which they are
together (co-association: A. Fred and A. K. Jain, IEEE TPAMI 27 (2005)).
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from magister.diagnosis.linkage import Method, apart, cut_tree, matrix_tree, ward_tree
from magister.diagnosis.projection import (
    FEW,
    Neighbours,
    among,
    nearest,
    project,
    rms_scaled,
    type_columns,
    unit_vectors,
)
from magister.errors import UserError

NOT_DRAWN = -1
"""Label of an item that a run did not draw."""


@dataclass(frozen=True)
class Clustering:
    """How items are clustered.

    Attributes:
        neighbours: of UMAP, the item itself included.
        dimensions: that UMAP brings vectors to.
        type_weight: lambda: how far apart two items of different types are put, in units of the root mean square
            length of the vectors; 0 is off.
        runs: how many, each with a seed of its own.
        share: of the items that a run draws.
        seed: of all runs.
    """

    neighbours: int = 15
    dimensions: int = 50
    type_weight: float = 0.5
    runs: int = 50
    share: float = 0.9
    seed: int = 0

    def __post_init__(self) -> None:
        least = {"neighbours": 2, "dimensions": 2, "type_weight": 0, "runs": 2, "seed": 0}
        for name, low in least.items():
            if not getattr(self, name) >= low:
                raise UserError(f"clustering: {name} {getattr(self, name)!r}; expected at least {low}")
        if not 0.5 <= self.share <= 1.0:
            raise UserError(f"clustering: share {self.share!r} of the items; expected 0.5 to 1")


@dataclass(frozen=True)
class Runs:
    """What every run made of the items.

    Attributes:
        items: ids, ascending, n.
        types: of the items; None where not known.
        ks: numbers of clusters, ascending.
        labels: int16, ks x runs x n: cluster of each item, numbered anew in every run; -1 where it was not drawn.
    """

    items: tuple[str, ...]
    types: tuple[str | None, ...]
    ks: tuple[int, ...]
    labels: NDArray[np.int16]

    def of(self, k: int) -> NDArray[np.int16]:
        """Labels of the runs at one number of clusters, runs x n.

        Raises:
            UserError: the runs were not cut into so many.
        """
        if k not in self.ks:
            raise UserError(
                f"no clusters were made for k = {k}; there are those for {', '.join(map(str, self.ks))}"
            )
        return self.labels[self.ks.index(k)]


@dataclass(frozen=True)
class Partition:
    """Items in clusters, one attribute a cluster.

    Attributes:
        items: ids, ascending, n.
        attributes: names, ascending, K; as clusters are made, `a01` is the largest.
        labels: n, place of each item's attribute.
    """

    items: tuple[str, ...]
    attributes: tuple[str, ...]
    labels: NDArray[np.intp]

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Items of each attribute, K."""
        return np.bincount(self.labels, minlength=len(self.attributes))


class _Task(NamedTuple):
    unit: NDArray[np.float64]
    types: tuple[str | None, ...]
    near: Neighbours | None
    ks: tuple[int, ...]
    clustering: Clustering


def cluster_runs(
    items: Sequence[str],
    types: Sequence[str | None],
    vectors: NDArray[np.floating],
    ks: Sequence[int],
    clustering: Clustering,
    *,
    workers: int = 1,
) -> Runs:
    """Cluster items many times.

    UMAP is left out where there are fewer than 4 times `neighbours` items: the neighbourhoods of so few overlap, and
    their graph says little that the vectors do not. Ward's method then works on the vectors themselves, and runs
    differ by the items they draw alone.

    Args:
        items: ids, n, in any order: they are sorted first, and nothing depends on how they came.
        types: of the items; None where not known.
        vectors: n x d, one a row; lengths do not matter.
        ks: numbers of clusters.
        clustering: how.
        workers: processes that runs are spread over; results are the same for any number.

    Returns:
        Labels of all runs.

    Raises:
        UserError: an id stands twice, an item has no vector, or there are too few different items for a number of
            clusters.
    """
    order = sorted(range(len(items)), key=items.__getitem__)
    names = tuple(items[at] for at in order)
    twice = [one for one, two in pairwise(names) if one == two]
    if twice:
        raise UserError(
            f"the item {twice[0]!r} stands twice ({len(twice)} such items); expected one vector an item"
        )
    if len(types) != len(names):
        raise UserError(f"{len(types)} types for {len(names)} items")
    unit = unit_vectors(np.asarray(vectors), items)[order]
    kinds = tuple(types[at] for at in order)
    numbers = tuple(sorted(set(ks)))
    _check(unit, kinds, numbers, clustering)
    near = None
    if _uses_umap(len(names), clustering):
        # Spare ones, so that those within a sample are nearly always among them.
        near = nearest(unit, min(len(names), 2 * clustering.neighbours + 10))
    task = _Task(unit, kinds, near, numbers, clustering)
    labels = np.full((len(numbers), clustering.runs, len(names)), NOT_DRAWN, np.int16)
    # Without UMAP a run takes less time than a process takes to start.
    for run, made in enumerate(_each(task, 1 if near is None else workers)):
        labels[:, run] = made
    return Runs(names, kinds, numbers, labels)


def _uses_umap(n: int, clustering: Clustering) -> bool:
    return n >= FEW * clustering.neighbours


def _each(task: _Task, workers: int) -> Iterator[NDArray[np.int16]]:
    """Labels of each run in turn."""
    runs = range(task.clustering.runs)
    if workers == 1:
        yield from map(partial(_run, task), runs)
        return
    # Not forked: a copy of a process with threads may hang.
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(partial(_run, task), runs)


def _check(
    unit: NDArray[np.float64], types: Sequence[str | None], ks: Sequence[int], clustering: Clustering
) -> None:
    if not ks or ks[0] < 1:
        raise UserError(f"numbers of clusters {list(ks)}; expected one or more, each from 1")
    most = len(_drawn(len(unit), clustering, 0)) - 1
    if ks[-1] > most:
        raise UserError(
            f"k = {ks[-1]} clusters of {len(unit)} items, of which a run draws {most + 1}; expected at most {most}: "
            "lower k, or add items"
        )
    different = np.unique(unit, axis=0)
    if clustering.type_weight > 0:
        kinds = np.unique([kind or "" for kind in types], return_inverse=True)[1]
        different = np.unique(np.column_stack([unit, kinds]), axis=0)
    if ks[-1] > len(different):
        raise UserError(
            f"k = {ks[-1]} clusters of {len(unit)} items that have only {len(different)} different vectors; expected "
            f"at most {len(different)}: lower k, or look for items that are copies of others"
        )


def _drawn(n: int, clustering: Clustering, run: int) -> NDArray[np.intp]:
    """Places of the items that a run draws, ascending.

    A shuffle of the items is dealt into as many hands as make one hand the share that is left out, and successive runs
    leave out one hand each; then comes another shuffle. So every item is drawn about equally often.
    """
    if clustering.share == 1.0:
        return np.arange(n)
    hands = round(1 / (1 - clustering.share))
    shuffle = np.random.default_rng([clustering.seed, 1, run // hands]).permutation(n)
    return np.sort(np.delete(shuffle, np.s_[run % hands :: hands]))


def _run(task: _Task, run: int) -> NDArray[np.int16]:
    """Labels of one run, ks x n."""
    clustering = task.clustering
    sample = _drawn(len(task.unit), clustering, run)
    points = task.unit[sample]
    if task.near is not None:
        near = among(task.near, sample, task.unit, clustering.neighbours)
        seed = int(np.random.default_rng([clustering.seed, 2, run]).integers(2**31))
        points = project(points, near, clustering.dimensions, seed)
    points = rms_scaled(points)
    if clustering.type_weight > 0:
        kinds = [task.types[at] for at in sample]
        points = np.column_stack([points, type_columns(kinds, clustering.type_weight)])
    labels = np.full((len(task.ks), len(task.unit)), NOT_DRAWN, np.int16)
    labels[:, sample] = cut_tree(ward_tree(points), task.ks)
    return labels


def consensus(runs: Runs, k: int, method: Method = "ward") -> Partition:
    """The partition that runs agree on: the tree of 1 - co-association, cut into as many clusters.

    Args:
        runs: labels of all runs.
        k: number of clusters.
        method: `ward`, which takes 1 - co-association for a squared distance: it is one, of memberships in all runs. Or
            `average` linkage, which breaks items off that are seldom with any other, in clusters of one or two, and
            joins real clusters for it.

    Returns:
        The partition; attributes are numbered by size, from the largest, and then by their smallest item.

    Raises:
        UserError: the runs were not cut into so many clusters.
    """
    tree = matrix_tree(apart(np.ascontiguousarray(runs.of(k).T)), method)
    return name_clusters(runs.items, cut_tree(tree, [k])[0])


def name_clusters(items: tuple[str, ...], labels: NDArray[np.integer]) -> Partition:
    """Name clusters `a01`, `a02` ... by size, from the largest, and then by their smallest item.

    Args:
        items: ids, ascending, n.
        labels: n, of K clusters, numbered in any way.
    """
    _, first, place, size = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -size))
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order))
    digits = max(2, len(str(len(order))))
    names = tuple(f"a{number:0{digits}d}" for number in range(1, len(order) + 1))
    return Partition(items, names, rank[place])
