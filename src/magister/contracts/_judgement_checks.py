"""Who was to judge what in an arena, and that nothing of it is lost."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._arena_plan import KEY, ArenaPlan
from magister.contracts._columns import Mask, absent, agree, member, positions, row_codes, same, taken, true
from magister.contracts._small import small_contract
from magister.contracts._verdict_checks import gold_of
from magister.contracts.gate import Expectation, RowCheck, RowCount
from magister.contracts.schemas import Contract

_VOTER = ("annotator_kind", "annotator")


def is_own(table: pa.Table) -> Mask:
    """Rows in which one of the two responses is the annotator's."""
    return same(table["annotator"], table["model_1"]) | same(table["annotator"], table["model_2"])


def asked_checks(asked: pa.Table, key: pa.Table, plan: ArenaPlan) -> list[Expectation]:
    """Checks on ARENA_ASKED.

    Args:
        asked: what all judges were asked.
        key: SHEET_KEY.
        plan: what the league was to hold.
    """
    place = positions(asked, key, ["comparison_id"])
    own = is_own(taken(key, place, ("model_1", "model_2")).append_column("annotator", asked["annotator"]))
    _, code, times = np.unique(
        row_codes(asked, ("annotator", "comparison_id")), return_inverse=True, return_counts=True
    )
    judges = pa.array(list(plan.judges), pa.string())
    left_out = int(pc.sum(pc.is_in(key["model_1"], value_set=judges)).as_py() or 0)
    left_out += int(pc.sum(pc.is_in(key["model_2"], value_set=judges)).as_py() or 0)
    rows = 2 * (len(plan.judges) * key.num_rows - (left_out if plan.exclude_self else 0))

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("asked", name, columns, expected, passed)

    return [
        RowCount("asked", rows, f"{len(plan.judges)} judges x comparisons that are not their own x 2 orders"),
        check(
            "judge_in_league",
            ("annotator",),
            "a judge of the league",
            member(asked["annotator"], plan.judges),
        ),
        check("comparison_on_sheet", ("comparison_id",), "a comparison of the sheet", place >= 0),
        check("both_orders", ("annotator", "comparison_id", "order"), "both orders", times[code] == 2),
        check(
            "own_responses_left_out",
            ("annotator", "comparison_id"),
            "no comparison with a response of the judge itself",
            ~own | (not plan.exclude_self),
        ),
    ]


def rejection_checks(
    rejected: pa.Table, key: pa.Table, pool: pa.Table, asked: pa.Table, plan: ArenaPlan
) -> list[RowCheck]:
    """Checks on VOTES_REJECTED.

    Args:
        rejected: comparisons without a vote, and rows of sheets that are none.
        key: SHEET_KEY.
        pool: INSTRUCTIONS.
        asked: ARENA_ASKED of all judges.
        plan: what the league was to hold.
    """
    judge = true(pc.starts_with(rejected["source"], "judge:"))
    keyed = true(pc.equal(rejected["source"], KEY))
    judged = member(rejected["source"], [f"judge:{name}" for name in plan.judges])
    of_source = pc.if_else(
        pc.starts_with(rejected["source"], "judge:"), pc.utf8_slice_codeunits(rejected["source"], 6), KEY
    )
    place = positions(rejected, key, ["comparison_id"])
    hidden = taken(key, place, ("model_1", "model_2", "instruction_id"))
    own_reason = true(pc.equal(rejected["reason"], "own_response"))
    own = is_own(hidden.append_column("annotator", rejected["annotator"]))
    request = ("annotator", "comparison_id", "request_id")
    voted = judge | keyed

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("votes_rejected", name, columns, expected, passed)

    return [
        check(
            "source_configured",
            ("source",),
            "judge:<a judge of the league>, key where it votes, or a sheet that people filled in",
            np.where(judge, judged, np.where(keyed, plan.key, plan.people)),
        ),
        check(
            "annotator_of_source",
            ("source", "annotator"),
            "the judge, or key",
            ~voted | agree(rejected["annotator"], of_source),
        ),
        check(
            "comparison_to_judge",
            ("source", "comparison_id"),
            "a comparison of the sheet; for the key, one whose instruction has a gold value",
            ~voted | (place >= 0) & (judge | ~absent(gold_of(hidden, pool))),
        ),
        check(
            "request_as_asked",
            request,
            "what the judge was asked; nothing of its own responses",
            ~judge
            | np.where(own_reason, absent(rejected["request_id"]), positions(rejected, asked, request) >= 0),
        ),
        check(
            "own_response_is_own",
            ("annotator", "comparison_id", "reason"),
            "one of the two responses is the judge's",
            ~judge | (own_reason == (own & plan.exclude_self)) | (place < 0),
        ),
    ]


def judgements(
    votes: pa.Table, rejected: pa.Table, key: pa.Table, pool: pa.Table, plan: ArenaPlan
) -> tuple[tuple[Contract, pa.Table], list[Expectation]]:
    """Every comparison with every judge, and with the key where there is a gold value: a vote, or a reason.

    Args:
        votes: VOTES.
        rejected: VOTES_REJECTED.
        key: SHEET_KEY.
        pool: INSTRUCTIONS.
        plan: what the league was to hold.

    Returns:
        A table of them, and its checks.
    """
    known = key.filter(pc.is_valid(gold_of(key, pool)))
    parts = [("judge", name, key["comparison_id"]) for name in plan.judges]
    parts += [("key", KEY, known["comparison_id"])] if plan.key else []
    contract = small_contract(
        "judgements",
        dict.fromkeys((*_VOTER, "comparison_id"), pa.string())
        | dict.fromkeys(("n_votes", "n_rejected"), pa.int64()),
        (*_VOTER, "comparison_id"),
        may_be_empty=True,
    )
    names = [*_VOTER, "comparison_id"]
    bare = pa.schema([(name, pa.string()) for name in names])
    table = pa.concat_tables(
        [
            bare.empty_table(),
            *(
                pa.table([pa.repeat(kind, len(ids)), pa.repeat(name, len(ids)), ids], schema=bare)
                for kind, name, ids in parts
            ),
        ]
    )
    judge = pc.starts_with(rejected["source"], "judge:")
    refused = rejected.append_column("annotator_kind", pc.if_else(judge, "judge", "key"))
    refused = refused.filter(pc.or_(judge, pc.equal(rejected["source"], KEY)))
    counts = []
    for given in (votes, refused):
        place = positions(given, table, names)
        counts.append(np.bincount(place[place >= 0], minlength=table.num_rows))
    for name, count in zip(("n_votes", "n_rejected"), counts, strict=True):
        table = table.append_column(name, pa.array(count, pa.int64()))
    once = (counts[0] == 1) & (counts[1] == 0) | (counts[0] == 0) & (counts[1] > 0)
    told = "one vote, or the reasons why there is none"
    made = pa.table({name: table[name] for name in contract.schema.names}, schema=contract.schema)
    return (contract, made), [RowCheck("judgements", "vote_or_reason", ("n_votes", "n_rejected"), told, once)]
