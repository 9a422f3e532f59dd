"""The answer key as an annotator: where an instruction has a gold value, right beats wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.answers import equal_values, extract_value
from magister.arena.ballots import Choice, cast_votes, rejected_table
from magister.contracts.arena_tables import ARENA_VERDICTS
from magister.errors import UserError

ANNOTATOR = "key"
Policy = Literal["wrong", "drop"]
"""What a response without an answer is."""


class Keyed(NamedTuple):
    """What the answer key says.

    Attributes:
        votes: VOTES table: right beats wrong, two right ones are a tie, two wrong ones `both_bad`.
        rejected: VOTES_REJECTED table: comparisons with gold but without a vote; the reason is the status of the
            response that has no answer (`error`, and with policy `drop` all others).
        verdicts: ARENA_VERDICTS table: every response held against its gold, with status, value and rule, so that
            a refusal counted as wrong can be told from a wrong value.
        without_gold: comparisons whose instruction has no gold.
    """

    votes: pa.Table
    rejected: pa.Table
    verdicts: pa.Table
    without_gold: int


def key_votes(
    key: pa.Table, instructions: pa.Table, responses: pa.Table, *, policy: Policy = "wrong"
) -> Keyed:
    """Vote by the answer key.

    The value that a response commits to is read by `magister.answers.extract_value` and compared exactly by
    `equal_values`. Failed calls are never wrong answers.

    Args:
        key: SHEET_KEY table.
        instructions: INSTRUCTIONS table; `gold` is null where there is none.
        responses: ARENA_RESPONSES table.
        policy: `wrong` - a refusal, an empty or truncated response and one without a value are wrong answers, as is a
            prompt beyond the model's window; `drop` - they give no vote.

    Returns:
        Votes, what got none, and the verdicts on single responses.

    Raises:
        UserError: the key names an instruction that is not there, or the policy is unknown.
    """
    if policy not in ("wrong", "drop"):
        raise UserError(f"policy {policy!r} is unknown; expected wrong or drop")
    key = key.sort_by([("comparison_id", "ascending")])
    place = pc.index_in(key["instruction_id"], value_set=instructions["instruction_id"].combine_chunks())
    if place.null_count:
        unknown = key.filter(pc.is_null(place))["instruction_id"].unique().sort().to_pylist()
        raise UserError(
            f"sheet key: unknown instruction(s): {', '.join(unknown[:3])}; expected those of the pool"
        )
    gold = instructions["gold"].take(place)
    kept = np.flatnonzero(np.asarray(pc.is_valid(gold)))
    rows, wanted = key.take(pa.array(kept)).to_pylist(), gold.take(pa.array(kept)).to_pylist()
    pairs = {
        (row[f"model_{side}"], row["instruction_id"]): right
        for row, right in zip(rows, wanted, strict=True)
        for side in (1, 2)
    }
    verdicts = key_verdicts(pairs, responses)
    outcome = {(row["model"], row["instruction_id"]): row for row in verdicts.to_pylist()}
    votes: list[tuple[int, Choice, list[str]]] = []
    rejected = []
    for at, row in zip(kept.tolist(), rows, strict=True):
        sides = [outcome[row[f"model_{side}"], row["instruction_id"]] for side in (1, 2)]
        unjudged = [
            side for side in sides if side["correct"] is None or (policy == "drop" and side["status"] != "ok")
        ]
        if unjudged:
            rejected.append(
                {
                    "source": ANNOTATOR,
                    "row": at + 1,
                    "reason": unjudged[0]["status"],
                    "detail": "; ".join(f"{side['model']}: {side['status']}" for side in sides),
                    "raw": "",
                    "comparison_id": row["comparison_id"],
                    "annotator": ANNOTATOR,
                    "request_id": unjudged[0]["request_id"],
                }
            )
            continue
        choice = _CHOICES[sides[0]["correct"], sides[1]["correct"]]
        votes.append((at, choice, [side["request_id"] for side in sides]))
    table = cast_votes(
        key,
        [vote[0] for vote in votes],
        [vote[1] for vote in votes],
        [ANNOTATOR] * len(votes),
        kind="key",
        shown="none",
        more={"request_ids": [vote[2] for vote in votes]},
    )
    return Keyed(table, rejected_table(rejected), verdicts, key.num_rows - kept.size)


_CHOICES: dict[tuple[bool, bool], Choice] = {
    (True, True): "tie",
    (True, False): "1",
    (False, True): "2",
    (False, False): "both_bad",
}


def key_verdicts(pairs: Mapping[tuple[str, str], str], responses: pa.Table) -> pa.Table:
    """Hold responses against their gold.

    Args:
        pairs: gold by model and instruction; other responses are passed over.
        responses: ARENA_RESPONSES table.

    Returns:
        ARENA_VERDICTS table, sorted by its key.
    """
    made = []
    names = ("model", "instruction_id", "request_id", "status", "text", "finish_reason")
    for row in responses.select(names).to_pylist():
        gold = pairs.get((row["model"], row["instruction_id"]))
        if gold is not None:
            kept = {name: row[name] for name in ("model", "instruction_id", "request_id")}
            made.append(kept | {"gold": gold} | _verdict(row, gold))
    table = pa.Table.from_pylist(made, schema=ARENA_VERDICTS.schema)
    return table.sort_by([(name, "ascending") for name in ARENA_VERDICTS.key]).combine_chunks()


def _verdict(row: dict[str, Any], gold: str) -> dict[str, Any]:
    status = row["status"]
    if status == "error":
        return {"status": status, "rule": status, "answer": None, "correct": None}
    if status in ("context_exceeded", "empty"):
        return {"status": status, "rule": status, "answer": None, "correct": False}
    value = extract_value(row["text"], row["finish_reason"])
    if value.status == "ok" and value.answer is not None:
        right = equal_values(gold, value.answer)
        return {"status": "ok", "rule": value.rule, "answer": value.answer, "correct": right}
    # The response's own status says more than that no value was found in it.
    told = status if status in ("refusal", "truncated") else value.status
    return {"status": told, "rule": value.rule, "answer": None, "correct": False}
