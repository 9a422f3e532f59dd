"""Standings: teachers against one another, with ranks, groups and every pair compared.

For each of CA, JA, GA, RA and AA, over all items:

- **Intervals for students like these** (`random_ci_*`) beside those of the metrics table, which hold for exactly
  these students. AA has no students and none of these.
- **Pairs**: the difference first - second on the same resamples of clusters, with both intervals; p by flipping the
  signs of clusters (teachers that are alike could change places in any of them); Holm's p over all pairs of a league
  and metric.
- **Groups**: teachers that share a letter are not told apart by the pairs at the family-wise level 1 - `level`.
- **Ranks** with intervals and the share of resamples in which a teacher is first, shared first places included.

References:
    Holm (1979), Scandinavian Journal of Statistics 6, 65-70; Piepho (2004), JCGS 13, 456-466 (letters); Goldstein and
    Spiegelhalter (1996), JRSS A 159, 385-443 (intervals for ranks).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from magister.contracts.schemas import COMPARISONS, METRIC_RANGES, STANDINGS
from magister.errors import UserError
from magister.stats import (
    BootstrapWeights,
    CrossedSample,
    Estimate,
    bootstrap_weights,
    crossed_sample,
    expanded_level,
    holm,
    rank_intervals,
    sign_flip,
    significance_groups,
)
from magister.teaching._crossed import CROSSED_METRICS, own_share, own_sums, taught_sample, taught_sums
from magister.teaching._cube import Cube, Ints, trajectory_cubes, zero_shot_cubes
from magister.teaching._measure import Policy

_OTHER_ITEMS = "the teachers of this league were rated on different items, students or rounds"
_NO_STUDENTS = "AA has no students"


def standings(
    trajectories: pa.Table,
    zero_shot: pa.Table | None,
    *,
    policy: Policy,
    resamples: int,
    level: float,
    seed: int,
) -> tuple[pa.Table, pa.Table]:
    """Rank the teachers of every league and compare all pairs.

    Args:
        trajectories: table of that contract.
        zero_shot: the teachers' own answers, as for `teaching_metrics`; None leaves AA out.
        policy: "wrong" or "drop", as in `teaching_metrics`.
        resamples: bootstrap resamples, and sign flips of a test.
        level: confidence level, 0..1; 1 - level is the family-wise error of groups.
        seed: seed of both.

    Returns:
        Tables of the contracts `standings` and `comparisons`, sorted by their keys. Teachers that were asked other
        items, students or rounds than the others are compared among themselves and have no rank.

    Raises:
        UserError: for settings or tables that cannot be used.
    """
    if not 0 < level < 1 or resamples < 1 or seed < 0:
        raise UserError(
            "standings: expected a level between 0 and 1, at least 1 resample and a seed of 0 or more, not "
            f"{level!r}, {resamples} and {seed}"
        )
    settings: dict[str, Any] = {"policy": policy, "resamples": resamples, "seed": seed, "level": level}
    fields = [field for cube in trajectory_cubes(trajectories) for field in _taught_fields(cube, policy)]
    if zero_shot is not None:
        fields += [_own_field(cube, policy) for cube in zero_shot_cubes(zero_shot)]
    places = [(field.league, metric) for field in fields for metric in field.metrics]
    weights: dict[tuple[str, ...], BootstrapWeights] = {}
    ranked: list[dict[str, Any]] = []
    compared: list[dict[str, Any]] = []
    for field in fields:
        if field.strata not in weights:
            weights[field.strata] = bootstrap_weights(field.strata, resamples=resamples, seed=seed)
        sample = field.sample(weights[field.strata])
        for k, metric in enumerate(field.metrics):
            one = _column(sample, np.arange(len(field.teachers)) * len(field.metrics) + k)
            pairs = list(itertools.combinations(range(len(field.teachers)), 2))
            tested, adjusted = _compare(field, metric, one, pairs, settings)
            compared += tested
            groups = significance_groups(one.value, pairs, adjusted, alpha=1 - level)
            alone = places.count((field.league, metric)) == 1
            ranked += _stand(field, metric, one, groups, settings, alone=alone)
    tables = []
    for contract, rows in ((STANDINGS, ranked), (COMPARISONS, compared)):
        table = pa.Table.from_pylist(rows, schema=contract.schema)
        tables.append(table.sort_by([(name, "ascending") for name in contract.key]))
    return tables[0], tables[1]


@dataclass(frozen=True)
class _Field:
    """Teachers that can be compared: the same items, students and rounds.

    Attributes:
        league: their league.
        teachers: names, length U.
        metrics: what is compared, length K.
        rounds: of each metric, length K.
        strata: dataset of each cluster, length C.
        sample: makes the sample of U K statistics from resamples of the clusters.
        counts: per metric the counts of the contract's rows, by name, each of shape (U,).
        own: teachers' own answers.
    """

    league: str
    teachers: tuple[str, ...]
    metrics: tuple[str, ...]
    rounds: tuple[int, ...]
    strata: tuple[str, ...]
    sample: Callable[[BootstrapWeights], CrossedSample]
    counts: tuple[dict[str, Ints], ...]
    own: bool


def _taught_fields(cube: Cube, policy: Policy) -> list[_Field]:
    taught = taught_sums(cube, policy)
    if taught is None:
        return []
    cells = taught.sums[..., 3].sum(axis=2)
    counts = {
        "n_items": taught.n_items,
        "n_students": taught.present.sum(axis=1),
        "n_clusters": (cells > 0).sum(axis=0),
        "n_cells": taught.n_cells,
        "n_dropped": taught.asked - taught.n_cells,
    }
    judged = counts | {"n_cells": taught.n_judged, "n_dropped": taught.asked - taught.n_judged}
    return [
        _Field(
            cube.league,
            taught.teachers,
            CROSSED_METRICS,
            (taught.rounds, 1, 1, taught.rounds),
            cube.items.strata,
            lambda weights: taught_sample(taught, weights),
            (counts, judged, counts, counts),
            own=False,
        )
    ]


def _own_field(cube: Cube, policy: Policy) -> _Field:
    sums = own_sums(cube, policy)
    cells = sums[:, :, 0, 0]
    asked = cube.asked().sum(axis=(1, 2))
    counts = {
        "n_items": cells.sum(axis=0),
        "n_students": np.zeros_like(asked),
        "n_clusters": (cells > 0).sum(axis=0),
        "n_cells": cells.sum(axis=0),
        "n_dropped": asked - cells.sum(axis=0),
    }
    return _Field(
        cube.league,
        tuple(teacher for _, teacher in cube.units),
        ("AA",),
        (0,),
        cube.items.strata,
        lambda weights: crossed_sample(sums, own_share, weights),
        (counts,),
        own=True,
    )


def _column(sample: CrossedSample, at: Ints) -> CrossedSample:
    """One metric of every teacher."""
    return replace(
        sample,
        value=sample.value[at],
        replicates=sample.replicates[:, at],
        influence=sample.influence[:, at],
        item_variance=sample.item_variance[np.ix_(at, at)],
        student_variance=sample.student_variance[np.ix_(at, at)],
        cell_variance=sample.cell_variance[np.ix_(at, at)],
        n_students=sample.n_students[at],
    )


def _compare(
    field: _Field, metric: str, one: CrossedSample, pairs: list[tuple[int, int]], settings: dict[str, Any]
) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Rows of all pairs and their adjusted p values."""
    if not pairs:
        return [], np.zeros(0)
    level = settings["level"]
    differences = one.differences(pairs)
    fixed = differences.fixed_students(level)
    random = None if field.own else differences.random_students(level)
    tests = sign_flip(one.contributions(), flips=settings["resamples"], seed=settings["seed"], pairs=pairs)
    adjusted = holm(tests.p)
    number = field.rounds[field.metrics.index(metric)]
    width = METRIC_RANGES[metric][1] - METRIC_RANGES[metric][0]
    rows = []
    for k, (first, second) in enumerate(pairs):
        rows.append(
            {
                "league": field.league, "metric": metric, "round": number,
                "first": field.teachers[first], "second": field.teachers[second],
                **_part("", "difference", _within(fixed[k], -width, width)),
                **_random(None if random is None else _within(random[k], -width, width)),
                "n_clusters": one.weights.n_clusters, "n_differ": int(tests.n[k]), "exact": bool(tests.exact[k]),
                "p": _known(tests.p[k]), "p_holm": _known(adjusted[k]), **settings,
            }
        )  # fmt: skip
    return rows, adjusted


def _stand(
    field: _Field,
    metric: str,
    one: CrossedSample,
    groups: list[str],
    settings: dict[str, Any],
    *,
    alone: bool,
) -> list[dict[str, Any]]:
    """Rows of one metric."""
    at = field.metrics.index(metric)
    found = one.fixed_students(settings["level"])
    random = None if field.own else one.random_students(settings["level"])
    ranks = rank_intervals(one.value, one.replicates, expanded_level(one.weights, settings["level"]))
    rows = []
    for u, teacher in enumerate(field.teachers):
        counts = {name: int(column[u]) for name, column in field.counts[at].items()}
        ranked = alone and ranks.rank[u] > 0
        ok = ranked and ranks.status[u] == "ok"
        value = _part("", "value", found[u])
        rows.append(
            {
                "league": field.league, "metric": metric, "teacher": teacher, "round": field.rounds[at],
                "value": value["value"], "status": value["status"], "reason": value["reason"],
                **_random(None if random is None else _within(random[u], *METRIC_RANGES[metric])),
                "rank": int(ranks.rank[u]) if ranked else None,
                "rank_low": int(ranks.ci_low[u]) if ok else None,
                "rank_high": int(ranks.ci_high[u]) if ok else None,
                "p_first": float(ranks.p_first[u]) if ok else None,
                "rank_status": "ok" if ok else "no_interval" if ranked else "not_computable",
                "rank_reason": str(ranks.reason[u]) if alone else _OTHER_ITEMS,
                "group": groups[u] if alone else "", **counts, **settings,
            }
        )  # fmt: skip
    return rows


def _within(found: Estimate, floor: float, ceiling: float) -> Estimate:
    """An interval of Student's t within what the statistic can be."""
    if found.ci_low is None or found.ci_high is None:
        return found
    return replace(found, ci_low=max(found.ci_low, floor), ci_high=min(found.ci_high, ceiling))


def _part(prefix: str, name: str, found: Estimate) -> dict[str, Any]:
    """An estimate in the columns of a row, with the status vocabulary of the tables."""
    status = "ok" if found.status == "ok" else "not_computable" if found.value is None else "no_interval"
    return {
        name: found.value,
        f"{prefix}ci_low": found.ci_low,
        f"{prefix}ci_high": found.ci_high,
        f"{prefix}se": found.se,
        f"{prefix}status": status,
        f"{prefix}reason": found.reason,
    }


def _random(found: Estimate | None) -> dict[str, Any]:
    """The interval for students like these; none where there are no students."""
    if found is None:
        found = Estimate.absent("undefined", reason=_NO_STUDENTS)
    part = _part("random_", "value", found)
    del part["value"]
    return part


def _known(number: float) -> float | None:
    return None if np.isnan(number) else float(number)
