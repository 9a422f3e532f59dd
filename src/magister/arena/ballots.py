"""Votes from what annotators say of responses 1 and 2."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts.arena_tables import SELECTION_ARMS, VOTES, VOTES_REJECTED
from magister.errors import UserError

Choice = Literal["1", "2", "tie", "both_bad"]
"""What an annotator says: which response is better, or neither."""
Shown = Literal["sheet", "both", "none"]
"""What an annotator saw: the order of the sheet, both orders, or no order at all."""

_KEPT = ("comparison_id", "scenario", "instruction_id", "root_id", "arm", "random_probability")


def vote_id(kind: str, annotator: str, comparison: str) -> str:
    """Hash of who judged what; an annotator judges a comparison once."""
    text = "\x1f".join((kind, annotator, comparison))
    return "v" + hashlib.sha256(text.encode("utf-8")).hexdigest()[:23]


def cast_votes(
    key: pa.Table,
    comparison: Sequence[int],
    choice: Sequence[Choice],
    annotator: Sequence[str],
    *,
    kind: str,
    shown: Shown,
    more: Mapping[str, Sequence[Any]] | None = None,
) -> pa.Table:
    """Write choices between responses 1 and 2 as votes between models a and b.

    Args:
        key: SHEET_KEY table.
        comparison: rows of the key, one per vote.
        choice: what was said, one per vote.
        annotator: who, one per vote.
        kind: one of ANNOTATOR_KINDS.
        shown: what the annotator saw.
        more: further columns by name: `seconds`, `request_ids`, `flipped`; of a judge `choice_1_first` and
            `choice_2_first`, what was said when response 1 or 2 stood first.

    Returns:
        VOTES table, sorted by `vote_id`.
    """
    given = dict(more or {})
    rows = key.take(pa.array(np.asarray(comparison, dtype=np.int64)))
    # Response 1 is of model a, the first by name.
    one_is_a = pc.less(rows["model_1"], rows["model_2"])

    def by_model(one: Any, two: Any) -> tuple[Any, Any]:
        return pc.if_else(one_is_a, one, two), pc.if_else(one_is_a, two, one)

    def winner(said: Sequence[str]) -> Any:
        words = pa.chunked_array([pa.array(said, pa.string())])
        a, b = by_model(pa.scalar("a"), pa.scalar("b"))
        return pc.if_else(pc.equal(words, "1"), a, pc.if_else(pc.equal(words, "2"), b, words))

    model_a, model_b = by_model(rows["model_1"], rows["model_2"])
    length_a, length_b = by_model(rows["length_1"], rows["length_2"])
    count = rows.num_rows
    columns: dict[str, Any] = {name: rows[name] for name in _KEPT}
    columns |= {"model_a": model_a, "model_b": model_b, "length_a": length_a, "length_b": length_b}
    columns |= {
        "winner": winner(choice),
        "annotator": pa.array(annotator, pa.string()),
        "annotator_kind": pa.array([kind] * count, pa.string()),
        "first": pc.if_else(one_is_a, "a", "b")
        if shown == "sheet"
        else pa.array([shown] * count, pa.string()),
        "request_ids": given.get("request_ids", [[]] * count),
        "flipped": given.get("flipped", [None] * count),
        "seconds": given.get("seconds", [None] * count),
    }
    silent: list[str | None] = [None] * count
    one_first, two_first = (winner(given.get(f"choice_{place}_first", silent)) for place in (1, 2))
    columns["winner_a_first"], columns["winner_b_first"] = by_model(one_first, two_first)
    columns["vote_id"] = [
        vote_id(kind, who, what)
        for who, what in zip(annotator, rows["comparison_id"].to_pylist(), strict=True)
    ]
    made = pa.table(
        {
            field.name: columns[field.name]
            if isinstance(columns[field.name], pa.Array | pa.ChunkedArray)
            else pa.array(columns[field.name], field.type)
            for field in VOTES.schema
        }
    )
    return made.cast(VOTES.schema).sort_by([("vote_id", "ascending")]).combine_chunks()


def rejected_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """VOTES_REJECTED table, sorted by its key."""
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=VOTES_REJECTED.schema)
    return table.sort_by([(name, "ascending") for name in VOTES_REJECTED.key]).combine_chunks()


def arm_votes(votes: pa.Table, arm: str) -> pa.Table:
    """Votes on the comparisons that an arm chose; one that both chose is in the votes of both.

    Args:
        votes: VOTES table.
        arm: one of SELECTION_ARMS.

    Returns:
        The votes of `discrepant`, or those of the random sample, unthinned by what was also discrepant.

    Raises:
        UserError: the arm is unknown.
    """
    if arm not in SELECTION_ARMS:
        raise UserError(f"arm {arm!r} is unknown; expected one of {', '.join(SELECTION_ARMS)}")
    if arm == "random":
        return votes.filter(pc.is_valid(votes["random_probability"]))
    return votes.filter(pc.equal(votes["arm"], arm))
