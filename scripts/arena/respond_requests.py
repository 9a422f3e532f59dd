"""Put the instructions of a model's arenas to it."""

import pyarrow as pa
import pyarrow.compute as pc

from magister.arena.responses import response_requests
from magister.llm import Request
from magister.prompts import load_prompt
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def requests_of(step: Step) -> dict[str, Request]:
    """Request by instruction."""
    pool = step.table("pool")
    return response_requests(
        pool.filter(pc.is_in(pool["scenario"], pa.array(step.params["scenarios"], pa.string()))),
        speaker(step, step.wildcards["model"]),
        load_prompt(step.path("prompt")),
        step.params["max_tokens"],
    )


def run(step: Step) -> None:
    """Write the request file."""
    write_step_requests(step, requests_of(step).values())


if __name__ == "__main__":
    run_step(__spec__.name, run)
