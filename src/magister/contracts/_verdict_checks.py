"""What the verdicts of an arena's answer key promise."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import Mask, absent, member, positions, row_codes, same, taken, true
from magister.contracts.gate import Expectation, RowCheck, RowCount


def gold_of(table: pa.Table, pool: pa.Table) -> pa.ChunkedArray:
    """The gold of each row's instruction."""
    return taken(pool, positions(table, pool, ["instruction_id"]), ("gold",))["gold"]


def verdict_checks(
    verdicts: pa.Table, key: pa.Table, pool: pa.Table, responses: pa.Table
) -> list[Expectation]:
    """Checks on ARENA_VERDICTS.

    Args:
        verdicts: responses held against the gold of their instruction.
        key: SHEET_KEY.
        pool: INSTRUCTIONS.
        responses: ARENA_RESPONSES.
    """
    gold = gold_of(key, pool)
    known = key.filter(pc.is_valid(gold))
    compared = pa.concat_tables(
        [
            known.select([f"model_{side}", "instruction_id"]).rename_columns(["model", "instruction_id"])
            for side in (1, 2)
        ]
    )
    one = ("model", "instruction_id")
    place = positions(verdicts, responses, one)
    given = taken(responses, place, ("request_id", "status"))
    ok, error = (true(pc.equal(verdicts["status"], word)) for word in ("ok", "error"))
    # A response that was not made, or has nothing in it, is not read.
    unread = ("error", "context_exceeded", "empty")
    kept = member(given["status"], unread), member(verdicts["status"], unread)

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("verdicts", name, columns, expected, passed)

    return [
        RowCount(
            "verdicts", np.unique(row_codes(compared, one)).size, "responses on the sheet to a gold value"
        ),
        check(
            "response_compared",
            one,
            "a response on the sheet to an instruction with a gold value",
            positions(verdicts, compared, one) >= 0,
        ),
        check(
            "gold_of_instruction",
            ("gold",),
            "the gold of the instruction",
            same(verdicts["gold"], gold_of(verdicts, pool)),
        ),
        check(
            "response_traced",
            ("request_id",),
            "the request of the response",
            same(verdicts["request_id"], given["request_id"]),
        ),
        check(
            "status_of_response",
            ("status",),
            "that of the response where nothing could be read",
            (kept[0] == kept[1]) & (~kept[0] | same(verdicts["status"], given["status"])) | (place < 0),
        ),
        check(
            "answer_where_ok",
            ("status", "answer"),
            "an answer where the status is ok, and only there",
            absent(verdicts["answer"]) != ok,
        ),
        check(
            "correct_null_on_error",
            ("status", "correct"),
            "`correct` null on an error, and only then",
            absent(verdicts["correct"]) == error,
        ),
        check(
            "wrong_without_answer",
            ("status", "correct"),
            "not right without an answer",
            ok | ~true(verdicts["correct"]),
        ),
    ]
