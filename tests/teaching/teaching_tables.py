"""Small hand-made tables of a league, and speakers that are never started."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from magister.config.models import ModelConfig
from magister.contracts.schemas import ANSWERS, BANDS, GUIDES, ITEMS, REVISIONS
from magister.llm import Request, Response, Speaker, fingerprint
from magister.prompts import Prompt, load_prompt

PROMPTS = Path(__file__).resolve().parents[2] / "prompts"


def shuffled(rows: pa.Table, seed: int) -> pa.Table:
    """The same rows in another order."""
    return rows.take(np.random.default_rng(seed).permutation(rows.num_rows))


VERSIONS = ("v1", "v2", "v3")
"""Versions in which every prompt of a league is shipped."""


def prompt(task: str, version: str = "v1") -> Prompt:
    """The shipped template of a task."""
    return load_prompt(PROMPTS / task / f"{version}.md")


def speaker(name: str = "ann") -> Speaker:
    """A scripted speaker."""
    model = ModelConfig(engine="scripted", script="echo")
    return Speaker(name, model, fingerprint(name, model, None))


def item(item_id: str = "i1", **changes: Any) -> dict[str, Any]:
    """An item: Paris is right and stands second."""
    row: dict[str, Any] = {
        "item_id": item_id,
        "dataset": "d",
        "domain": "k",
        "cluster_id": item_id,
        "question": f"What is the capital of France ({item_id})?",
        "options": ["London", "Paris", "Rome", "Berlin"],
        "origins": ["native"] * 4,
        "key": "B",
        "gold": "Paris",
        "multi": False,
        "rewrite_status": "native",
        "needs_options": False,
        "options_in_question": False,
        "passage": None,
        "review": None,
    }
    return row | changes


def items(*rows: dict[str, Any]) -> pa.Table:
    """ITEMS table."""
    return pa.Table.from_pylist(list(rows), schema=ITEMS.schema)


def reply(request_id: str, text: str = "", finish: str | None = "stop", error: str | None = None) -> Response:
    """A response."""
    return Response(request_id, text, None, finish, "m", 5, 3, error)


def replies(requests: Iterable[Request], texts: Iterable[Any]) -> dict[str, Response]:
    """Responses by request key; a text, or the arguments of `reply`."""
    return {
        row["custom_id"]: reply(row["custom_id"], **({"text": said} if isinstance(said, str) else said))
        for row, said in zip(requests, texts, strict=True)
    }


def answer(model: str, item_id: str, text: str, **changes: Any) -> dict[str, Any]:
    """A row of ANSWERS."""
    row = {"model": model, "item_id": item_id, "request_id": "q0", "status": "ok", "rule": "r", "text": text}
    return row | {"answer": "A", "correct": False} | changes


def answers(*rows: dict[str, Any]) -> pa.Table:
    """ANSWERS table."""
    return pa.Table.from_pylist(list(rows), schema=ANSWERS.schema)


def exchange(
    student: str, item_id: str, number: int, teacher: str = "tea", arm: str = "taught"
) -> dict[str, Any]:
    """The columns that name an exchange."""
    return {"arm": arm, "teacher": teacher, "student": student, "item_id": item_id, "round": number}


def guide(
    place: dict[str, Any], verdict: str = "wrong", guidance: str = "Look again.", **changes: Any
) -> dict[str, Any]:
    """A row of GUIDES."""
    row = {"status": "ok", "verdict": verdict, "verdict_rule": "label", "guidance": guidance, "leak": "none"}
    return place | row | {"text": f"Verdict: {verdict}\nGuidance: {guidance}", "request_id": "g"} | changes


def guides(*rows: dict[str, Any]) -> pa.Table:
    """GUIDES table."""
    return pa.Table.from_pylist(list(rows), schema=GUIDES.schema)


def revision(place: dict[str, Any], text: str, **changes: Any) -> dict[str, Any]:
    """A row of REVISIONS."""
    row = {"status": "ok", "rule": "r", "text": text, "asked": True, "answer": "B", "correct": True}
    return place | row | {"request_id": "r"} | changes


def revisions(*rows: dict[str, Any]) -> pa.Table:
    """REVISIONS table."""
    return pa.Table.from_pylist(list(rows), schema=REVISIONS.schema)


def bands(*rows: tuple[str, int]) -> pa.Table:
    """BANDS table."""
    found = [
        {
            "item_id": name,
            "band": band,
            "pass_pattern": "1",
            "n_answered": 1,
            "unsolved": False,
            "monotone": True,
        }
        for name, band in rows
    ]
    return pa.Table.from_pylist(found, schema=BANDS.schema)


def said(request: Request) -> str:
    """The whole conversation of a request as text."""
    return "\n".join(message["content"] for message in request["body"]["messages"])


def asked_last(request: Request) -> str:
    """The last message of a request: what stands there beyond the demonstrations."""
    content: str = request["body"]["messages"][-1]["content"]
    return content


def spans(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The recorded removals of an ASKED or GUIDES row."""
    found: list[dict[str, Any]] = json.loads(row["scrubbed"] or "[]")
    return found
