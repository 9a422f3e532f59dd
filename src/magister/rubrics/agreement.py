"""How far two who scored the same dialogues agree: judges with one another, judges with people, people themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from magister.contracts.rubrics_score_tables import AGREEMENT_MEASURES, JUDGE_AGREEMENT, OVERALL
from magister.rubrics._cube import cube
from magister.rubrics._sums import FloatArray, Resampling, estimate_row, pearson
from magister.rubrics.diagnosis import judged_only
from magister.stats import MAX_CATEGORIES, Estimate, cluster_mean, intraclass_correlation, krippendorff_alpha

PEOPLE = "people"
"""In place of a judge: the mean of the people who scored a dialogue."""


def pair_agreement(
    first: ArrayLike, second: ArrayLike, clusters: ArrayLike, plan: Resampling
) -> dict[str, Estimate]:
    """All measures of two raters' agreement.

    Args:
        first: ratings of n units, shape (n,); NaN where there is none.
        second: ratings by the other, shape (n,).
        clusters: cluster of each unit, shape (n,).
        plan: how intervals are drawn, over clusters.

    Returns:
        By measure: mean_difference (first - second) and mean_absolute_difference with t intervals over clusters;
        pearson, icc_single (ICC(2,1), absolute agreement), alpha_ordinal and alpha_interval (Krippendorff). `n`
        counts units with both ratings.
    """
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    labels = np.asarray(clusters).astype(str)
    both = ~np.isnan(x) & ~np.isnan(y)
    x, y, labels = x[both], y[both], labels[both]
    if not x.size:
        absent = Estimate.absent("no_data", reason="no unit has both ratings")
        return dict.fromkeys(AGREEMENT_MEASURES, absent)
    ratings, units = np.stack([x, y], axis=1), plan.units(labels)
    ordinal = Estimate.absent("undefined", n=x.size, reason=f"more than {MAX_CATEGORIES} different ratings")
    if np.unique(ratings).size <= MAX_CATEGORIES:
        ordinal = krippendorff_alpha(ratings, "ordinal", units)
    found = {
        "mean_difference": cluster_mean(x - y, labels, plan.level),
        "mean_absolute_difference": cluster_mean(np.abs(x - y), labels, plan.level),
        "pearson": pearson(x, y, labels, plan),
        "icc_single": intraclass_correlation(ratings, "single", units),
        "alpha_ordinal": ordinal,
        "alpha_interval": krippendorff_alpha(ratings, "interval", units),
    }
    return {name: replace(estimate, n=int(x.size)) for name, estimate in found.items()}


def judge_agreement(scores: pa.Table, plan: Resampling, human: pa.Table | None = None) -> pa.Table:
    """Agreement of every two judges, and of each judge with people.

    Args:
        scores: RUBRIC_SCORES table of all judges, of one scenario and version.
        plan: how intervals are drawn; clusters are tasks.
        human: HUMAN_SCORES table, for those of the dialogues that people scored too.

    Returns:
        JUDGE_AGREEMENT table, a row per metric (and over all of them), pair and measure; judges in the order of names.
    """
    if not scores.num_rows:
        return JUDGE_AGREEMENT.schema.empty_table()
    data = judged_only(cube(scores))
    ratings = data.by_judge()
    names = [str(name) for name in data.judge]
    if human is not None and human.num_rows:
        ratings = np.concatenate([ratings, _people(human, data.dialogue_id, data.metric)[:, :, None]], axis=2)
        names.append(PEOPLE)
    rows: list[dict[str, Any]] = []
    for one, two in combinations(range(len(names)), 2):
        shape = (data.dialogue_id.size, data.metric.size)
        tasks = np.broadcast_to(data.task_id.astype(str)[:, None], shape)
        scopes: dict[str, tuple[FloatArray, FloatArray, NDArray[Any]]] = {
            str(metric): (ratings[:, at, one], ratings[:, at, two], tasks[:, at])
            for at, metric in enumerate(data.metric)
        }
        scopes[OVERALL] = (ratings[..., one].ravel(), ratings[..., two].ravel(), tasks.ravel())
        for metric_id, (first, second, clusters) in scopes.items():
            about = {
                "scenario": data.scenario,
                "rubric_sha": data.rubric_sha,
                "metric_id": metric_id,
                "judge_a": names[one],
                "judge_b": names[two],
            }
            for measure, estimate in pair_agreement(first, second, clusters, plan).items():
                rows.append(estimate_row(estimate, plan, about | {"measure": measure}))
    return pa.Table.from_pylist(rows, schema=JUDGE_AGREEMENT.schema).sort_by(
        [(name, "ascending") for name in JUDGE_AGREEMENT.key]
    )


def people_agreement(
    human: pa.Table, tasks: Mapping[str, str], plan: Resampling
) -> dict[tuple[str, str], dict[str, Estimate]]:
    """Agreement of every two people on the dialogues and metrics that both scored.

    Args:
        human: HUMAN_SCORES table.
        tasks: task of each dialogue; a dialogue that is not in it is its own.
        plan: how intervals are drawn; clusters are tasks.

    Returns:
        Measures by pair, names in order.
    """
    rows = human.to_pylist()
    units = sorted({(row["scenario"], row["dialogue_id"], row["metric_id"]) for row in rows})
    place = {unit: at for at, unit in enumerate(units)}
    people = sorted({row["annotator"] for row in rows})
    values = np.full((len(units), len(people)), np.nan)
    for row in rows:
        at = place[row["scenario"], row["dialogue_id"], row["metric_id"]]
        values[at, people.index(row["annotator"])] = row["value"]
    labels = [tasks.get(dialogue, dialogue) for _, dialogue, _ in units]
    return {
        (people[one], people[two]): pair_agreement(values[:, one], values[:, two], labels, plan)
        for one, two in combinations(range(len(people)), 2)
    }


def _people(human: pa.Table, dialogues: NDArray[np.object_], metrics: NDArray[np.object_]) -> FloatArray:
    """People's mean by dialogue and metric, shape (D, M)."""
    row_of = {name: at for at, name in enumerate(dialogues)}
    column_of = {name: at for at, name in enumerate(metrics)}
    given: dict[tuple[int, int], list[float]] = {}
    for row in human.to_pylist():
        if row["dialogue_id"] in row_of and row["metric_id"] in column_of:
            at = row_of[row["dialogue_id"]], column_of[row["metric_id"]]
            given.setdefault(at, []).append(row["value"])
    out = np.full((dialogues.size, metrics.size), np.nan)
    for at, values in given.items():
        out[at] = np.sort(values).mean()
    return out
