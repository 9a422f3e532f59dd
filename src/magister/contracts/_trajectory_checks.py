"""What trajectories promise beyond their contract."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts._columns import Mask, absent, constant_within, facts, member, places, same, true
from magister.contracts._league import LeaguePlan
from magister.contracts._small import LETTERS, letters_fit, small_contract
from magister.contracts.gate import RowCheck
from magister.contracts.schemas import STATUSES, Contract


def _answers_fit(answers: pa.ChunkedArray, sizes: pa.ChunkedArray) -> Mask:
    """Whether every letter of an answer names an option; no answer names none."""
    coded = answers.combine_chunks().dictionary_encode()
    words = coded.dictionary.to_pylist()
    # The smallest number of options with which each answer is one; 27 for what is no answer at all.
    needs = np.array(
        [LETTERS.index(word[-1]) + 1 if letters_fit(word, 26) else 27 for word in words] + [0],
        dtype=np.int64,
    )
    codes = coded.indices.fill_null(len(words)).to_numpy()
    return np.asarray(needs[codes] <= pc.fill_null(sizes, 0).to_numpy(), dtype=bool)


def plan_cells(
    trajectories: pa.Table, item_ids: Sequence[str], plan: LeaguePlan, exchange: NDArray[np.int64]
) -> tuple[Contract, pa.Table]:
    """Every cell of the plan with the number of its rounds that are there exactly once."""
    rounds = plan.rounds + 1
    shape = (len(plan.exchanges), len(plan.students), len(item_ids), rounds)
    at = [
        exchange,
        places(trajectories["student"], plan.students),
        places(trajectories["item_id"], item_ids),
    ]
    number = pc.fill_null(trajectories["round"], -1).to_numpy().astype(np.int64)
    inside = np.logical_and.reduce([part >= 0 for part in at]) & (number >= 0) & (number < rounds)
    flat = np.ravel_multi_index([*(part[inside] for part in at), number[inside]], shape)
    once = (np.bincount(flat, minlength=int(np.prod(shape))) == 1).reshape(-1, rounds).sum(axis=1)
    exchanges, students, items = (axis.ravel() for axis in np.indices(shape[:3], dtype=np.int32))
    columns = {
        "arm": pa.array([arm for arm, _ in plan.exchanges], pa.string()).take(pa.array(exchanges)),
        "teacher": pa.array([name for _, name in plan.exchanges], pa.string()).take(pa.array(exchanges)),
        "student": pa.array(list(plan.students), pa.string()).take(pa.array(students)),
        "item_id": pa.array(list(item_ids), pa.string()).take(pa.array(items)),
        "n_rounds": pa.array(once, pa.int64()),
    }
    contract = small_contract(
        "cells",
        {name: column.type for name, column in columns.items()},
        ["arm", "teacher", "student", "item_id"],
        ranges={"n_rounds": (rounds, rounds)},
    )
    return contract, pa.table(columns, schema=contract.schema)


def trajectory_checks(
    rows: pa.Table, items: pa.Table, plan: LeaguePlan, exchange: NDArray[np.int64]
) -> list[RowCheck]:
    """Checks on single rows.

    Args:
        rows: TRAJECTORIES.
        items: ITEMS of the league.
        plan: what the league was to run.
        exchange: position of each row's (arm, teacher) in the plan, -1 for others.
    """
    sized = items.append_column("n_options", pc.list_value_length(items["options"]))
    known, truth = facts(rows, sized, "item_id", ("dataset", "domain", "cluster_id", "n_options", "key"))
    shared = ("dataset", "domain", "cluster_id", "n_options")
    kept = np.logical_and.reduce([same(rows[name], truth[name]) for name in shared])
    number = pc.fill_null(rows["round"], -1).to_numpy()
    blind, guided = number == 0, number > 0
    ok, error = (true(pc.equal(rows["status"], word)) for word in ("ok", "error"))
    failed_guide = true(pc.equal(rows["guide_status"], "error"))
    silent = failed_guide | true(pc.equal(rows["guide_status"], "context_exceeded"))
    taught = true(pc.equal(rows["arm"], "taught"))
    no_verdict = true(pc.equal(rows["verdict"], "none"))
    no_leak = true(pc.equal(rows["leak"], "none"))
    no_guide = absent(rows["guide_request_id"])
    no_answer = absent(rows["answer"])
    unmarked = absent(rows["correct"])
    right = ok & same(rows["answer"], truth["key"])
    reply = ("status", "answer", "correct", "request_id")
    shared_reply = np.ones(rows.num_rows, dtype=bool)
    shared_reply[blind] = constant_within(rows.filter(pa.array(blind)), ("student", "item_id"), reply)
    not_asked = true(pc.equal(rows["guide_status"], "not_asked"))
    guide = ("verdict", "guide_status", "leak", "guide_request_id")

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("trajectories", name, columns, expected, passed)

    return [
        check("item_in_league", ("item_id",), "an item of the league's data sets", known),
        check("item_facts_kept", shared, "as in items", kept | ~known),
        check(
            "league_is_its_own", ("league",), f"league {plan.league}", member(rows["league"], [plan.league])
        ),
        check("exchange_in_league", ("arm", "teacher"), "an arm and teacher of the league", exchange >= 0),
        check(
            "student_in_league",
            ("student",),
            "a student of the league",
            member(rows["student"], plan.students),
        ),
        check(
            "round_in_league",
            ("round",),
            f"a round from 0 to {plan.rounds}",
            (number >= 0) & (number <= plan.rounds),
        ),
        check(
            "correct_null_on_error",
            ("status", "correct"),
            "`correct` null on an error, and only then",
            unmarked == error,
        ),
        check(
            "answer_where_ok",
            ("status", "answer"),
            "an answer where the status is ok, and only there",
            no_answer != ok,
        ),
        check(
            "answer_within_options",
            ("answer", "n_options"),
            "letters of options that are there",
            _answers_fit(rows["answer"], rows["n_options"]),
        ),
        check(
            "correct_agrees_with_key",
            ("answer", "correct", "status"),
            "`correct` where the answer is the item's key, and only there",
            (true(rows["correct"]) == right) | unmarked | ~known,
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
            "no verdict and no request in a control arm",
            taught | (no_verdict & no_guide),
        ),
        check(
            "guides_traced",
            ("guide_request_id",),
            "the request of every guide of a teacher",
            ~(taught & guided) | ~no_guide,
        ),
    ]
