"""Small studies for tests of the Q-matrix: clouds of vectors, texts about three things, tables by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from magister.contracts.diagnosis_tables import DIAGNOSED_ITEMS, Q_CLUSTERS
from magister.diagnosis.clusters import Clustering, Partition, Runs, cluster_runs, name_clusters

TEXTS = {
    "gcd": "What is the greatest common divisor of {0} and {1}?",
    "rect": "A rectangle is {0} metres long and {1} metres wide. What is its perimeter?",
    "sort": "Sort these words by their letters: tree{0}, moon{1}, river.",
}


def clouds(
    groups: int, each: int, spread: float, *, width: int = 20, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Points about as many centres as groups, each centre on an axis of its own, and whose each is."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), each)
    return np.eye(groups, width)[group] + spread * rng.standard_normal((len(group), width)), group


def ids(n: int) -> list[str]:
    """Item ids in ascending order."""
    return [f"i{number:04d}" for number in range(n)]


def clustered(
    vectors: np.ndarray, ks: Sequence[int], types: Sequence[str | None] | None = None, **settings: Any
) -> Runs:
    """Runs over vectors whose items are numbered; UMAP is left out unless `neighbours` says otherwise."""
    settings = {"neighbours": len(vectors), "runs": 12} | settings
    known = [None] * len(vectors) if types is None else types
    return cluster_runs(ids(len(vectors)), known, vectors, ks, Clustering(**settings))


def partition(*labels: int) -> Partition:
    """Numbered items in clusters."""
    return name_clusters(tuple(ids(len(labels))), np.array(labels))


def hand_runs(*labels: Sequence[int], k: int = 2) -> Runs:
    """Runs by hand: a list of labels each."""
    array = np.array(labels, dtype=np.int16)
    names = tuple(ids(array.shape[1]))
    return Runs(names, (None,) * len(names), (k,), array[None])


def items_table(rows: Mapping[str, tuple[str, str | None]]) -> pa.Table:
    """DIAGNOSED_ITEMS of texts and types by id."""
    made = [{"item_id": name, "text": text, "item_type": kind} for name, (text, kind) in sorted(rows.items())]
    return pa.Table.from_pylist(made, schema=DIAGNOSED_ITEMS.schema)


def study(each: int = 8) -> tuple[pa.Table, Partition]:
    """Items about three things, and their clusters, of falling size."""
    rows, labels = {}, []
    for number, (kind, text) in enumerate(TEXTS.items()):
        for at in range(each + 2 - number):
            rows[f"{kind}-{at:02d}"] = (text.format(at + 2, 3 * at + 5), kind)
            labels.append(number)
    return items_table(rows), name_clusters(tuple(sorted(rows)), np.array(labels))


def clusters_of(parts: Partition, types: Sequence[str | None] | None = None) -> pa.Table:
    """Q_CLUSTERS of a partition: items by id, the first the most central."""
    seen: dict[int, int] = {}
    rows = []
    for at, (item, label) in enumerate(zip(parts.items, parts.labels.tolist(), strict=True)):
        seen[label] = seen.get(label, 0) + 1
        kind = None if types is None else types[at]
        rows.append(
            {"item_id": item, "attribute": parts.attributes[label], "rank": seen[label], "together": 1.0}
            | {"margin": 1.0, "item_type": kind}
        )
    return pa.Table.from_pylist(rows, schema=Q_CLUSTERS.schema)
