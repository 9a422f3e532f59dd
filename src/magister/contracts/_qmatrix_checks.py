"""What the Q-matrix of a study promises: clusters of all its items, labels and a prior that follow from them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import (
    Mask,
    absent,
    agree,
    all_agree,
    facts,
    member,
    numbers,
    positions,
    same,
    taken,
    true,
)
from magister.contracts._diagnosis_grid import Axis, Floats, Grid, known_names
from magister.contracts._diagnosis_plan import ClusterPlan, DiagnosisPlan
from magister.contracts._estimates import EQUAL, by_group, close
from magister.contracts._matrix_checks import blank, item_type_check
from magister.contracts.gate import Expectation, RowCheck, RowCount


def run_checks(table: pa.Table, texts: pa.Table, plan: ClusterPlan) -> list[Expectation]:
    """Checks on CLUSTER_RUNS.

    Args:
        table: clusters of every run.
        texts: DIAGNOSED_ITEMS.
        plan: how attributes are found.
    """
    k = numbers(table["k"])
    lists = table["labels"].combine_chunks()
    lists = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
    row = pc.list_parent_indices(lists).to_numpy()
    label = lists.flatten().to_numpy(zero_copy_only=False).astype(np.float64)
    outside = np.zeros(table.num_rows, dtype=bool)
    outside[row[~((label >= -1) & (label < k[row]))]] = True
    length = numbers(pc.list_value_length(table["labels"]))
    return [
        RowCount(
            "cluster_runs",
            len(set(plan.tried)) * texts.num_rows,
            f"{len(set(plan.tried))} numbers of clusters x {texts.num_rows} items",
        ),
        RowCheck(
            "cluster_runs",
            "number_tried",
            ("k",),
            "a number of attributes that is tried",
            np.isin(k, list(plan.tried)),
        ),
        RowCheck(
            "cluster_runs",
            "item_of_study",
            ("item_id",),
            "an item of the study",
            member(table["item_id"], texts["item_id"]),
        ),
        RowCheck(
            "cluster_runs",
            "labels_of_runs",
            ("k", "labels"),
            f"a cluster from 0 below k in each of {plan.runs} runs, or -1",
            ~outside & (length == plan.runs),
        ),
        RowCheck(
            "cluster_runs",
            "made_at_once",
            ("made_from",),
            "one hash: all rows are of the same items and settings",
            _all_one(table, "made_from"),
        ),
        item_type_check("cluster_runs", table, texts),
    ]


def _all_one(table: pa.Table, column: str) -> Mask:
    return np.full(table.num_rows, len(table[column].unique()) <= 1)


def cluster_checks(
    name: str, table: pa.Table, texts: pa.Table, attributes: list[str] | int | None = None
) -> list[Expectation]:
    """Checks on Q_CLUSTERS.

    Args:
        name: of the table.
        table: items in their clusters.
        texts: DIAGNOSED_ITEMS.
        attributes: those that there are, or how many.
    """
    rank, own = numbers(table["rank"]), numbers(table["together"])
    # Ranks of a cluster are 1 to n where each stands there once: n different ones, none above n.
    places = by_group(table, ("attribute",), lambda rows: np.full(rows.size, rows.size))
    once = by_group(
        table, ("attribute",), lambda rows: (rank[rows][:, None] == rank[rows]).sum(axis=1).astype(np.float64)
    )
    found: list[Expectation] = [
        RowCount(name, texts.num_rows, "the items of the study"),
        RowCheck(
            name,
            "item_of_study",
            ("item_id",),
            "an item of the study",
            member(table["item_id"], texts["item_id"]),
        ),
        RowCheck(
            name,
            "ranked_once",
            ("attribute", "rank"),
            "ranks from 1 to the number of items of the attribute, each once",
            (rank >= 1) & (rank <= places) & (once == 1),
        ),
        RowCheck(
            name,
            "margin_below_share",
            ("together", "margin"),
            "no margin above the share of runs that it is taken from",
            numbers(table["margin"]) <= own + EQUAL,
        ),
        item_type_check(name, table, texts),
    ]
    if isinstance(attributes, int):
        names = known_names(table["attribute"])
        alike = np.full(table.num_rows, len(names) == attributes)
        found.append(
            RowCheck(name, "as_many_as_tried", ("attribute",), f"{attributes} attributes in all", alike)
        )
    elif attributes is not None:
        found.append(
            RowCheck(
                name,
                "attribute_of_study",
                ("attribute",),
                "an attribute of the study",
                member(table["attribute"], attributes),
            )
        )
    return found


def chosen_check(unreviewed: pa.Table, of_chosen: pa.Table) -> RowCheck:
    """Clusters before the review that are those of the number that was chosen.

    Args:
        unreviewed: Q_CLUSTERS before the review.
        of_chosen: Q_CLUSTERS of the number; empty where none was chosen.
    """
    place = positions(unreviewed, of_chosen, ["item_id"])
    alike = all_agree(unreviewed, taken(of_chosen, place, unreviewed.column_names))
    return RowCheck(
        "clusters_unreviewed",
        "as_of_chosen_number",
        tuple(unreviewed.column_names),
        "as among the clusters of the number that was chosen",
        alike,
    )


def prior_checks(
    name: str,
    table: pa.Table,
    items: list[str],
    attributes: list[str],
    clusters: pa.Table | None,
    fixed: bool,
) -> list[Expectation]:
    """Checks on Q_PRIOR.

    Args:
        name: of the table.
        table: the prior.
        items, attributes: of the study.
        clusters: Q_CLUSTERS that it follows from; None of a given Q-matrix.
        fixed: whether the reference is taken as it is.
    """
    grid = Grid(table, (Axis("item_id", items), Axis("attribute", attributes)))
    reference, probability = true(table["reference"]), numbers(table["probability"])
    needed = by_group(table, ("item_id",), lambda rows: np.full(rows.size, float(reference[rows].sum())))
    believed = (
        (probability == reference)
        if fixed
        else (probability > 0) & (probability < 1) & np.isfinite(probability)
    )
    found: list[Expectation] = [
        RowCount(name, grid.cells, f"{len(items)} items x {len(attributes)} attributes"),
        RowCheck(name, "item_of_study", ("item_id",), "an item of the study", grid.on("item_id")),
        RowCheck(
            name, "attribute_of_study", ("attribute",), "an attribute of the study", grid.on("attribute")
        ),
        RowCheck(
            name,
            "item_needs_something",
            ("item_id", "reference"),
            "at least one attribute that the reference needs of each item",
            needed >= 1,
        ),
        RowCheck(
            name,
            "probability_open",
            ("probability", "reference"),
            "exactly the reference" if fixed else "above 0 and below 1: responses may correct it",
            believed,
        ),
    ]
    if clusters is not None:
        _, of = facts(table, clusters, "item_id", ("attribute",))
        found.append(
            RowCheck(
                name,
                "reference_of_clusters",
                ("item_id", "attribute", "reference"),
                "the cluster of the item, and no other attribute",
                reference == same(table["attribute"], of["attribute"]),
            )
        )
    return found


def label_checks(
    labels: pa.Table, asked: pa.Table, clusters: pa.Table, plan: ClusterPlan
) -> list[Expectation]:
    """Checks on ATTRIBUTE_LABELS and LABELS_ASKED.

    Args:
        labels: the labels before any review.
        asked: what a model was asked.
        clusters: Q_CLUSTERS before any review.
        plan: how attributes are found.
    """
    names = known_names(clusters["attribute"])
    told = true(pc.equal(labels["label_source"], "model"))
    read = true(pc.equal(labels["status"], "ok"))
    agrees = ~absent(labels["agrees"])
    known, request = facts(labels, asked, "attribute", ("request_id",))
    of_model = np.full(labels.num_rows, plan.labeller)
    why = ~blank(labels["reason"])

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("labels", name, columns, expected, passed)

    whole = len(names) if plan.labeller else 0
    return [
        RowCount("labels_asked", whole, "the attributes, where a model names them"),
        RowCheck(
            "labels_asked",
            "attribute_of_clusters",
            ("attribute",),
            "an attribute of the clusters",
            member(asked["attribute"], names),
        ),
        RowCount("labels", len(names), "the attributes of the clusters"),
        check(
            "attribute_of_clusters",
            ("attribute",),
            "an attribute of the clusters",
            member(labels["attribute"], names),
        ),
        check("label_there", ("label",), "a label", ~blank(labels["label"])),
        check(
            "source_by_status",
            ("label_source", "status"),
            "by the model where its reply was read, by the terms elsewhere",
            member(labels["label_source"], ["terms", "model"]) & (told == (of_model & read)),
        ),
        check(
            "held_against_terms",
            ("label_source", "agrees"),
            "whether label and terms agree, of a model's labels and only of them",
            agrees == told,
        ),
        check(
            "reason_where_in_doubt",
            ("status", "agrees", "reason"),
            "a reason where no label was read or label and terms disagree",
            why | (read & ~(agrees & ~true(labels["agrees"]))),
        ),
        check(
            "request_traced",
            ("attribute", "request_id"),
            "the request that asked for it, where a model was asked",
            np.where(known, agree(labels["request_id"], request["request_id"]), absent(labels["request_id"])),
        ),
    ]


def _commonest(table: pa.Table) -> dict[str, tuple[str | None, float]]:
    """By attribute the commonest type of its items, the first by name of equals, and its share of the typed ones."""
    counted: dict[str, Counter[str]] = {}
    for attribute, kind in zip(table["attribute"].to_pylist(), table["item_type"].to_pylist(), strict=True):
        counter = counted.setdefault(attribute, Counter())
        if kind is not None:
            counter[kind] += 1
    found: dict[str, tuple[str | None, float]] = {}
    for attribute, counter in counted.items():
        most = max(counter.values(), default=0)
        first = min((kind for kind, count in counter.items() if count == most), default=None)
        found[attribute] = (first, most / counter.total() if most else float("nan"))
    return found


def _shares(table: pa.Table, clusters: pa.Table) -> tuple[Floats, Floats, Floats, pa.ChunkedArray]:
    """By attribute: items, mean share of runs, purity, and commonest type."""
    summed = clusters.group_by("attribute").aggregate([("together", "mean"), ("item_id", "count")])
    place = positions(table, summed, ["attribute"])
    told = taken(summed, place, ("together_mean", "item_id_count"))
    kinds = _commonest(clusters)
    own = [kinds.get(name, (None, float("nan"))) for name in table["attribute"].to_pylist()]
    purity = np.array([share for _, share in own], dtype=np.float64)
    return (
        np.nan_to_num(numbers(told["item_id_count"])),
        numbers(told["together_mean"]),
        purity,
        pa.chunked_array([pa.array([kind for kind, _ in own], pa.string())]),
    )


def attribute_checks(
    table: pa.Table,
    prior: pa.Table,
    clusters: pa.Table | None,
    labels: pa.Table | None,
    plan: DiagnosisPlan,
) -> list[Expectation]:
    """Checks on Q_ATTRIBUTES.

    Args:
        table: the attributes.
        prior: Q_PRIOR of the study.
        clusters: Q_CLUSTERS as reviewers leave them; None of a given Q-matrix.
        labels: ATTRIBUTE_LABELS; None likewise.
        plan: what the study was to hold.
    """
    given, reviewed = (true(pc.equal(table["status"], word)) for word in ("given", "reviewed"))
    by_reviewer = true(pc.equal(table["label_source"], "reviewer"))
    named = ~blank(table["reviewer"])
    needed = prior.filter(pc.fill_null(prior["reference"], False))
    if clusters is None:
        counted = needed.group_by("attribute").aggregate([("item_id", "count")])
        items = np.nan_to_num(
            numbers(
                taken(counted, positions(table, counted, ["attribute"]), ("item_id_count",))["item_id_count"]
            )
        )
        stable = absent(table["stability"])
        pure = absent(table["purity"]) & absent(table["item_type"])
        kept = true(pc.equal(table["label_source"], "given"))
    else:
        items, stability, purity, kind = _shares(table, clusters)
        stable = close(numbers(table["stability"]), stability)
        pure = close(numbers(table["purity"]), purity) & agree(table["item_type"], kind)
        kept = by_reviewer
        if labels is not None:
            columns = ("label", "label_source")
            _, of = facts(table, labels, "attribute", columns)
            kept = kept | all_agree(table.select(columns), of)

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("attributes", name, columns, expected, passed)

    believed = len(prior["attribute"].unique())
    return [
        RowCount("attributes", believed, "the attributes of the prior"),
        check(
            "attribute_of_prior",
            ("attribute",),
            "an attribute of the prior",
            member(table["attribute"], prior["attribute"]),
        ),
        check("label_there", ("label",), "a label", ~blank(table["label"])),
        check(
            "given_with_the_matrix",
            ("status",),
            "given where the Q-matrix is, and only there",
            given == (plan.clusters is None),
        ),
        check(
            "reviewer_where_reviewed",
            ("status", "label_source", "reviewer"),
            "a reviewer where the status is reviewed, and only there; a label by a reviewer is reviewed",
            (named == reviewed) & (~by_reviewer | reviewed),
        ),
        check(
            "label_as_made",
            ("label", "label_source"),
            "as among the labels of the attributes, by a reviewer, or given",
            kept,
        ),
        check("items_counted", ("n_items",), "the items that need it", numbers(table["n_items"]) == items),
        check(
            "stability_of_items",
            ("stability",),
            "the mean share of runs of its items; none of a given Q-matrix",
            stable,
        ),
        check(
            "purity_of_items",
            ("purity", "item_type"),
            "the commonest type of its items, and its share; none of a given Q-matrix",
            pure,
        ),
    ]
