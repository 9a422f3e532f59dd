"""Judge models: each comparison in both orders, and what two orders say together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from magister.answers import parse_pairwise
from magister.arena.ballots import Choice, cast_votes, rejected_table
from magister.contracts.arena_tables import ARENA_ASKED
from magister.errors import UserError
from magister.llm import Request, Response, Speaker
from magister.prompts import Prompt

FORMAT = "[[A]], [[B]] or [[tie]]"
"""What the shipped prompt asks for."""
ORDERS = (1, 2)
"""1: response 1 of the sheet is A; 2: response 2 is A."""


class Asked(NamedTuple):
    """What a judge is asked.

    Attributes:
        requests: two rows per comparison, in the order of the sheet.
        asked: ARENA_ASKED table.
        rejected: VOTES_REJECTED table of the comparisons not asked (`own_response`).
    """

    requests: list[Request]
    asked: pa.Table
    rejected: pa.Table


class Judged(NamedTuple):
    """What a judge said.

    Attributes:
        votes: VOTES table, one vote per comparison of which both orders could be read.
        rejected: VOTES_REJECTED table, a row per reply that could not: `error`, `context_exceeded`, `refusal`,
            `truncated`, `no_answer`, `ambiguous` or `invalid`; `raw` is what was said.
    """

    votes: pa.Table
    rejected: pa.Table


def judge_requests(
    sheet: pa.Table,
    key: pa.Table,
    speaker: Speaker,
    prompt: Prompt,
    *,
    max_tokens: int,
    exclude_self: bool = True,
) -> Asked:
    """Ask a judge about every comparison, in both orders.

    Args:
        sheet: SHEET table.
        key: SHEET_KEY table; the judge sees nothing of it.
        speaker: the judge.
        prompt: template over instruction, response_a, response_b.
        max_tokens: reply limit.
        exclude_self: leave out comparisons with a response of the model of the judge's own name.

    Returns:
        Requests, which request belongs to what, and what is not asked.

    Raises:
        UserError: sheet and key are not of the same comparisons.
    """
    requests: list[Request] = []
    asked, left_out = [], []
    for number, (row, hidden) in enumerate(_paired(sheet, key), start=1):
        comparison = row["comparison_id"]
        if exclude_self and speaker.name in (hidden["model_1"], hidden["model_2"]):
            left_out.append(
                {
                    "source": f"judge:{speaker.name}",
                    "row": number,
                    "reason": "own_response",
                    "detail": f"one of the responses is of {speaker.name}",
                    "raw": "",
                    "comparison_id": comparison,
                    "annotator": speaker.name,
                }
            )
            continue
        for order in ORDERS:
            messages = prompt.render(
                instruction=row["instruction"],
                response_a=row[f"response_{order}"],
                response_b=row[f"response_{3 - order}"],
            )
            request = speaker.request(messages, max_tokens)
            requests.append(request)
            place = {"annotator": speaker.name, "comparison_id": comparison, "order": order}
            asked.append(place | {"request_id": request["custom_id"]})
    return Asked(requests, pa.Table.from_pylist(asked, schema=ARENA_ASKED.schema), rejected_table(left_out))


def _paired(sheet: pa.Table, key: pa.Table) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    ordered = [table.sort_by([("comparison_id", "ascending")]) for table in (sheet, key)]
    if not ordered[0]["comparison_id"].combine_chunks().equals(ordered[1]["comparison_id"].combine_chunks()):
        raise UserError(
            f"the sheet ({sheet.num_rows} comparisons) and its key ({key.num_rows}) are not of the same comparisons; "
            "expected both from one run of the step that makes them"
        )
    return list(zip(*(table.to_pylist() for table in ordered), strict=True))


def _read(response: Response) -> tuple[Choice | None, str]:
    """The place of the better response as it was shown ("1": A), and else why there is none."""
    failed = response.failed_status
    if failed is not None:
        return None, failed
    if response.finish_reason == "content_filter":
        return None, "refusal"
    said = parse_pairwise(response.text, FORMAT)
    if said.status == "ok" and said.value is not None:
        # A graded preference ("A>>B") names the better one first.
        choices: dict[str, Choice] = {"A": "1", "B": "2"}
        return choices.get(said.value[0], "tie"), ""
    return None, "truncated" if response.finish_reason == "length" else said.status


def parse_judge(asked: pa.Table, responses: Mapping[str, Response], key: pa.Table) -> Judged:
    """Read a judge's replies.

    Both orders for the same response: its vote. Both a tie: a tie. Anything else contradicts itself and is a tie
    with `flipped`, whether the orders name different responses or one of them names none. An order that cannot be
    read leaves the comparison without a vote.

    Args:
        asked: ARENA_ASKED table from `judge_requests`.
        responses: by request key.
        key: SHEET_KEY table.

    Returns:
        Votes, and the replies that could not be read.
    """
    places = {name: at for at, name in enumerate(key["comparison_id"].to_pylist())}
    said: dict[tuple[str, str], dict[int, tuple[str, Choice | None]]] = {}
    unread = []
    rows = asked.sort_by([(name, "ascending") for name in ARENA_ASKED.key]).to_pylist()
    for number, row in enumerate(rows, start=1):
        response = responses[row["request_id"]]
        choice, reason = _read(response)
        if choice is None:
            unread.append(
                {
                    "source": f"judge:{row['annotator']}",
                    "row": number,
                    "reason": reason,
                    "detail": response.error or f"order {row['order']}: expected {FORMAT}",
                    "raw": response.text,
                    "comparison_id": row["comparison_id"],
                    "annotator": row["annotator"],
                    "request_id": row["request_id"],
                }
            )
        elif row["order"] == 2 and choice != "tie":
            choice = "2" if choice == "1" else "1"
        orders = said.setdefault((row["annotator"], row["comparison_id"]), {})
        orders[row["order"]] = (row["request_id"], choice)
    votes: list[tuple[int, str, Choice, Choice, list[str]]] = []
    for (annotator, comparison), orders in sorted(said.items()):
        one, two = (orders[order][1] for order in ORDERS)
        if one is not None and two is not None:
            votes.append((places[comparison], annotator, one, two, [orders[order][0] for order in ORDERS]))
    table = cast_votes(
        key,
        [vote[0] for vote in votes],
        [one if one == two else "tie" for _, _, one, two, _ in votes],
        [vote[1] for vote in votes],
        kind="judge",
        shown="both",
        more={
            "request_ids": [vote[4] for vote in votes],
            "flipped": [one != two for _, _, one, two, _ in votes],
            "choice_1_first": [vote[2] for vote in votes],
            "choice_2_first": [vote[3] for vote in votes],
        },
    )
    return Judged(table, rejected_table(unread))
