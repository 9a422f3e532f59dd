"""Evolution of instructions (Evol-Instruct: Xu et al., ICLR 2024): rewrite, check, keep the lineage.

A lineage is a seed and what grew from it, one instruction after the other. A round rewrites the youngest of each
lineage once; where that fails, the lineage stays as it is and is tried again in the next round, mostly in another way.
So R rounds make a pool of at most R + 1 times its seeds. Operation and generator follow from the seed, the parent and
the round alone: a larger pool or another order of rows changes nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from magister.answers import is_refusal, strip_reasoning
from magister.arena._near import FloatArray, near_duplicates
from magister.arena._text import clean, folded, has_words, instruction_id
from magister.arena.instructions import Pool, rejected_table
from magister.config.instructions import Evolution, InstructionLimits
from magister.contracts.arena_tables import INSTRUCTIONS
from magister.errors import UserError
from magister.llm import Request, Response, Speaker, uniform
from magister.prompts import Prompt

_FENCE = re.compile(r"\A```[\w-]*\n(.*)\n```\Z", re.DOTALL)
_LABEL = re.compile(
    r"\A(?:#+\s*|\*\*)?(?:new |changed )?(?:task|instruction|prompt)(?:\*\*)?\s*:(?:\*\*)?\s*", re.IGNORECASE
)
_QUOTES = (('"', '"'), ("“", "”"), ("«", "»"), ("'", "'"))
# Words about the work instead of the work.
_ABOUT = (
    r"\b(?:given|original|above|old|rewritten|reworded|evolved|modified|updated|revised)"
    r" (?:task|instruction|prompt)s?\b"
    r"|\b(?:the|a) (?:new|changed|previous) (?:task|instruction|prompt)\b"
    r"|\b(?:task|instruction|prompt) (?:above|below)\b"
    r"|\b(?:rewritten|evolved) (?:version|form)\b"
    r"|^\W*(?:rules?|task|answer) ?:"
)
# Words to the one who asks.
_CHAT = (
    r"\A(?:sure|certainly|of course|absolutely|okay|ok|great)\b\s*[,.!:]"
    r"|\bhere(?:'s| is| are)\b[^\n.:]{0,80}:"
    r"|\A(?:i'm|i am|i'll|i will|i can|let me|let's)\b"
    r"|\b(?:hope this helps|let me know|feel free to)\b"
)
_LEAK = re.compile(f"{_ABOUT}|{_CHAT}", re.IGNORECASE | re.MULTILINE)
_IN_A_ROW = 5
_COPIED_SHARE = 0.3
"""Of the runs of five words in a reply, the share out of the prompt's own text from which it is a copy of that."""
_LEAST_RATIO = 0.5
"""How much shorter than its parent an instruction may be; every operation adds, and `breadth` keeps the length."""


class Rewriting(NamedTuple):
    """What is done to an instruction in a round."""

    operation: str
    generator: str


class _Rejection(Exception):
    """A reply that does not become an instruction."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


def parents(pool: pa.Table) -> pa.Table:
    """The youngest instruction of every lineage.

    Args:
        pool: INSTRUCTIONS table.

    Returns:
        INSTRUCTIONS table, sorted by id.

    Raises:
        UserError: a lineage has two instructions of one round.
    """
    latest = pool.group_by("root_id").aggregate([("round", "max")])
    tips = pool.join(
        latest, keys=["root_id", "round"], right_keys=["root_id", "round_max"], join_type="inner"
    ).select(pool.column_names)
    if tips.num_rows != latest.num_rows:
        raise UserError("the pool is not one of lineages: a root has two instructions of one round")
    return tips.sort_by("instruction_id")


def choose_rewriting(parent_id: str, round_number: int, evolution: Evolution) -> Rewriting:
    """Draw what is done to an instruction in a round, and by which model."""

    def draw(what: str, values: list[str]) -> str:
        share = uniform(parent_id, what, evolution.seed, round_number)
        return values[min(int(share * len(values)), len(values) - 1)]

    # Sorted: the order in which a configuration names them means nothing.
    return Rewriting(
        draw("operation", sorted(evolution.operations)), draw("generator", sorted(evolution.generators))
    )


def evolution_requests(
    pool: pa.Table, round_number: int, evolution: Evolution, speaker: Speaker, prompt: Prompt
) -> dict[str, Request]:
    """Ask a generator for its share of a round.

    Args:
        pool: INSTRUCTIONS table after the round before.
        round_number: from 1.
        evolution: how the pool grows.
        speaker: the generator that is asked.
        prompt: template over text, scenario and operation.

    Returns:
        Request by parent, in the order of ids. An instruction that is tried again is asked for another draw.
    """
    requests = {}
    for row in parents(pool).select(["instruction_id", "scenario", "text"]).to_pylist():
        operation, generator = choose_rewriting(row["instruction_id"], round_number, evolution)
        if generator == speaker.name:
            messages = prompt.render(text=row["text"], scenario=row["scenario"], operation=operation)
            requests[row["instruction_id"]] = speaker.request(
                messages, evolution.max_tokens, round_number - 1
            )
    return requests


def read_evolutions(
    pool: pa.Table,
    round_number: int,
    evolution: Evolution,
    limits: InstructionLimits,
    requests: Mapping[str, Request],
    responses: Mapping[str, Response],
) -> Pool:
    """Read a round's replies and drop what failed, as far as texts tell.

    Reasons: error and context_exceeded (no reply), refused, truncated, empty, copied (the parent or a part of it, but
    for case, spaces and punctuation), too_short (also: less than half of its parent), too_long, prompt_leak (the
    prompt's demonstrations, words about the work or to the one who asks, which the parent does not have), duplicate
    (the text of another instruction of the scenario; of two new ones the one with the lowest parent's id stays).

    Args:
        pool: INSTRUCTIONS table after the round before.
        round_number: from 1.
        evolution: how the pool grows.
        limits: what an instruction may be.
        requests: `evolution_requests` of all generators, by parent.
        responses: by request key.

    Returns:
        The new instructions, without gold, and the failed ones.

    Raises:
        ValueError: a parent of the round was not asked about.
    """
    known = {
        (scenario, folded(text)): name
        for name, scenario, text in zip(
            *(pool[column].to_pylist() for column in ("instruction_id", "scenario", "text")), strict=True
        )
    }
    children, rejected = [], []
    for parent in parents(pool).to_pylist():
        if parent["instruction_id"] not in requests:
            raise ValueError(f"{parent['instruction_id']}: no request in round {round_number}")
        rewriting = choose_rewriting(parent["instruction_id"], round_number, evolution)
        request = requests[parent["instruction_id"]]
        response = responses[request["custom_id"]]
        made = _made(parent, round_number, rewriting, response)
        try:
            text = _read(parent, response, limits)
            _check_own_words(text, parent["text"], request["body"]["messages"])
            same = known.get((parent["scenario"], folded(text)))
            if same is not None:
                raise _Rejection("duplicate", f"same as {same}")
        except _Rejection as rejection:
            rejected.append(_rejected_row(parent, made, rejection, response.text))
            continue
        child = {**made, "instruction_id": instruction_id(parent["scenario"], text), "text": text}
        known[parent["scenario"], folded(text)] = child["instruction_id"]
        children.append(child)
    return Pool(pa.Table.from_pylist(children, schema=INSTRUCTIONS.schema), rejected_table(rejected))


def drop_near_duplicates(
    pool: pa.Table, new: pa.Table, pool_vectors: FloatArray, new_vectors: FloatArray, threshold: float
) -> Pool:
    """Drop new instructions that say nearly the same as another of their scenario, their own parents included.

    Args:
        pool: INSTRUCTIONS table after the round before.
        new: INSTRUCTIONS table of what `read_evolutions` took.
        pool_vectors: shape (pool rows, d), rows of length 1, in the order of `pool`.
        new_vectors: shape (new rows, d), likewise. A NaN row is near to nothing.
        threshold: cosine from which two are too near.

    Returns:
        The new instructions that stay, and the others with the reason near_duplicate. Of two that are near to
        one another the one with the lowest id stays, whatever the order of the rows.

    Raises:
        ValueError: tables and vectors differ in length.
    """
    if len(pool_vectors) != pool.num_rows or len(new_vectors) != new.num_rows:
        raise ValueError(
            f"{len(pool_vectors)} and {len(new_vectors)} vectors for {pool.num_rows} and {new.num_rows} instructions"
        )
    stay, rejected = [], []
    pool_scenario, new_scenario = (np.array(table["scenario"].to_pylist()) for table in (pool, new))
    pool_ids, rows = np.array(pool["instruction_id"].to_pylist()), new.to_pylist()
    new_ids = np.array([row["instruction_id"] for row in rows])
    for scenario in sorted(set(new_scenario.tolist())):
        old = np.flatnonzero(pool_scenario == scenario)
        own = np.flatnonzero(new_scenario == scenario)
        old, own = old[np.argsort(pool_ids[old])], own[np.argsort(new_ids[own])]
        found = near_duplicates(new_vectors[own], pool_vectors[old], threshold)
        for place, neighbour in zip(own.tolist(), found, strict=True):
            row = rows[place]
            if neighbour is None:
                stay.append(row)
                continue
            name = new_ids[own[neighbour.row]] if neighbour.earlier else pool_ids[old[neighbour.row]]
            parent = {"instruction_id": row["parent_id"], "scenario": row["scenario"]}
            detail = f"cosine {neighbour.cosine:.3f} with {name}; below {threshold:g} is wanted"
            rejected.append(_rejected_row(parent, row, _Rejection("near_duplicate", detail), row["text"]))
    stay.sort(key=lambda row: row["instruction_id"])
    return Pool(pa.Table.from_pylist(stay, schema=INSTRUCTIONS.schema), rejected_table(rejected))


def _made(
    parent: Mapping[str, Any], round_number: int, rewriting: Rewriting, response: Response
) -> dict[str, Any]:
    # The answer to an evolved question is not known, whatever its parent's was.
    return {
        "scenario": parent["scenario"],
        "root_id": parent["root_id"],
        "round": round_number,
        "operation": rewriting.operation,
        "parent_id": parent["instruction_id"],
        "generator": rewriting.generator,
        "gold": None,
        "request_id": response.custom_id,
    }


def _read(parent: Mapping[str, Any], response: Response, limits: InstructionLimits) -> str:
    """The instruction in a reply.

    Raises:
        _Rejection: there is none, or it failed.
    """
    if response.failed_status is not None:
        raise _Rejection(response.failed_status, response.error or "")
    if response.finish_reason == "content_filter" or (
        is_refusal(response.text) and not is_refusal(parent["text"])
    ):
        raise _Rejection("refused")
    if response.finish_reason == "length":
        raise _Rejection("truncated")
    text = _bare(strip_reasoning(response.text).text)
    if not has_words(text):
        raise _Rejection("empty")
    if f" {folded(text)} " in f" {folded(parent['text'])} ":
        raise _Rejection("copied")
    least = max(limits.min_chars, math.ceil(_LEAST_RATIO * len(parent["text"])))
    if len(text) < least:
        raise _Rejection("too_short", f"{len(text)} characters; at least {least}, half of its parent's")
    if len(text) > limits.max_chars:
        raise _Rejection("too_long", f"{len(text)} characters; at most {limits.max_chars}")
    allowed = {match[0].casefold() for match in _LEAK.finditer(parent["text"])}
    leaked = [match[0] for match in _LEAK.finditer(text) if match[0].casefold() not in allowed]
    if leaked:
        raise _Rejection("prompt_leak", leaked[0])
    return text


def _check_own_words(text: str, parent: str, messages: Sequence[Mapping[str, Any]]) -> None:
    """Hold an instruction to words of its own or of its parent.

    Raises:
        _Rejection: too much of it stands in the rest of the prompt, in its demonstrations for instance.
    """
    told = set().union(*(_runs(str(message.get("content") or "")) for message in messages))
    runs = _runs(text)
    copied = runs & (told - _runs(parent))
    if len(copied) > _COPIED_SHARE * len(runs):
        raise _Rejection(
            "prompt_leak", f"{len(copied)} of {len(runs)} runs of {_IN_A_ROW} words are the prompt's"
        )


def _runs(text: str) -> set[tuple[str, ...]]:
    words = folded(text).split()
    return set(zip(*(words[start:] for start in range(_IN_A_ROW)), strict=False))


def _bare(text: str) -> str:
    """A reply without a label, a fence or quotation marks around the whole of it."""
    text = clean(text)
    fenced = _FENCE.match(text)
    text = _LABEL.sub("", clean(fenced[1]) if fenced else text, count=1)
    for opening, closing in _QUOTES:
        inner = text[1:-1]
        if (
            len(text) > 1
            and text[0] == opening
            and text[-1] == closing
            and not {opening, closing} & set(inner)
        ):
            text = inner
            break
    return clean(text)


def _rejected_row(
    parent: Mapping[str, Any], made: Mapping[str, Any], rejection: _Rejection, raw: str
) -> dict[str, Any]:
    return {
        "scenario": parent["scenario"],
        "round": made["round"],
        "origin": parent["instruction_id"],
        "operation": made["operation"],
        "reason": rejection.reason,
        "detail": rejection.detail,
        "raw": raw,
        "parent_id": parent["instruction_id"],
        "generator": made["generator"],
        "request_id": made["request_id"],
    }
