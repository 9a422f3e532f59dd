"""What trajectories promise beyond their contract."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import (
    Codes,
    Mask,
    absent,
    agree,
    all_agree,
    constant_within,
    facts,
    member,
    same,
    taken,
    true,
)
from magister.contracts._league import Grid, Replies, at, place_checks
from magister.contracts._reply_checks import choice_checks, sized
from magister.contracts._small import small_contract
from magister.contracts.gate import RowCheck
from magister.contracts.schemas import STATUSES, TEACHER_ARMS, Contract


def plan_cells(number: Codes, grid: Grid) -> tuple[Contract, pa.Table]:
    """Every cell of the plan with the number of its rounds that are there exactly once.

    Args:
        number: place of each row of TRAJECTORIES, see `Grid.number`.
        grid: the places of the league.
    """
    plan, rounds = grid.plan, grid.plan.rounds + 1
    once = (np.bincount(number[number >= 0], minlength=grid.size) == 1).reshape(-1, rounds).sum(axis=1)
    exchanges, students, items = (axis.ravel() for axis in np.indices(grid.shape[:3], dtype=np.int32))
    columns = {
        "arm": pa.array([arm for arm, _ in plan.exchanges], pa.string()).take(pa.array(exchanges)),
        "teacher": pa.array([name for _, name in plan.exchanges], pa.string()).take(pa.array(exchanges)),
        "student": pa.array(list(plan.students), pa.string()).take(pa.array(students)),
        "item_id": pa.array(list(grid.item_ids), pa.string()).take(pa.array(items)),
        "n_rounds": pa.array(once, pa.int64()),
    }
    contract = small_contract(
        "cells",
        {name: column.type for name, column in columns.items()},
        ["arm", "teacher", "student", "item_id"],
        ranges={"n_rounds": (rounds, rounds)},
    )
    return contract, pa.table(columns, schema=contract.schema)


def joined_checks(
    rows: pa.Table, number: Codes, bands: pa.Table, guides: pa.Table, replies: Replies, grid: Grid
) -> list[RowCheck]:
    """Trajectories say what the tables say that they were joined from.

    Args:
        rows: TRAJECTORIES.
        number: place of each of them, see `Grid.number`.
        bands: BANDS.
        guides: GUIDES of all rounds, teachers and arms.
        replies: the students' replies.
        grid: the places of the league.
    """
    inside = number >= 0
    reply = ("status", "answer", "correct", "request_id")
    replied, given = replies.take(number, reply)
    guide = ("verdict", "status", "leak", "request_id")
    said = at(grid.rows(guides), number)
    names = ["verdict", "guide_status", "leak", "guide_request_id"]
    told = taken(guides, said, guide).rename_columns(names)
    guided = true(pc.greater(rows["round"], 0))
    _, banded = facts(rows, bands, "item_id", ("band",))

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("trajectories", name, columns, expected, passed)

    return [
        check(
            "replies_as_given",
            reply,
            "as in blind_answers at round 0 and in revisions after it",
            ~inside | replied & all_agree(rows.select(reply), given),
        ),
        check(
            "guides_as_given",
            tuple(names),
            "as in guides",
            ~inside | ~guided | (said >= 0) & all_agree(rows.select(names), told),
        ),
        check("band_as_given", ("band",), "as in bands", agree(rows["band"], banded["band"])),
    ]


def trajectory_checks(rows: pa.Table, items: pa.Table, grid: Grid) -> list[RowCheck]:
    """Checks on single rows.

    Args:
        rows: TRAJECTORIES.
        items: ITEMS of the league.
        grid: the places of the league.
    """
    plan = grid.plan
    shared = ("dataset", "domain", "cluster_id", "n_options", "needs_options", "options_in_question", "multi")
    known, truth = facts(rows, sized(items), "item_id", (*shared, "key"))
    kept = np.logical_and.reduce([same(rows[name], truth[name]) for name in shared])
    number = pc.fill_null(rows["round"], -1).to_numpy()
    blind, guided = number == 0, number > 0
    ok, error = (true(pc.equal(rows["status"], word)) for word in ("ok", "error"))
    failed_guide = true(pc.equal(rows["guide_status"], "error"))
    silent = failed_guide | true(pc.equal(rows["guide_status"], "context_exceeded"))
    taught = member(rows["arm"], TEACHER_ARMS)
    no_verdict = true(pc.equal(rows["verdict"], "none"))
    no_leak = true(pc.equal(rows["leak"], "none"))
    no_guide = absent(rows["guide_request_id"])
    no_answer = absent(rows["answer"])
    reply = ("status", "answer", "correct", "request_id")
    shared_reply = np.ones(rows.num_rows, dtype=bool)
    shared_reply[blind] = constant_within(rows.filter(pa.array(blind)), ("student", "item_id"), reply)
    not_asked = true(pc.equal(rows["guide_status"], "not_asked"))
    guide = ("verdict", "guide_status", "leak", "guide_request_id")

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("trajectories", name, columns, expected, passed)

    return [
        *place_checks("trajectories", rows, grid, 0),
        *choice_checks("trajectories", rows, known, truth["key"], truth["n_options"]),
        check("item_facts_kept", shared, "as in items", kept | ~known),
        check(
            "league_is_its_own", ("league",), f"league {plan.league}", member(rows["league"], [plan.league])
        ),
        check(
            "answer_where_ok",
            ("status", "answer"),
            "an answer where the status is ok, and only there",
            no_answer != ok,
        ),
        check(
            "blind_answers_shared",
            reply,
            "one blind answer of a student to an item, whoever teaches",
            shared_reply,
        ),
        check(
            "blind_rows_unguided",
            guide,
            "no guide at round 0, and guide_status not_asked",
            ~blind | (not_asked & no_verdict & no_leak & no_guide),
        ),
        check(
            "guide_status_known",
            ("guide_status",),
            f"after round 0, one of {', '.join(STATUSES)}",
            ~guided | member(rows["guide_status"], STATUSES),
        ),
        check(
            "failed_guide_is_silent",
            guide,
            "no verdict and no leak of a guide that failed",
            ~silent | (no_verdict & no_leak),
        ),
        check(
            "failed_guide_fails_reply",
            ("guide_status", "status"),
            "status error after a guide with an error",
            ~failed_guide | error,
        ),
        check(
            "control_arms_unjudged",
            guide,
            "no verdict and no request in an arm without a teacher",
            taught | (no_verdict & no_guide),
        ),
        check(
            "guides_traced",
            ("guide_request_id",),
            "the request of every guide of a teacher",
            ~(taught & guided) | ~no_guide,
        ),
    ]
