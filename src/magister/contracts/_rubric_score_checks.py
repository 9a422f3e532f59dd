"""What the scores of dialogues promise: everybody asked for everything, a value or a reason, vetoes that were found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import (
    Mask,
    absent,
    all_agree,
    member,
    numbers,
    positions,
    row_codes,
    same,
    taken,
    true,
)
from magister.contracts._dialogue_checks import DIALOGUE
from magister.contracts._rubric_plan import RubricPlan
from magister.contracts.gate import Expectation, RowCheck, RowCount

METRIC = ("iteration", "scenario", "metric_id")
_CELL = ("iteration", "scenario", "dialogue_id", "metric_id", "judge", "repeat")


def check_checks(checks: pa.Table, dialogues: pa.Table, plan: RubricPlan) -> list[Expectation]:
    """Every check of every dialogue; a turn where one failed."""
    name = "checks"
    per = {scenario: len(names) for scenario, names in plan.checks.items()}
    rows = sum(per.get(scenario, 0) for scenario in dialogues["scenario"].to_pylist())
    known = pa.table(
        {
            "scenario": pa.array([s for s, names in plan.checks.items() for _ in names], pa.string()),
            "check": pa.array([one for names in plan.checks.values() for one in names], pa.string()),
        }
    )
    place = positions(checks, dialogues, DIALOGUE)
    failed = true(pc.equal(checks["status"], "failed"))
    turns = numbers(taken(dialogues, place, ["turns"])["turns"])
    turn = numbers(checks["turn"])
    return [
        RowCount(name, rows, "the checks of all dialogues"),
        RowCheck(name, "dialogue_known", DIALOGUE, "a dialogue of the iteration", place >= 0),
        RowCheck(
            name,
            "check_known",
            ("scenario", "check"),
            "a check of the scenario",
            positions(checks, known, ("scenario", "check")) >= 0,
        ),
        RowCheck(
            name,
            "veto_failed",
            ("vetoes", "status"),
            "what forbids scoring has failed",
            ~true(checks["vetoes"]) | failed,
        ),
        RowCheck(
            name,
            "turn_where_failed",
            ("turn", "status"),
            "a turn of the dialogue, and only where the check failed",
            np.isnan(turn) | (failed & ((turn <= turns) | (place < 0))),
        ),
    ]


def judge_asked_checks(asked: pa.Table, scored: pa.Table, plan: RubricPlan) -> list[Expectation]:
    """Whatever a judge was asked for has a row in the scores, from the same request."""
    name = "asked"
    place = positions(asked, scored, _CELL)
    alike = same(asked["request_id"], taken(scored, place, ["request_id"])["request_id"])
    return [
        RowCheck(name, "is_scored", (*_CELL, "request_id"), "a row of the scores, from this request", alike),
        RowCheck(name, "judge_known", ("judge",), "a judge of the set", member(asked["judge"], plan.judges)),
    ]


def repair_checks(repairs: pa.Table, asked: pa.Table, scored: pa.Table) -> list[Expectation]:
    """A repair is about a request that was made, and was read."""
    name, request = "repairs", ("iteration", "scenario", "request_id")
    used = positions(repairs, scored, (*request, "repair_id"))
    return [
        RowCheck(
            name, "request_asked", request, "a request to a judge", positions(repairs, asked, request) >= 0
        ),
        RowCheck(name, "was_read", ("request_id", "repair_id"), "named in the scores", used >= 0),
    ]


def _value_checks(name: str, scores: pa.Table, metrics: pa.Table) -> list[Expectation]:
    """A value on the version's scale where there is a score, a reason elsewhere."""
    place = positions(scores, metrics, METRIC)
    facts = taken(metrics, place, ["rubric_sha", "low", "high", "whole"])
    value = numbers(scores["value"])
    low, high = numbers(facts["low"]), numbers(facts["high"])
    scored = member(scores["status"], ("ok", "vetoed"))
    ok = true(pc.equal(scores["status"], "ok"))
    vetoed = true(pc.equal(scores["status"], "vetoed"))
    excluded = true(pc.equal(scores["status"], "excluded"))
    fits = (value >= low) & (value <= high) & (~true(facts["whole"]) | (value == np.round(value)))
    repaired = true(scores["was_repaired"])
    return [
        RowCheck(
            name,
            "of_the_version",
            (*METRIC, "rubric_sha"),
            "a metric of the iteration's rubric",
            same(scores["rubric_sha"], facts["rubric_sha"]),
        ),
        RowCheck(
            name,
            "value_where_scored",
            ("status", "value"),
            "a value where the status is ok or vetoed, and only then",
            ~np.isnan(value) == scored,
        ),
        RowCheck(name, "value_on_scale", ("value",), "on the scale", np.isnan(value) | fits | (place < 0)),
        RowCheck(
            name,
            "lowest_where_vetoed",
            ("status", "value"),
            "the lowest score where a rule gives it",
            ~vetoed | np.isnan(value) | (value == low) | (place < 0),
        ),
        RowCheck(
            name,
            "reason_where_not_ok",
            ("status", "reason"),
            "a reason where the status is not ok, and only then",
            ok == true(pc.equal(scores["reason"], "")),
        ),
        RowCheck(
            name,
            "request_where_asked",
            ("status", "request_id"),
            "a request, unless it was vetoed or excluded",
            absent(scores["request_id"]) == (vetoed | excluded),
        ),
        RowCheck(
            name,
            "repaired_by_a_repair",
            ("was_repaired", "repair_id", "status"),
            "a repair and a score, where one was repaired",
            ~repaired | (ok & ~absent(scores["repair_id"])),
        ),
    ]


def score_checks(
    scores: pa.Table, dialogues: pa.Table, checks: pa.Table, metrics: pa.Table, plan: RubricPlan
) -> list[Expectation]:
    """A row for every dialogue, metric, judge and repeat."""
    name, about = "scores", ("scenario", "task_id", "model", "held_out")
    place = positions(scores, dialogues, DIALOGUE)
    alike = all_agree(scores.select(about), taken(dialogues, place, about))
    forbidden = checks.filter(checks["vetoes"])
    vetoed = positions(scores, forbidden, DIALOGUE) >= 0
    found = np.where(
        vetoed,
        member(scores["status"], ("vetoed", "excluded")),
        ~true(pc.equal(scores["status"], "vetoed")),
    )
    return [
        RowCount(
            name,
            cells(dialogues, metrics) * len(plan.judges) * plan.repeats,
            "dialogues x metrics x judges x repeats",
        ),
        RowCheck(name, "of_a_dialogue", (*DIALOGUE, *about), "a dialogue, with its facts", alike),
        RowCheck(name, "judge_known", ("judge",), "a judge of the set", member(scores["judge"], plan.judges)),
        RowCheck(
            name, "repeat_known", ("repeat",), "one of the repeats", numbers(scores["repeat"]) <= plan.repeats
        ),
        RowCheck(
            name,
            "veto_found",
            ("status",),
            "vetoed where a rule that forbids scoring failed, and only then",
            found,
        ),
        *_value_checks(name, scores, metrics),
    ]


def anchor_score_checks(scores: pa.Table, metrics: pa.Table, plan: RubricPlan) -> list[Expectation]:
    """The same of anchors, as far as it goes for dialogues that nobody played here."""
    name = "anchor_scores"
    return [
        RowCheck(name, "judge_known", ("judge",), "a judge of the set", member(scores["judge"], plan.judges)),
        *_value_checks(name, scores, metrics),
    ]


def cells(dialogues: pa.Table, metrics: pa.Table) -> int:
    """How many dialogues x metrics there are, within iterations and scenarios."""
    key = ["iteration", "scenario"]
    one, two = (table.group_by(key).aggregate([([], "count_all")]) for table in (dialogues, metrics))
    place = positions(one, two, key)
    sizes = numbers(taken(two, place, ["count_all"])["count_all"])
    return int(np.nansum(numbers(one["count_all"]) * sizes))


def medians(table: pa.Table, key: Sequence[str]) -> pa.Table:
    """The median of `value` in each group, of what is there: a row a group."""
    given = table.filter(pc.is_valid(table["value"]))
    codes, values = row_codes(given, key), numbers(given["value"])
    order = np.lexsort((values, codes))
    _, start, count = np.unique(codes[order], return_index=True, return_counts=True)
    middle = (values[order[start + (count - 1) // 2]] + values[order[start + count // 2]]) / 2
    groups = given.select(list(key)).take(pa.array(order[start]))
    return groups.append_column("value", pa.array(middle, pa.float64()))


def panel_scores(scores: pa.Table) -> pa.Table:
    """Median over judges of their medians over repeats, by iteration, scenario, dialogue and metric."""
    key = ("iteration", "scenario", "dialogue_id", "metric_id")
    return medians(medians(scores, (*key, "judge")), key)


def masked(table: pa.Table, mask: Mask) -> pa.Table:
    """Some rows of a table."""
    return table.filter(pa.array(mask))
