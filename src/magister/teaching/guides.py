"""What teachers read and say: guide requests over scrubbed histories, and the reading of their replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, Literal

import pyarrow as pa

from magister.answers import find_leak, scrub_options, split_guidance
from magister.contracts.schemas import ASKED, GUIDES
from magister.llm import Request, Response, Speaker, uniform
from magister.prompts import Prompt
from magister.teaching.answers import visible_text
from magister.teaching.options import option_texts, options_block

Blindness = Literal["strict", "paper", "off"]
Cell = tuple[str, str]
"""(student, item_id)."""

SHAM = "Read the question once more and think about each option before you answer."


@dataclass(frozen=True)
class Turn:
    """One student reply and, once it was given, what the teacher said to it.

    Attributes:
        reply: the student's reply, without reasoning.
        verdict: correct, wrong or none; None for the latest reply.
        guidance: what followed the verdict; None for the latest reply.
    """

    reply: str
    verdict: str | None = None
    guidance: str | None = None


def histories(
    answers: Iterable[pa.Table], guides: Iterable[pa.Table], arm: str, teacher: str
) -> dict[Cell, list[Turn]]:
    """Collect what was said between one teacher and all students.

    Args:
        answers: ANSWERS tables of round 0, then REVISIONS tables of rounds 1, 2, ...
        guides: GUIDES tables of rounds 1, 2, ...
        arm: arm to keep.
        teacher: teacher to keep.

    Returns:
        Turns by (student, item), oldest first.
    """
    said: dict[tuple[str, str, int], dict[str, Any]] = {}
    for table in guides:
        for row in table.to_pylist():
            if (row["arm"], row["teacher"]) == (arm, teacher):
                said[row["student"], row["item_id"], row["round"]] = row
    replies: dict[Cell, dict[int, str]] = {}
    for table in answers:
        blind = "model" in table.column_names
        for row in table.to_pylist():
            if blind or (row["arm"], row["teacher"]) == (arm, teacher):
                student = row["model"] if blind else row["student"]
                number = 0 if blind else row["round"]
                replies.setdefault((student, row["item_id"]), {})[number] = visible_text(row["text"])
    result: dict[Cell, list[Turn]] = {}
    for (student, item_id), by_round in replies.items():
        turns = []
        for number in sorted(by_round):
            guide = said.get((student, item_id, number + 1))
            turns.append(
                Turn(by_round[number])
                if guide is None
                else Turn(by_round[number], guide["verdict"], guide["guidance"])
            )
        result[student, item_id] = turns
    return result


def blind_reply(reply: str, options: list[str], blind: Blindness) -> tuple[str, list[tuple[int, int, str]]]:
    """A student's reply as the teacher may see it, and what was removed (spans of the reply)."""
    if blind != "strict":
        return reply, []
    scrubbed = scrub_options(reply, options)
    return scrubbed.text, list(scrubbed.removed)


def guide_requests(
    items: pa.Table,
    history: Mapping[Cell, list[Turn]],
    speaker: Speaker,
    prompt: Prompt,
    *,
    number: int,
    arm: str = "taught",
    blind: Blindness,
    may_tell_answer: bool,
    max_tokens: int,
) -> tuple[list[Request], pa.Table]:
    """Ask a teacher about every student's latest reply.

    Args:
        items: ITEMS table.
        history: what was said so far, by (student, item).
        speaker: the teacher.
        prompt: template over question, passage, options (None unless blindness is off), history, may_tell_answer.
        number: round, from 1.
        arm: `taught`, or `verdict_only`: in round 1 its requests are those of `taught`, so none is asked again.
        blind: what the teacher sees of the options.
        may_tell_answer: whether the prompt allows telling the answer.
        max_tokens: reply limit.

    Returns:
        Request rows, and the ASKED table that says which row belongs to which cell and what was scrubbed.
    """
    requests, asked = [], []
    by_id = {item["item_id"]: item for item in items.to_pylist()}
    for (student, item_id), turns in sorted(history.items()):
        item = by_id[item_id]
        shown, removed = [], []
        for place, turn in enumerate(turns):
            reply, spans = blind_reply(turn.reply, item["options"], blind)
            removed += [
                {"round": place, "start": start, "end": end, "kind": kind} for start, end, kind in spans
            ]
            shown.append(Turn(reply, turn.verdict, turn.guidance))
        messages = prompt.render(
            question=item["question"],
            passage=item["passage"],
            options=options_block(item["options"]) if blind == "off" else None,
            history=shown,
            may_tell_answer=may_tell_answer,
        )
        request = speaker.request(messages, max_tokens)
        requests.append(request)
        asked.append(
            {
                "arm": arm,
                "teacher": speaker.name,
                "student": student,
                "item_id": item_id,
                "round": number,
                "request_id": request["custom_id"],
                "scrubbed": json.dumps(removed) if removed else None,
            }
        )
    return requests, pa.Table.from_pylist(asked, schema=ASKED.schema)


def _leak(item: Mapping[str, Any], guidance: str) -> dict[str, Any]:
    leak = find_leak(guidance, item["options"], item["key"], item["gold"], question=item["question"])
    # What the question says already gives nothing away.
    spans = [span for span in leak.spans if not span.in_question]
    kinds = {span.kind for span in spans}
    return {
        "leak": "gold" if "gold" in kinds else "option" if kinds else "none",
        "leak_spans": json.dumps([[span.start, span.end, span.kind] for span in spans]) if spans else None,
    }


def parse_guides(items: pa.Table, asked: pa.Table, responses: Mapping[str, Response]) -> pa.Table:
    """Read teachers' replies: status, verdict, what reaches the student, and whether it gives the answer away.

    Args:
        items: ITEMS table.
        asked: ASKED table from `guide_requests`.
        responses: by request key.

    Returns:
        GUIDES table.
    """
    by_id = {item["item_id"]: item for item in items.to_pylist()}
    rows = []
    for row in asked.to_pylist():
        response = responses[row["request_id"]]
        parsed: dict[str, Any] = {
            "text": response.text,
            "finish_reason": response.finish_reason,
            "error": response.error,
            "prompt_tokens": response.prompt_tokens,
            "completion_tokens": response.completion_tokens,
        }
        failed = response.failed_status
        if failed is not None:
            parsed |= {"status": failed, "verdict": "none", "verdict_rule": failed, "guidance": ""}
            parsed |= {"leak": "none", "leak_spans": None}
        else:
            filtered = response.finish_reason == "content_filter"
            # Nothing of a reply that the server cut out is passed on.
            guide = split_guidance("" if filtered else response.text)
            status = "refusal" if filtered else guide.status
            if response.finish_reason == "length" and status in ("ok", "no_answer"):
                status = "truncated"
            parsed |= {
                "status": status,
                "verdict": guide.verdict,
                "verdict_rule": guide.verdict_rule or "none",
            }
            # In this arm the student hears the verdict and nothing else.
            guidance = "" if row["arm"] == "verdict_only" else guide.guidance
            parsed |= {"guidance": guidance, **_leak(by_id[row["item_id"]], guidance)}
        rows.append(row | parsed)
    return pa.Table.from_pylist(rows, schema=GUIDES.schema)


def _tell(texts: list[str]) -> str:
    return f"The right answer is: {'; '.join(texts)}"


def _tell_wrong(item: Mapping[str, Any], seed: int) -> str:
    letters = ascii_uppercase[: len(item["options"])]
    wrong = option_texts(item["options"], "".join(letter for letter in letters if letter not in item["key"]))
    # Where every option is right there is no wrong one to tell, and the answer is kept.
    return _tell([wrong[int(uniform(item["item_id"], "wrong_oracle", seed) * len(wrong))]]) if wrong else ""


CONTROLS: dict[str, Callable[[Mapping[str, Any], int], str]] = {
    "sham": lambda item, seed: SHAM,
    "self_revise": lambda item, seed: "",
    "oracle_tell": lambda item, seed: _tell(option_texts(item["options"], item["key"])),
    "wrong_oracle": _tell_wrong,
}
"""Fixed guidance of the control arms, by arm."""


def control_guides(items: pa.Table, students: list[str], arms: list[str], number: int, seed: int) -> pa.Table:
    """Guides of the arms in which no model teaches.

    Args:
        items: ITEMS table.
        students: names.
        arms: control arms, from `CONTROLS`.
        number: round.
        seed: for the choice of the wrong option.

    Returns:
        GUIDES table with teacher = arm, verdict none and no request.
    """
    rows = []
    for arm in arms:
        for item in items.to_pylist():
            guidance = CONTROLS[arm](item, seed)
            said = {
                "verdict": "none",
                "verdict_rule": "control",
                "guidance": guidance,
                **_leak(item, guidance),
            }
            place = {"arm": arm, "teacher": arm, "item_id": item["item_id"], "round": number}
            rows += [place | said | {"student": name, "status": "ok", "text": ""} for name in students]
    return pa.Table.from_pylist(rows, schema=GUIDES.schema)
