"""A judge model's similarities: requests for a score of two responses, and what the replies say.

The lesser text by code points stands first, so that a score depends on the two texts and not on which model gave which;
pairs of equal texts are one request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.answers import parse_judge_reply
from magister.arena.similarity import Pair
from magister.arena.tokens import check_names
from magister.arena.vectors import string_array
from magister.contracts.arena_tables import ARENA_SIMILARITIES
from magister.errors import UserError
from magister.llm import Request, Response, Speaker
from magister.prompts import Prompt

SCHEMA = {"similarity": "float 0..1"}
"""What the shipped prompt asks for."""


class AskedSimilarities(NamedTuple):
    """What a judge is asked of a scenario.

    Attributes:
        requests: those that differ, in the order of pairs and instructions.
        table: scenario, model_a, model_b, instruction_id and request_id, a row per pair and instruction; request_id
            is null where a model has no response.
    """

    requests: list[Request]
    table: pa.Table


def similarity_requests(
    scenario: str,
    instructions: pa.Table,
    texts: Mapping[str, pa.StringArray],
    pairs: Sequence[Pair],
    speaker: Speaker,
    prompt: Prompt,
    *,
    max_tokens: int,
) -> AskedSimilarities:
    """Ask a judge how alike the responses of pairs of models are.

    Args:
        scenario: its name.
        instructions: INSTRUCTIONS table of the scenario.
        texts: responses of each model to these instructions, in their order, null for none.
        pairs: names of two models each, the lesser first.
        speaker: the judge.
        prompt: template over instruction, response_1, response_2.
        max_tokens: reply limit.

    Returns:
        Requests, and which belongs to what.

    Raises:
        UserError: a model has no texts, or not one for each instruction.
    """
    check_names(dict(texts), pairs)
    shown = instructions["text"].to_pylist()
    said = {name: texts[name].to_pylist() for name in sorted({name for pair in pairs for name in pair})}
    for name, column in said.items():
        if len(column) != len(shown):
            raise UserError(
                f"{name} has {len(column)} texts for {len(shown)} instructions; expected as many, null where one is "
                "missing"
            )
    requests: dict[str, Request] = {}
    known: dict[tuple[int, str, str], str] = {}
    asked: list[str | None] = []
    for one, other in pairs:
        for at, (first, second) in enumerate(zip(said[one], said[other], strict=True)):
            if first is None or second is None:
                asked.append(None)
                continue
            place = (at, *sorted((first, second)))
            if place not in known:
                messages = prompt.render(instruction=shown[at], response_1=place[1], response_2=place[2])
                request = speaker.request(messages, max_tokens)
                known[place] = request["custom_id"]
                requests.setdefault(request["custom_id"], request)
            asked.append(known[place])
    ids = string_array(instructions["instruction_id"])
    columns = {
        "scenario": pa.repeat(scenario, len(asked)),
        "model_a": pa.array([one for one, _ in pairs for _ in shown], pa.string()),
        "model_b": pa.array([other for _, other in pairs for _ in shown], pa.string()),
        "instruction_id": ids.take(pa.array(np.tile(np.arange(len(shown)), len(pairs)))),
        "request_id": pa.array(asked, pa.string()),
    }
    return AskedSimilarities(list(requests.values()), pa.table(columns))


def read_similarities(asked: pa.Table, responses: Mapping[str, Response]) -> pa.Table:
    """Read a judge's scores.

    A reply that cannot be read gives no number: its status says why, and the comparison is missing for the
    selection. The status of a pair without two responses is `no_text`: nothing was asked.

    Args:
        asked: the table of `similarity_requests`, of one scenario or several.
        responses: by request key.

    Returns:
        ARENA_SIMILARITIES table, sorted by its key.
    """
    read = {
        name: _read(responses[name])
        for name in pc.unique(asked["request_id"]).to_pylist()
        if name is not None
    }
    nothing: tuple[str, float | None] = ("no_text", None)
    found = [nothing if name is None else read[name] for name in asked["request_id"].to_pylist()]
    table = asked.append_column("status", pa.array([status for status, _ in found], pa.string()))
    table = table.append_column("similarity", pa.array([value for _, value in found], pa.float64()))
    made = table.select(ARENA_SIMILARITIES.schema.names).cast(ARENA_SIMILARITIES.schema)
    return made.sort_by([(name, "ascending") for name in ARENA_SIMILARITIES.key]).combine_chunks()


def _read(response: Response) -> tuple[str, float | None]:
    """Status and score."""
    failed = response.failed_status
    if failed is not None:
        return failed, None
    if response.finish_reason == "content_filter":
        return "refusal", None
    said = parse_judge_reply(response.text, SCHEMA)
    if said.status == "ok":
        return "ok", float(said.values["similarity"])
    return ("truncated" if response.finish_reason == "length" else said.status), None


def unscored(table: pa.Table) -> list[dict[str, object]]:
    """How many scores each pair lacks, by reason.

    Args:
        table: ARENA_SIMILARITIES table.

    Returns:
        Rows (scenario, model_a, model_b, unscored), those of pairs that lack none left out, in order.
    """
    lost = table.filter(pc.not_equal(table["status"], "ok"))
    names = ("scenario", "model_a", "model_b")
    counts: dict[tuple[str, ...], Counter[str]] = {}
    for *place, status in zip(*(lost[name].to_pylist() for name in (*names, "status")), strict=True):
        counts.setdefault(tuple(place), Counter())[status] += 1
    return [
        dict(zip(names, place, strict=True)) | {"unscored": dict(sorted(found.items()))}
        for place, found in sorted(counts.items())
    ]
