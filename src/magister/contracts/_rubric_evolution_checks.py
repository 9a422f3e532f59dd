"""What the evolution of rubrics promises: numbers counted again, flags that follow, and a best version that is best."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import Mask, absent, member, numbers, positions, same, taken, true
from magister.contracts._estimates import Floats, close, interval_check, reason_check, value_check
from magister.contracts._rubric_plan import RubricPlan
from magister.contracts._rubric_score_checks import METRIC, masked, medians, panel_scores
from magister.contracts.gate import Expectation, RowCheck, RowCount
from magister.contracts.rubrics_score_tables import METRIC_STATISTICS

_FLAGGED = {
    "too_lenient": {"mean_share": ">="},
    "too_strict": {"mean_share": "<=", "floor_share": ">="},
    "low_discrimination": {"eta_squared": "<"},
    "unreliable": {"alpha_ordinal": "<", "repeat_sd": ">"},
    "redundant": {"redundancy_r": ">="},
    "off_target": {"human_deviation": ">", "item_total_r": "<", "length_r": "|>=|"},
    "insufficient_data": {"mean": "n"},
}
"""Statistics that raise a flag, and how they pass their threshold."""
_TASK = ("iteration", "scenario", "task_id")


def shares(scores: pa.Table, metrics: pa.Table) -> dict[str, Floats]:
    """Mean of the panel, shares of lowest, highest and missing scores, by the rows of METRICS; NaN without scores."""
    # Tasks that are held out are the objective's, unless all are.
    group = ("iteration", "scenario")
    some = masked(scores, ~true(scores["held_out"]))
    left = masked(scores, positions(scores, some, group) < 0)
    judged = pa.concat_tables([some, left])
    judged = judged.filter(pc.not_equal(judged["status"], "vetoed"))
    # Scores of metrics that there are not are found elsewhere.
    judged = masked(judged, positions(judged, metrics, METRIC) >= 0)
    panel = panel_scores(judged)
    at = positions(panel, metrics, METRIC)
    value, size = numbers(panel["value"]), metrics.num_rows
    low, high = (numbers(metrics[name])[at] for name in ("low", "high"))
    n = np.bincount(at, minlength=size)
    asked = judged.filter(pc.not_equal(judged["status"], "excluded"))
    where = positions(asked, metrics, METRIC)
    missing = np.bincount(where[absent(asked["value"])], minlength=size)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "mean": np.bincount(at, value, size) / n,
            "floor_share": np.bincount(at[value == low], minlength=size) / n,
            "ceiling_share": np.bincount(at[value == high], minlength=size) / n,
            "missing_share": missing / np.bincount(where, minlength=size),
        }


def diagnosis_checks(diagnosis: pa.Table, scores: pa.Table, metrics: pa.Table) -> list[Expectation]:
    """Every statistic of every metric; those that can be counted are counted again."""
    name = "diagnosis"
    place = positions(diagnosis, metrics, METRIC)
    version = taken(metrics, place, ["rubric_sha"])["rubric_sha"]
    value = numbers(diagnosis["value"])
    right = np.ones(diagnosis.num_rows, dtype=bool)
    for statistic, found in shares(scores, metrics).items():
        own = true(pc.equal(diagnosis["statistic"], statistic)) & (place >= 0)
        right[own] = close(value[own], found[place[own]])
    return [
        RowCount(name, metrics.num_rows * len(METRIC_STATISTICS), "metrics x statistics"),
        RowCheck(
            name,
            "of_the_version",
            (*METRIC, "rubric_sha"),
            "a metric of the iteration's rubric",
            same(diagnosis["rubric_sha"], version),
        ),
        RowCheck(name, "counted_again", ("statistic", "value"), "as counted from the scores", right),
        value_check(name, diagnosis),
        interval_check(name, "interval_where_ok", diagnosis, ("status", "ci_low", "ci_high")),
        reason_check(name, "reason_where_not_ok", diagnosis, ("status", "reason")),
    ]


def _passed(flags: pa.Table) -> Mask:
    """Whether the value of each flag passes its threshold."""
    value, threshold, n = (numbers(flags[name]) for name in ("value", "threshold", "n"))
    out = np.zeros(flags.num_rows, dtype=bool)
    ways = {
        ">=": value >= threshold,
        "<=": value <= threshold,
        "<": np.isnan(value) | (value < threshold),
        ">": value > threshold,
        "|>=|": np.abs(value) >= threshold,
        "n": np.isnan(value) & (n < threshold),
    }
    for flag, statistics in _FLAGGED.items():
        for statistic, way in statistics.items():
            own = true(pc.equal(flags["flag"], flag)) & true(pc.equal(flags["statistic"], statistic))
            out[own] = ways[way][own]
    return out


def flag_checks(flags: pa.Table, diagnosis: pa.Table) -> list[Expectation]:
    """A flag rests on a number of the diagnosis that passes its threshold."""
    name, key = "flags", (*METRIC, "statistic", "rubric_sha")
    place = positions(flags, diagnosis, key)
    facts = taken(diagnosis, place, ["value", "n"])
    value = numbers(flags["value"])
    few = true(pc.equal(flags["flag"], "insufficient_data"))
    with_few, with_other = (positions(flags, masked(flags, some), METRIC) >= 0 for some in (few, ~few))
    only = ~(with_few & with_other)
    alike = (np.isnan(value) | close(value, numbers(facts["value"]))) & (
        numbers(flags["n"]) == numbers(facts["n"])
    )
    return [
        RowCheck(
            name, "as_diagnosed", (*key, "value", "n"), "a number of the diagnosis", alike & (place >= 0)
        ),
        RowCheck(
            name,
            "threshold_passed",
            ("flag", "statistic", "value", "threshold"),
            "past its threshold",
            _passed(flags),
        ),
        RowCheck(name, "few_data_alone", ("flag",), "no other flag where there are too few data", only),
    ]


def _parents(table: pa.Table, decisions: pa.Table) -> pa.Table:
    """Of each row the iteration that its own was refined from: the best one before."""
    before = table.select(["scenario"]).add_column(
        0, "iteration", pc.subtract(table["iteration"], pa.scalar(1, pa.int32()))
    )
    return taken(
        decisions, positions(before, decisions, ("iteration", "scenario")), ["best", "frozen", "stop"]
    )


def record_checks(
    records: pa.Table, metrics: pa.Table, flags: pa.Table, decisions: pa.Table
) -> list[Expectation]:
    """What was to be rewritten is a metric that was flagged in the version that it was refined from."""
    name = "records"
    first = numbers(records["iteration"]) == 0
    best = _parents(records, decisions)["best"]
    parent = records.select(["scenario", "metric_id", "parent_sha"]).add_column(0, "iteration", best)
    known = positions(parent, metrics, METRIC)
    sha = taken(metrics, known, ["rubric_sha"])["rubric_sha"]
    raised = positions(parent, flags, METRIC) >= 0
    return [
        RowCheck(
            name,
            "of_the_best",
            ("iteration", "scenario", "metric_id", "parent_sha"),
            "a metric of the best version before",
            first | same(records["parent_sha"], sha),
        ),
        RowCheck(
            name,
            "was_flagged",
            ("iteration", "scenario", "metric_id"),
            "flagged in the best version before",
            first | raised,
        ),
    ]


def task_change_checks(changes: pa.Table, tasks: pa.Table, decisions: pa.Table) -> list[Expectation]:
    """A task that was to be written anew is one of the best iteration before, and none that is held out."""
    name = "task_changes"
    best = _parents(changes, decisions)["best"]
    parent = changes.select(["scenario"]).add_column(0, "iteration", best)
    parent = parent.append_column("task_id", changes["old_task_id"])
    place = positions(parent, tasks, _TASK)
    held = true(taken(tasks, place, ["held_out"])["held_out"])
    moved = true(pc.not_equal(changes["task_id"], changes["old_task_id"]))
    return [
        RowCheck(
            name,
            "old_task_of_the_best",
            ("old_task_id",),
            "a task of the best iteration before, not held out",
            (place >= 0) & ~held,
        ),
        RowCheck(
            name,
            "task_of_the_iteration",
            _TASK,
            "a task of the iteration",
            positions(changes, tasks, _TASK) >= 0,
        ),
        RowCheck(
            name,
            "another_where_rewritten",
            ("status", "task_id"),
            "another task where it was rewritten, and only then",
            moved == true(pc.equal(changes["status"], "rewritten")),
        ),
    ]


def agreement_checks(agreement: pa.Table, scores: pa.Table, plan: RubricPlan) -> list[Expectation]:
    """Two judges of the set; their mean difference on a metric is counted again."""
    name, key = "agreement", ("iteration", "scenario", "dialogue_id", "metric_id")
    judged = medians(scores.filter(pc.not_equal(scores["status"], "vetoed")), (*key, "judge"))
    right = np.ones(agreement.num_rows, dtype=bool)
    value = numbers(agreement["value"])
    place = ("iteration", "scenario", "metric_id")
    own = true(pc.equal(agreement["measure"], "mean_difference"))
    for a in plan.judges:
        for b in plan.judges:
            pair = own & true(pc.equal(agreement["judge_a"], a)) & true(pc.equal(agreement["judge_b"], b))
            if not pair.any():
                continue
            one, two = (judged.filter(pc.equal(judged["judge"], who)) for who in (a, b))
            at = positions(one, two, key)
            both = masked(one, at >= 0)
            gap = numbers(both["value"]) - numbers(two["value"].take(pa.array(at[at >= 0])))
            rows = masked(agreement, pair)
            where = positions(both, rows, place)
            used = where >= 0
            count = np.bincount(where[used], minlength=rows.num_rows)
            with np.errstate(invalid="ignore", divide="ignore"):
                mean = np.bincount(where[used], gap[used], rows.num_rows) / count
            overall = true(pc.equal(rows["metric_id"], "overall"))
            right[pair] = overall | close(value[pair], mean)
    known = member(agreement["judge_a"], plan.judges) & member(agreement["judge_b"], plan.judges)
    return [
        RowCheck(name, "judges_known", ("judge_a", "judge_b"), "two judges of the set", known),
        RowCheck(name, "counted_again", ("measure", "value"), "as counted from the scores", right),
        value_check(name, agreement),
        reason_check(name, "reason_where_not_ok", agreement, ("status", "reason")),
    ]


def decision_checks(decisions: pa.Table, metrics: pa.Table, plan: RubricPlan) -> list[Expectation]:
    """The best version is the one that won; after a stop nothing takes place; a version descends from the best."""
    name = "decisions"
    best, frozen, child = (np.ones(decisions.num_rows, dtype=bool) for _ in range(3))
    by_scenario: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for place, row in enumerate(decisions.to_pylist()):
        by_scenario.setdefault(row["scenario"], []).append((place, row))
    for rows in by_scenario.values():
        rows.sort(key=lambda one: one[1]["iteration"])
        winner: dict[str, Any] | None = None
        stopped = False
        for place, row in rows:
            frozen[place] = row["frozen"] == stopped
            if not row["frozen"]:
                # A version in which nothing could be rewritten is the best one itself.
                old = winner["rubric_sha"] if winner else ""
                child[place] = old in (row["parent_sha"], row["rubric_sha"])
                if winner is None or _beats(row["value"], winner["value"], plan.min_delta):
                    winner = row
            best[place] = winner is not None and row["best"] == winner["iteration"]
            stopped = stopped or bool(row["stop"])
    versions = positions(decisions, metrics, ("iteration", "scenario", "rubric_sha")) >= 0
    count = len(plan.candidates) * (plan.iterations + 1)
    return [
        RowCount(name, count, "scenarios x iterations"),
        RowCheck(
            name,
            "of_the_version",
            ("iteration", "scenario", "rubric_sha"),
            "the iteration's rubric, unless it does not take place",
            versions | true(decisions["frozen"]),
        ),
        RowCheck(
            name,
            "best_won",
            ("best", "value"),
            "the version that no other beats by more than min_delta",
            best,
        ),
        RowCheck(name, "frozen_after_stop", ("frozen", "stop"), "frozen after a stop, and only then", frozen),
        RowCheck(name, "child_of_the_best", ("parent_sha",), "refined from the best version before", child),
    ]


def _beats(value: float | None, old: float | None, min_delta: float) -> bool:
    if value is None or math.isnan(value):
        return False
    return old is None or math.isnan(old) or value - old > min_delta


def metric_checks(metrics: pa.Table, decisions: pa.Table) -> list[Expectation]:
    """Metrics are of iterations that take place, and weigh 1 together."""
    name, place = "metrics", ("iteration", "scenario")
    at = positions(metrics, decisions, place)
    live = (at >= 0) & ~true(taken(decisions, at, ["frozen"])["frozen"])
    counted = np.bincount(np.maximum(at, 0), numbers(metrics["weight"]), decisions.num_rows)
    total = np.asarray(counted, dtype=np.float64)
    return [
        RowCheck(name, "takes_place", place, "an iteration that takes place", live),
        RowCheck(
            name,
            "weights_sum_to_one",
            ("weight",),
            "weights of a rubric add up to 1",
            close(total[np.maximum(at, 0)], np.ones(at.size)),
        ),
    ]


def task_checks(tasks: pa.Table, decisions: pa.Table) -> list[Expectation]:
    """Tasks are of iterations that take place."""
    at = positions(tasks, decisions, ("iteration", "scenario"))
    live = (at >= 0) & ~true(taken(decisions, at, ["frozen"])["frozen"])
    return [RowCheck("tasks", "takes_place", _TASK, "an iteration that takes place", live)]


def expert_checks(experts: pa.Table, anchor_scores: pa.Table) -> list[Expectation]:
    """Anchors that experts have scored are scored by the judges."""
    key = ("scenario", "dialogue_id", "metric_id")
    return [
        RowCheck(
            "experts", "is_scored", key, "scored by the judges", positions(experts, anchor_scores, key) >= 0
        )
    ]


def drift_checks(
    drift: pa.Table, anchor_scores: pa.Table, experts: pa.Table, metrics: pa.Table
) -> list[Expectation]:
    """Distances of panel and experts on the anchors, counted again."""
    name = "drift"
    judged = panel_scores(anchor_scores.filter(pc.not_equal(anchor_scores["status"], "vetoed")))
    judged = masked(judged, positions(judged, metrics, METRIC) >= 0)
    at = positions(judged, experts, ("scenario", "dialogue_id", "metric_id"))
    both = masked(judged, at >= 0)
    gap = numbers(both["value"]) - numbers(experts["value"].take(pa.array(at[at >= 0])))
    where, size = positions(both, metrics, METRIC), metrics.num_rows
    place = positions(drift, metrics, METRIC)
    right, value = np.ones(drift.num_rows, dtype=bool), numbers(drift["value"])
    with np.errstate(invalid="ignore", divide="ignore"):
        count = np.bincount(where, minlength=size)
        means = {
            "bias": np.bincount(where, gap, size) / count,
            "deviation": np.bincount(where, np.abs(gap), size) / count,
        }
    for statistic, found in means.items():
        own = true(pc.equal(drift["statistic"], statistic)) & (place >= 0)
        right[own] = close(value[own], found[place[own]])
    return [
        RowCount(name, 4 * size, "metrics x statistics"),
        RowCheck(name, "metric_known", METRIC, "a metric of the iteration's rubric", place >= 0),
        RowCheck(
            name, "counted_again", ("statistic", "value"), "as counted from the scores of the anchors", right
        ),
        value_check(name, drift),
    ]
