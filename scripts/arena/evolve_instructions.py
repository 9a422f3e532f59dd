"""Grow the pool by what the generators wrote, and drop what failed."""

import json

import pyarrow as pa

from magister.arena.evolution import drop_near_duplicates, evolution_requests, read_evolutions
from magister.arena.instructions import Pool
from magister.config.instructions import Evolution, InstructionLimits
from magister.config.models import ModelConfig
from magister.llm import Request, Speaker
from magister.prompts import load_prompt
from scripts.embedding import embed
from scripts.speakers import responses
from scripts.step import Step, run_step


def _asked(step: Step, pool: pa.Table, evolution: Evolution) -> dict[str, Request]:
    """What every generator was asked, by parent."""
    prompt, number = load_prompt(step.path("prompt")), int(step.wildcards["number"])
    found: dict[str, Request] = {}
    for name, path in zip(evolution.generators, step.inputs["fingerprints"], strict=True):
        fingerprint = json.loads(path.read_text(encoding="utf-8"))
        step.models[name] = fingerprint
        asked = Speaker(name, ModelConfig.model_validate(step.params["models"][name]), fingerprint)
        found |= evolution_requests(pool, number, evolution, asked, prompt)
    return found


def _unlike(step: Step, pool: pa.Table, new: pa.Table, threshold: float) -> Pool:
    """What says something that the pool does not say yet."""
    texts = [*pool["text"].to_pylist(), *new["text"].to_pylist()]
    vectors = embed(step, texts).vectors
    old = pool.num_rows
    return drop_near_duplicates(pool, new, vectors[:old], vectors[old:], threshold)


def run(step: Step) -> None:
    """Write the pool after the round and what was rejected in it."""
    evolution = Evolution.model_validate(step.params["evolution"])
    pool = step.table("pool")
    read = read_evolutions(
        pool,
        int(step.wildcards["number"]),
        evolution,
        InstructionLimits.model_validate(step.params["limits"]),
        _asked(step, pool, evolution),
        responses(step),
    )
    rejected = [read.rejected]
    new = read.instructions
    if evolution.near_duplicate is not None and new.num_rows:
        apart = _unlike(step, pool, new, evolution.near_duplicate)
        new = apart.instructions
        rejected.append(apart.rejected)
    step.write("pool", pa.concat_tables([pool, new]), "instructions")
    step.write("rejected", pa.concat_tables(rejected), "instructions_rejected")


if __name__ == "__main__":
    run_step(__spec__.name, run)
