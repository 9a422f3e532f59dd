"""What a judge's scores of likeness promise, and that selections rest on the similarity that was asked for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._arena_plan import COMPARISON, PAIR, ArenaPlan, blank
from magister.contracts._columns import Mask, absent, facts, member, numbers, positions, same, taken, true
from magister.contracts._estimates import close
from magister.contracts._reply_checks import status_is
from magister.contracts.gate import Expectation, RowCheck, RowCount


def _silent(rows: pa.Table, responses: pa.Table) -> Mask:
    """Rows of which a response has nothing to read, or is none of the league's."""
    found = np.zeros(rows.num_rows, dtype=bool)
    for side in PAIR:
        at = positions(rows, responses, (side, "instruction_id"), ("model", "instruction_id"))
        found |= blank(taken(responses, at, ("text",))["text"]) | (at < 0)
    return found


def similarity_checks(
    rows: pa.Table, pool: pa.Table, responses: pa.Table, plan: ArenaPlan
) -> list[Expectation]:
    """Checks on ARENA_SIMILARITIES, which hold something where a judge scores.

    Args:
        rows: the scores.
        pool: INSTRUCTIONS.
        responses: ARENA_RESPONSES of the league's scenarios.
        plan: what the league was to hold.
    """
    pairs = len(plan.models) * (len(plan.models) - 1) // 2
    instructions = int(member(pool["scenario"], plan.scenarios).sum())
    scored = pairs * instructions if plan.similarity == "judge" else 0
    known, truth = facts(rows, pool, "instruction_id", ("scenario",))
    ordered = true(pc.less(rows["model_a"], rows["model_b"]))
    silent = status_is(rows, "no_text")

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("similarities", name, columns, expected, passed)

    return [
        RowCount(
            "similarities",
            scored,
            f"{pairs} pairs x {instructions} instructions where a judge scores, else none",
        ),
        check(
            "pair_in_league",
            PAIR,
            "two models of the league, in the order of their names",
            ordered & member(rows["model_a"], plan.models) & member(rows["model_b"], plan.models),
        ),
        check(
            "instruction_of_scenario",
            ("scenario", "instruction_id"),
            "an instruction of the pool and its scenario, one of the league's",
            known & same(rows["scenario"], truth["scenario"]) & member(rows["scenario"], plan.scenarios),
        ),
        check(
            "scored_where_read",
            ("status", "similarity"),
            "a number where the reply could be read, and only there",
            absent(rows["similarity"]) != status_is(rows, "ok"),
        ),
        check(
            "asked_where_text",
            ("status", "request_id"),
            "no_text where a response has nothing to read, else what the judge was asked",
            (silent == absent(rows["request_id"])) & (silent == _silent(rows, responses)),
        ),
    ]


def measured_check(selections: pa.Table, similarities: pa.Table, plan: ArenaPlan) -> RowCheck:
    """Selections rest on the similarity that was asked for.

    Args:
        selections: SELECTIONS.
        similarities: ARENA_SIMILARITIES.
        plan: what the league was to hold.
    """
    value = numbers(selections["similarity"])
    told = {"judge": "the judge's score", "token": "a share of words, 0 to 1"}.get(
        plan.similarity, "a cosine, -1 to 1"
    )
    passed = (value >= (-1.0 if plan.similarity == "embedding" else 0.0)) & (value <= 1.0)
    if plan.similarity == "judge":
        at = positions(selections, similarities, COMPARISON)
        passed &= close(value, numbers(taken(similarities, at, ("similarity",))["similarity"])) | (at < 0)
    # What is not known, or of another pair or pool, is named by another check.
    return RowCheck(
        "selections",
        "similarity_as_measured",
        (*COMPARISON, "similarity"),
        told,
        passed | np.isnan(value),
    )
