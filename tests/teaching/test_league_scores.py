"""Scores of a league as an array: the numbers and intervals are those of the metrics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_metrics import cell, measure, table, zero_shot
from test_metrics_properties import random_trajectories, shuffled

from magister.contracts.schemas import METRICS, TRAJECTORIES
from magister.stats import percentile_intervals
from magister.teaching._league_scores import LeagueScores, league_scores

OWN = zero_shot(
    *(
        cell(mark, item=f"i{n}", teacher=who, cluster_id=f"c{n // 2}")
        for who in "tu"
        for n, mark in enumerate("10-x1101")
    )
)


def headline(metrics: pa.Table) -> dict[tuple[str, str], dict[str, Any]]:
    """The overall row of each teacher and metric, of its last round."""
    rows = [row for row in metrics.to_pylist() if row["slice_kind"] == "overall" and row["arm"] == "taught"]
    rows.sort(key=lambda row: row["round"])
    return {(row["teacher"], row["metric"]): row for row in rows}


def agree(scores: LeagueScores, metrics: pa.Table) -> None:
    rows = headline(metrics)
    for m, teacher in enumerate(scores.teachers):
        for k, metric in enumerate(METRICS):
            row, value = rows[teacher, metric], float(scores.values[m, k])
            assert (None if math.isnan(value) else value) == row["value"], (teacher, metric)
            found = percentile_intervals([value], scores.replicates[:, m, [k]]).item()
            if row["value"] is not None and row["se"] is not None:
                # The ends of the metrics' interval also allow for few clusters; the resamples are the same.
                assert found.se == pytest.approx(row["se"], abs=1e-12)


@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.1, 0.3]),
    st.integers(1, 4),
    st.sampled_from(["wrong", "drop"]),
)
@settings(max_examples=25, deadline=None)
def test_scores_and_their_resamples_are_those_of_the_metrics(
    seed: int, bad: float, rounds: int, policy: Any
) -> None:
    rows = random_trajectories(seed, bad=bad, rounds=rounds)
    scores = league_scores(rows, OWN, policy, 100, 1)
    assert (scores.league, scores.teachers, scores.policy) == ("main", ("t", "u"), policy)
    agree(scores, measure(rows, OWN, policy=policy, resamples=100))
    again = league_scores(shuffled(rows, seed), shuffled(OWN, seed), policy, 100, 1)
    assert again.replicates.tobytes() == scores.replicates.tobytes()
    assert again.clusters.tolist() == scores.clusters.tolist()


def test_own_answers_share_the_resamples_of_what_was_taught() -> None:
    marks = "1011010110"
    rows = table(*(cell("0" + mark, item=f"i{n}") for n, mark in enumerate(marks)))
    own = zero_shot(*(cell(mark, item=f"i{n}") for n, mark in enumerate(marks)))
    scores = league_scores(rows, own, "wrong", 50, 3)
    ca, aa = (scores.replicates[:, 0, METRICS.index(metric)] for metric in ("CA", "AA"))
    assert ca.tolist() == aa.tolist()
    assert np.ptp(ca) > 0


def test_clusters_are_those_of_each_denominator() -> None:
    rows = table(
        cell("011", item="i1", cluster_id="c1"),
        cell("111", item="i2", cluster_id="c2"),
        cell("1x1", item="i3", cluster_id="c3"),
    )
    scores = league_scores(rows, None, "wrong", 0, 0)
    assert dict(zip(METRICS, scores.clusters[0].tolist(), strict=True)) == {
        "CA": 2, "AA": 0, "JA": 2, "GA": 1, "RA": 2,
    }  # fmt: skip
    assert np.isnan(scores.values[0, METRICS.index("AA")])


def test_what_is_unknown_in_the_metrics_is_unknown_here() -> None:
    nothing = table(*(cell("0x1", item=f"i{n}") for n in range(3)))
    assert np.isnan(league_scores(nothing, None, "wrong", 10, 0).values).all()
    lone = table(cell("00", item="i1"), cell("01", item="i2"))
    scores = league_scores(lone, None, "wrong", 0, 0)
    assert np.isnan(scores.values[0, METRICS.index("RA")])
    assert scores.values[0, METRICS.index("CA")] == 0.5


def test_control_arms_are_no_teachers() -> None:
    rows = table(
        cell("01"), cell("01", arm="sham", teacher="sham"), cell("01", arm="verdict_only", teacher="u")
    )
    assert league_scores(rows, None, "wrong", 0, 0).teachers == ("t",)
    assert league_scores(TRAJECTORIES.schema.empty_table(), None, "wrong", 5, 0).teachers == ()


def test_one_league_at_a_time() -> None:
    with pytest.raises(ValueError, match="not those of a, b"):
        league_scores(table(cell("01", league="a"), cell("01", league="b")), None, "wrong", 0, 0)
