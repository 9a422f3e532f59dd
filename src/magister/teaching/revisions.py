"""Students' revised answers: what they are asked after a guide, and what they then answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from magister.contracts.schemas import ASKED, REVISIONS
from magister.llm import Request, Response, Speaker
from magister.prompts import Prompt
from magister.teaching.answers import item_values, read_choice, visible_text

Previous = Mapping[tuple[str, str, str], dict[str, Any]]
"""The row of the previous round by (arm, teacher, item_id)."""

_KEPT = ("text", "answer", "correct", "status", "span_start", "span_end")


def previous_answers(
    table: pa.Table, exchanges: set[tuple[str, str]]
) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Index a student's answers of the round before.

    Args:
        table: ANSWERS of round 0 (shared by all teachers) or REVISIONS of a later round.
        exchanges: (arm, teacher) pairs of the league.
    """
    rows = table.to_pylist()
    if "model" in table.column_names:
        return {(arm, teacher, row["item_id"]): row for row in rows for arm, teacher in exchanges}
    return {(row["arm"], row["teacher"], row["item_id"]): row for row in rows}


def is_asked(guide: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Whether a guide gives the student anything to act on.

    A failed guide and a failed earlier answer end the cell; a teacher that said nothing leaves the answer as
    it is. `self_revise` asks without a word from anybody.
    """
    if guide["status"] == "error" or before["status"] == "error":
        return False
    return guide["arm"] == "self_revise" or bool(guide["guidance"].strip()) or guide["verdict"] != "none"


def revise_requests(
    items: pa.Table,
    guides: pa.Table,
    previous: Previous,
    speaker: Speaker,
    prompt: Prompt,
    *,
    answer_as: str,
    shots: bool,
    max_tokens: int,
) -> tuple[list[Request], pa.Table]:
    """Ask one student to revise, for all teachers and arms of a round.

    Args:
        items: ITEMS table.
        guides: GUIDES rows of this round for this student.
        previous: its answers of the round before.
        speaker: the student.
        prompt: template over question, passage, options, answer_as, shots, arm, last_answer, verdict, guidance.
        answer_as: `text` or `letter`.
        shots: whether the prompt shows revision demonstrations.
        max_tokens: reply limit.

    Returns:
        Request rows, and the ASKED table; a row without request_id was not asked.
    """
    by_id = {item["item_id"]: item for item in items.to_pylist()}
    requests, asked = [], []
    for guide in guides.to_pylist():
        before = previous[guide["arm"], guide["teacher"], guide["item_id"]]
        request_id = None
        if is_asked(guide, before):
            messages = prompt.render(
                **item_values(by_id[guide["item_id"]], answer_as),
                shots=shots,
                arm=guide["arm"],
                last_answer=visible_text(before["text"]) or "(no answer)",
                verdict=guide["verdict"],
                guidance=guide["guidance"].strip(),
            )
            request = speaker.request(messages, max_tokens)
            requests.append(request)
            request_id = request["custom_id"]
        asked.append({name: guide[name] for name in ASKED.key} | {"request_id": request_id, "scrubbed": None})
    return requests, pa.Table.from_pylist(asked, schema=ASKED.schema)


def parse_revisions(
    items: pa.Table, guides: pa.Table, asked: pa.Table, previous: Previous, responses: Mapping[str, Response]
) -> pa.Table:
    """Read one student's revised answers.

    Args:
        items: ITEMS table.
        guides: GUIDES rows of this round for this student.
        asked: ASKED table from `revise_requests`.
        previous: answers of the round before.
        responses: by request key.

    Returns:
        REVISIONS table. Where the student was not asked, the earlier answer stands (rule `kept:<guide status>`);
        after a failed guide the status is `error`.
    """
    by_id = {item["item_id"]: item for item in items.to_pylist()}
    guide_status = {tuple(row[name] for name in ASKED.key): row["status"] for row in guides.to_pylist()}
    rows = []
    for row in asked.to_pylist():
        place = {name: row[name] for name in ASKED.key}
        before = previous[row["arm"], row["teacher"], row["item_id"]]
        if row["request_id"] is not None:
            read = read_choice(responses[row["request_id"]], by_id[row["item_id"]])
            rows.append(place | read | {"asked": True})
            continue
        said = guide_status[tuple(place.values())]
        if said == "error" or before["status"] == "error":
            cause = "guide" if said == "error" else "earlier_answer"
            kept = {
                "status": "error",
                "rule": f"not_asked:{cause}",
                "text": "",
                "correct": None,
                "error": cause,
            }
        else:
            kept = {name: before[name] for name in _KEPT} | {"rule": f"kept:{said}"}
        rows.append(place | kept | {"asked": False})
    return pa.Table.from_pylist(rows, schema=REVISIONS.schema)
