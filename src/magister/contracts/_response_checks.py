"""What the responses of an arena and their vectors promise."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._arena_plan import ArenaPlan, blank
from magister.contracts._columns import Mask, absent, member, numbers, positions, row_codes, taken, true
from magister.contracts._reply_checks import FAILED, status_is
from magister.contracts.gate import Expectation, RowCheck, RowCount


def of_scenarios(responses: pa.Table, pool: pa.Table, plan: ArenaPlan) -> pa.Table:
    """Responses to the league's scenarios, and those to no instruction at all; other leagues ask for more."""
    place = positions(responses, pool, ["instruction_id"])
    scenario = taken(pool, place, ("scenario",))["scenario"]
    return responses.filter(pa.array((place < 0) | member(scenario, plan.scenarios)))


def response_checks(rows: pa.Table, pool: pa.Table, plan: ArenaPlan) -> list[Expectation]:
    """Checks on ARENA_RESPONSES of the league's scenarios.

    Args:
        rows: the responses.
        pool: INSTRUCTIONS.
        plan: what the league was to hold.
    """
    asked = int(member(pool["scenario"], plan.scenarios).sum())
    failed, silent = status_is(rows, *FAILED), blank(rows["text"])
    overflow = status_is(rows, "context_exceeded") == true(pc.equal(rows["error"], "context_length"))

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("responses", name, columns, expected, passed)

    return [
        RowCount("responses", len(plan.models) * asked, f"{len(plan.models)} models x {asked} instructions"),
        check("model_in_league", ("model",), "a model of the league", member(rows["model"], plan.models)),
        check(
            "instruction_in_pool",
            ("instruction_id",),
            "an instruction of the pool",
            positions(rows, pool, ["instruction_id"]) >= 0,
        ),
        check(
            "failure_coded",
            ("status", "error"),
            "an error code where the call failed, and only there",
            (~absent(rows["error"]) == failed) & (~failed | overflow),
        ),
        check(
            "text_where_ok",
            ("status", "text"),
            "a text where the status is ok, and none where it is empty or the call failed",
            np.where(status_is(rows, "ok"), ~silent, silent | ~(failed | status_is(rows, "empty"))),
        ),
    ]


def vector_checks(name: str, rows: pa.Table, texts: pa.Table) -> list[Expectation]:
    """Checks on VECTORS, the rows of a file of vectors.

    Args:
        name: name of the table.
        rows: the rows.
        texts: instruction_id and text of what was embedded.
    """
    place = positions(rows, texts, ["instruction_id"])
    silent = blank(taken(texts, place, ("text",))["text"])
    codes = row_codes(rows, ["instruction_id"])
    order = np.unique(codes, return_inverse=True)[1]

    def check(rule: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck(name, rule, columns, expected, passed)

    return [
        RowCount(name, texts.num_rows, "as many as there are texts"),
        check("text_embedded", ("instruction_id",), "an instruction with a text to embed", place >= 0),
        check(
            "row_by_id",
            ("instruction_id", "row"),
            "the place of the id among all ids",
            numbers(rows["row"]) == order,
        ),
        check(
            "vector_where_text",
            ("status",),
            "no_text where there is no text, and only there",
            (status_is(rows, "no_text") == silent) | (place < 0),
        ),
        check(
            "failure_coded",
            ("status", "error"),
            "an error code where the status is error, and only there",
            absent(rows["error"]) != status_is(rows, "error"),
        ),
    ]
