"""Small pools, and generators whose replies a test decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from magister.arena.evolution import evolution_requests, parents
from magister.arena.instructions import Pool, SourceRows, gather_instructions
from magister.config.instructions import Evolution, InstructionLimits, InstructionSource
from magister.config.models import ModelConfig
from magister.llm import Request, Response, Speaker
from magister.prompts import load_prompt

PROMPTS = Path(__file__).parents[2] / "prompts"
LIMITS = InstructionLimits()
SOURCE = InstructionSource(scenario="explanation", kind="file", path="own.jsonl")


def rows(*given: Mapping[str, Any] | str, scenario: str | None = None) -> SourceRows:
    """Rows as a file would hold them; a text alone is a row without gold or id."""
    full = [row if isinstance(row, Mapping) else {"instruction": row} for row in given]
    return SourceRows(
        "instruction", "gold", "id", scenario, [(n, dict(row)) for n, row in enumerate(full, 1)], []
    )


def gathered(*given: Mapping[str, Any] | str, limits: InstructionLimits = LIMITS, **fields: Any) -> Pool:
    """The pool of one source."""
    source = SOURCE.model_copy(update=fields)
    return gather_instructions({"own": source}, {"own": rows(*given)}, limits)


def seeds(*texts: str) -> pa.Table:
    """A pool of seeds."""
    return gathered(*texts).instructions


def speaker(name: str = "maker", **sampling: Any) -> Speaker:
    model = ModelConfig(engine="scripted", script="echo", sampling=sampling)
    return Speaker(name, model, {"engine": "scripted", "name": name})


def response(request: Request, text: str = "", finish: str = "stop", error: str | None = None) -> Response:
    return Response(request["custom_id"], text, None, finish, "m", 10, 5, error)


def evolution(*generators: str, **fields: Any) -> Evolution:
    names = list(generators or ("maker",))
    return Evolution(**{"rounds": 3, "generators": names, "max_tokens": 64} | fields)


Say = Callable[[Mapping[str, Any], Request], Response]


def asked(pool: pa.Table, round_number: int, plan: Evolution) -> dict[str, Request]:
    """The requests of all generators."""
    prompt = load_prompt(PROMPTS / "evolve" / "v1.md")
    requests: dict[str, Request] = {}
    for name in plan.generators:
        requests |= evolution_requests(pool, round_number, plan, speaker(name), prompt)
    return requests


def replies(pool: pa.Table, requests: Mapping[str, Request], say: Say) -> dict[str, Response]:
    """What is said of every parent."""
    return {
        requests[row["instruction_id"]]["custom_id"]: say(row, requests[row["instruction_id"]])
        for row in parents(pool).to_pylist()
    }
