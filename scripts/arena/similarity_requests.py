"""Ask a judge how alike the responses of each pair of models are."""

import pyarrow as pa

from magister.arena.similarity import all_pairs
from magister.arena.similarity_judge import AskedSimilarities, similarity_requests
from magister.prompts import load_prompt
from scripts.compared import instructions_of, texts_of
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def asked_of(step: Step) -> AskedSimilarities:
    """What the judge is asked, over the scenarios."""
    pool, prompt = step.table("pool"), load_prompt(step.path("prompt"))
    judge = speaker(step, step.wildcards["model"])
    parts = []
    for scenario in step.params["scenarios"]:
        rows = instructions_of(step, pool, scenario).sort_by("instruction_id")
        parts.append(
            similarity_requests(
                scenario,
                rows,
                texts_of(step, rows["instruction_id"].combine_chunks()),
                all_pairs(step.params["models"]),
                judge,
                prompt,
                max_tokens=step.params["max_tokens"],
            )
        )
    return AskedSimilarities(
        [request for part in parts for request in part.requests],
        pa.concat_tables([part.table for part in parts]),
    )


def run(step: Step) -> None:
    """Write the request file."""
    write_step_requests(step, asked_of(step).requests)


if __name__ == "__main__":
    run_step(__spec__.name, run)
