"""Small hand-made tables of an arena: instructions, responses, selections, and votes on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from magister.arena.agreement import agreement_table
from magister.arena.sheets import Sheets, annotation_sheet
from magister.config.models import ModelConfig
from magister.contracts.arena_tables import ARENA_AGREEMENT, ARENA_RESPONSES, INSTRUCTIONS, SELECTIONS, VOTES
from magister.llm import Request, Response, ScriptedReply, Speaker, fingerprint
from magister.llm.engines.scripted import find_player
from magister.prompts import Prompt, load_prompt
from magister.provenance._artifact import conform

Row = Mapping[str, Any]
PROMPTS = Path(__file__).resolve().parents[2] / "prompts"


def shuffled(rows: pa.Table, seed: int) -> pa.Table:
    """The same rows in another order."""
    return rows.take(np.random.default_rng(seed).permutation(rows.num_rows))


def judge_prompt() -> Prompt:
    """The shipped template for judges."""
    return load_prompt(PROMPTS / "judge_pair" / "v1.md")


def instructions(*ids: str, **changes: Any) -> pa.Table:
    """Instructions `What is n + 2?` of one scenario, each its own root, with the gold."""
    rows = []
    for number, name in enumerate(ids):
        row = {
            "instruction_id": name, "scenario": "math", "text": f"What is {number} + 2?", "root_id": name,
            "round": 0, "operation": "seed", "gold": str(number + 2),
        }  # fmt: skip
        rows.append(row | changes)
    return pa.Table.from_pylist(rows, schema=INSTRUCTIONS.schema)


def responses(said: Mapping[tuple[str, str], str | Mapping[str, Any]]) -> pa.Table:
    """Responses by (model, instruction id): a text, or the columns that differ."""
    rows = []
    for (model, name), reply in said.items():
        row = {
            "model": model,
            "instruction_id": name,
            "request_id": f"r-{model}-{name}",
            "status": "ok",
            "text": "",
        }
        rows.append(row | ({"text": reply} if isinstance(reply, str) else dict(reply)))
    return pa.Table.from_pylist(rows, schema=ARENA_RESPONSES.schema)


def selections(*rows: tuple[str, str, str] | tuple[str, str, str, str], scenario: str = "math") -> pa.Table:
    """Selections (model a, model b, instruction id, arm); ranks count up."""
    made: list[dict[str, Any]] = []
    for row in rows:
        arm = row[3] if len(row) == 4 else "discrepant"
        place = {"scenario": scenario, "model_a": row[0], "model_b": row[1], "arm": arm}
        rank = 1 + sum(all(other[name] == value for name, value in place.items()) for other in made)
        chance = 0.25 if arm == "random" else 1.0
        made.append(place | {"rank": rank, "instruction_id": row[2], "inclusion_probability": chance})
    return pa.Table.from_pylist(made, schema=SELECTIONS.schema)


def league(models: Sequence[str], ids: Sequence[str], reply: Any = None, *, seed: int = 0) -> Sheets:
    """All pairs of models on all instructions; `reply(model, id)` is the text, their names by default."""
    say = reply or (lambda model, name: f"a reply to {name}" + "." * models.index(model))
    said = {(model, name): say(model, name) for model in models for name in ids}
    pairs = combinations(sorted(models), 2)
    chosen = selections(*((a, b, name) for a, b in pairs for name in ids))
    return annotation_sheet(chosen, instructions(*ids), responses(said), seed=seed)


def speaker(name: str, script: str, **args: Any) -> Speaker:
    """A scripted speaker."""
    model = ModelConfig(engine="scripted", script=script, script_args=args)
    return Speaker(name, model, fingerprint(name, model, None))


def answered(asked: Speaker, requests: Sequence[Request]) -> dict[str, Response]:
    """What a scripted speaker says to requests."""
    play = find_player(str(asked.model.script))
    found = {}
    for request in requests:
        key = request["custom_id"]
        said = play(request["body"]["messages"], key, dict(asked.model.script_args))
        found[key] = response(key, said)
    return found


def response(key: str, said: str | ScriptedReply) -> Response:
    """A response file's row as it is read."""
    reply = ScriptedReply(said) if isinstance(said, str) else said
    text = "" if reply.error else reply.text
    return Response(key, text, None, reply.finish_reason, None, None, None, reply.error)


def vote(winner: str = "a", **changes: Any) -> dict[str, Any]:
    """A person's vote on one comparison, `m1` against `m2`."""
    row: dict[str, Any] = {
        "comparison_id": "c1", "scenario": "math", "instruction_id": "i1", "root_id": "i1", "arm": "discrepant",
        "model_a": "m1", "model_b": "m2", "winner": winner, "annotator": "ann", "annotator_kind": "person",
        "first": "a", "request_ids": [], "length_a": 10, "length_b": 20,
    }  # fmt: skip
    row |= changes
    return {"vote_id": f"{row['comparison_id']}-{row['annotator_kind']}-{row['annotator']}"} | row


def votes(*rows: Mapping[str, Any]) -> pa.Table:
    """A VOTES table."""
    return pa.Table.from_pylist([dict(row) for row in rows], schema=VOTES.schema)


def table(rows: pa.Table, key: pa.Table | None = None, resamples: int = 200) -> pa.Table:
    """What is known of the annotators of votes."""
    found = agreement_table(rows, key, resamples=resamples, seed=1)
    assert conform(found, ARENA_AGREEMENT).equals(found)
    return found


def pick(
    found: pa.Table, statistic: str, kind: str = "person", annotator: str = "", scope: str = "overall"
) -> Row:
    """The one row of a statistic."""
    place = (statistic, scope, kind, annotator)
    (row,) = [
        row
        for row in found.to_pylist()
        if (row["statistic"], row["scope"], row["annotator_kind"], row["annotator"]) == place
    ]
    return dict(row)
