"""Tables of the Q-matrix: runs, clusters, prior and attributes, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.contracts.diagnosis_tables import CLUSTER_RUNS, Q_ATTRIBUTES, Q_CLUSTERS, Q_PRIOR
from magister.diagnosis.clusters import Partition, Runs
from magister.diagnosis.coassociation import Membership, rank_items
from magister.diagnosis.labels import item_texts, text_of
from magister.diagnosis.prior import QPrior
from magister.diagnosis.review import Decision, Decisions, surviving
from magister.diagnosis.terms import cluster_terms
from magister.errors import UserError
from magister.provenance import value_sha256

_REBUILD = "Delete the table and run the step that writes it"


def runs_table(runs: Runs, made_from: str) -> pa.Table:
    """Runs as a table.

    Args:
        runs: labels of all runs.
        made_from: hash of what they were made from.

    Returns:
        CLUSTER_RUNS table, sorted.
    """
    count, n = len(runs.ks), len(runs.items)
    # One list of labels for each k and item.
    flat = pa.array(np.ascontiguousarray(runs.labels.transpose(0, 2, 1)).ravel(), pa.int16())
    offsets = np.arange(0, flat.offset + len(flat) + 1, runs.labels.shape[1], dtype=np.int32)
    return pa.table(
        {
            "k": pa.array(np.repeat(np.array(runs.ks, np.int32), n)),
            "item_id": pa.array(list(runs.items) * count, pa.string()),
            "labels": pa.ListArray.from_arrays(offsets, flat),
            "made_from": pa.array([made_from] * (count * n), pa.string()),
            "item_type": pa.array(list(runs.types) * count, pa.string()),
        },
        schema=CLUSTER_RUNS.schema,
    )


def made_from(items: pa.Table, embedder: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Hash of what clusters follow from: items, what embedded them, and how they are clustered.

    Args:
        items: DIAGNOSED_ITEMS table.
        embedder: its fingerprint.
        settings: of the clustering, JSON values.
    """
    rows = sorted(
        zip(*(items[name].to_pylist() for name in ("item_id", "text", "item_type")), strict=True),
        key=lambda row: str(row[0]),
    )
    return value_sha256({"items": [list(row) for row in rows], "embedder": embedder, "settings": settings})


def frozen_runs(table: pa.Table, wanted: str, where: str) -> pa.Table:
    """Runs that were made before, on this machine or another one, in place of new ones.

    UMAP's bytes hold for one build of it on one kind of processor. Frozen runs hold everywhere.

    Args:
        table: CLUSTER_RUNS table.
        wanted: `made_from` of the study as it is.
        where: name of the table for messages.

    Returns:
        The table.

    Raises:
        UserError: the runs are not those of these items, embedder and settings.
    """
    found = sorted(set(table["made_from"].to_pylist()))
    if found != [wanted]:
        raise UserError(
            f"{where}: these clusters were made from other items, texts, vectors or settings ({', '.join(found)[:80]}) "
            f"than those of the study ({wanted}); cluster anew without them, or restore what they were made from"
        )
    read_runs(table)
    return table


def sorted_items(items: pa.Table) -> pa.Table:
    """Items by id, the order of everything that is made of them."""
    return items.sort_by([("item_id", "ascending")])


def attribute_terms(partition: Partition, items: pa.Table, count: int) -> dict[str, list[str]]:
    """Terms of each attribute.

    Args:
        partition: items and attributes.
        items: DIAGNOSED_ITEMS table.
        count: most terms of an attribute.

    Raises:
        UserError: an item of the partition has no text.
    """
    text = item_texts(items)
    found = cluster_terms([text_of(text, item) for item in partition.items], partition, count=count)
    return dict(zip(partition.attributes, found, strict=True))


def read_runs(table: pa.Table) -> Runs:
    """Runs from their table.

    Args:
        table: CLUSTER_RUNS table, in any order of rows.

    Raises:
        UserError: numbers of clusters with different items, or items with different numbers of runs.
    """
    table = table.sort_by([("k", "ascending"), ("item_id", "ascending")]).combine_chunks()
    ks, counts = np.unique(table["k"].to_numpy(), return_counts=True)
    items = table["item_id"].to_pylist()
    n = int(counts[0]) if len(counts) else 0
    lengths = {len(row) for row in table["labels"].to_pylist()}
    if n == 0 or len(lengths) != 1 or set(counts.tolist()) != {n} or items != items[:n] * len(ks):
        raise UserError(
            f"runs of clustering: {table.num_rows} rows for {len(ks)} numbers of clusters that are not of the same "
            f"items and runs. {_REBUILD}"
        )
    labels = table["labels"].combine_chunks()
    flat = (labels.chunk(0) if isinstance(labels, pa.ChunkedArray) else labels).flatten().to_numpy()
    cube = flat.reshape(len(ks), n, lengths.pop()).transpose(0, 2, 1)
    return Runs(
        tuple(items[:n]),
        tuple(table["item_type"].to_pylist()[:n]),
        tuple(ks.tolist()),
        np.ascontiguousarray(cube, dtype=np.int16),
    )


def clusters_table(member: Membership, types: Sequence[str | None], unit: NDArray[np.float64]) -> pa.Table:
    """Items in their clusters.

    Args:
        member: the partition and how often items are together.
        types: of the items.
        unit: n x d, vectors of length 1, which decide between items that are together equally often.

    Returns:
        Q_CLUSTERS table.
    """
    partition = member.partition
    names = np.array(partition.attributes, dtype=object)
    return pa.table(
        {
            "item_id": pa.array(partition.items, pa.string()),
            "attribute": pa.array(names[partition.labels].tolist(), pa.string()),
            "rank": pa.array(rank_items(member, unit)),
            "together": pa.array(member.own),
            "margin": pa.array(member.margin),
            "item_type": pa.array(list(types), pa.string()),
        },
        schema=Q_CLUSTERS.schema,
    )


def read_partition(clusters: pa.Table) -> Partition:
    """The partition of a table of clusters.

    Args:
        clusters: Q_CLUSTERS table, in any order of rows.
    """
    rows = sorted(zip(clusters["item_id"].to_pylist(), clusters["attribute"].to_pylist(), strict=True))
    names = sorted({attribute for _, attribute in rows})
    place = {name: at for at, name in enumerate(names)}
    labels = np.array([place[attribute] for _, attribute in rows], dtype=np.intp)
    return Partition(tuple(item for item, _ in rows), tuple(names), labels)


def prior_table(prior: QPrior) -> pa.Table:
    """A prior as a table.

    Returns:
        Q_PRIOR table, sorted by item and attribute.
    """
    items, attributes = len(prior.items), len(prior.attributes)
    table = pa.table(
        {
            "item_id": pa.array([item for item in prior.items for _ in range(attributes)], pa.string()),
            "attribute": pa.array(list(prior.attributes) * items, pa.string()),
            "probability": pa.array(prior.probability.ravel()),
            "reference": pa.array(prior.reference.ravel()),
        },
        schema=Q_PRIOR.schema,
    )
    return table.sort_by([(name, "ascending") for name in Q_PRIOR.key])


def read_prior(table: pa.Table, items: Sequence[str] | None = None) -> QPrior:
    """A prior from its table.

    Args:
        table: Q_PRIOR table, in any order of rows.
        items: the study's, in the order wanted; all of the table's, by id, where not given. Others of the table are
            left out.

    Raises:
        UserError: an item is not in the table, stands there twice or lacks an attribute, needs no attribute, or a
            probability is none.
    """
    rows = table.sort_by([(name, "ascending") for name in Q_PRIOR.key]).combine_chunks()
    names = sorted(set(rows["attribute"].to_pylist()))
    known = sorted(set(rows["item_id"].to_pylist()))
    if rows.num_rows != len(known) * len(names) or (
        rows["item_id"].to_pylist() != [item for item in known for _ in names]
        or rows["attribute"].to_pylist() != names * len(known)
    ):
        raise UserError(
            f"prior: {rows.num_rows} rows for {len(known)} items and {len(names)} attributes; expected each pair once. "
            f"{_REBUILD}"
        )
    probability = rows["probability"].to_numpy().reshape(len(known), len(names))
    reference = rows["reference"].to_numpy(zero_copy_only=False).reshape(len(known), len(names))
    bad = ~((probability >= 0) & (probability <= 1))
    if bad.any():
        row, column = (int(at[0]) for at in np.nonzero(bad))
        raise UserError(
            f"prior: item {known[row]!r}, attribute {names[column]!r}: expected a probability, found "
            f"{probability[row, column]}"
        )
    if not reference.any(axis=1).all():
        item = known[int(np.flatnonzero(~reference.any(axis=1))[0])]
        raise UserError(f"prior: the item {item!r} needs no attribute; every item needs at least one")
    if items is not None:
        place = {item: at for at, item in enumerate(known)}
        missing = [item for item in items if item not in place]
        if missing:
            raise UserError(
                f"prior: {len(missing)} of {len(items)} items have none, first: {missing[0]!r}; make the Q-matrix of "
                "the study's items"
            )
        order = np.array([place[item] for item in items], dtype=np.intp)
        known, probability, reference = list(items), probability[order], reference[order]
    return QPrior(
        tuple(known),
        tuple(names),
        np.ascontiguousarray(reference, dtype=bool),
        np.ascontiguousarray(probability, dtype=np.float64),
    )


def attributes_table(
    member: Membership,
    types: Sequence[str | None],
    labels: pa.Table,
    terms: Mapping[str, Sequence[str]],
    decisions: Decisions | None = None,
) -> pa.Table:
    """Attributes with their labels and what is known of them.

    Args:
        member: the partition after the review, and how often items are together.
        types: of the items.
        labels: ATTRIBUTE_LABELS table of the attributes before the review.
        terms: of each attribute after the review.
        decisions: of the reviewers.

    Returns:
        Q_ATTRIBUTES table. `reviewed` is an attribute that a reviewer accepted or renamed; all others are
        `provisional`, also one that others became part of while nobody decided on it.
    """
    decided = decisions or {}
    partition = member.partition
    named = {row["attribute"]: row for row in labels.to_pylist()}
    parts: dict[str, list[Decision]] = {}
    for name, decision in sorted(decided.items()):
        if decision.action == "merge":
            parts.setdefault(surviving(decided, name), []).append(decision)
    own = member.own
    rows = []
    for at, name in enumerate(partition.attributes):
        places = np.flatnonzero(partition.labels == at)
        kind, purity = _commonest([types[place] for place in places.tolist()])
        here = decided.get(name)
        label, source = named[name]["label"], named[name]["label_source"]
        if here is not None and here.action == "rename":
            label, source = here.label, "reviewer"
        notes = [here.note] if here is not None and here.note else []
        notes += [
            f"with {part.attribute}" + (f": {part.note}" if part.note else "") for part in parts.get(name, [])
        ]
        rows.append(
            {
                "attribute": name,
                "label": label,
                "label_source": source,
                "status": "provisional" if here is None else "reviewed",
                "n_items": len(places),
                "terms": list(terms[name]),
                "stability": float(own[places].mean()) if len(places) else None,
                "purity": purity,
                "item_type": kind,
                "reviewer": None if here is None else here.reviewer,
                "note": "; ".join(notes) or None,
            }
        )
    return pa.Table.from_pylist(rows, schema=Q_ATTRIBUTES.schema)


def _commonest(types: Sequence[str | None]) -> tuple[str | None, float | None]:
    """The commonest type and its share of the known ones; of equally common ones the first by the alphabet."""
    kinds = Counter(kind for kind in types if kind is not None)
    if not kinds:
        return None, None
    kind, count = min(kinds.items(), key=lambda pair: (-pair[1], pair[0]))
    return kind, count / kinds.total()


def given_attributes(
    prior: QPrior, types: Sequence[str | None], labels: Mapping[str, str] | None = None
) -> pa.Table:
    """Attributes of a Q-matrix that somebody gave.

    Args:
        prior: the Q-matrix.
        types: of its items.
        labels: by attribute; its name where there is none.

    Returns:
        Q_ATTRIBUTES table, every status `given`; an item counts for each attribute that it needs.
    """
    rows: list[dict[str, Any]] = []
    for at, name in sorted(enumerate(prior.attributes), key=lambda pair: pair[1]):
        places = np.flatnonzero(prior.reference[:, at])
        kind, purity = _commonest([types[place] for place in places.tolist()])
        rows.append(
            {
                "attribute": name,
                "label": (labels or {}).get(name, name),
                "label_source": "given",
                "status": "given",
                "n_items": len(places),
                "terms": [],
                "stability": None,
                "purity": purity,
                "item_type": kind,
                "reviewer": None,
                "note": None,
            }
        )
    return pa.Table.from_pylist(rows, schema=Q_ATTRIBUTES.schema)
