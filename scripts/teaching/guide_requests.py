"""Ask a teacher about every student's latest reply, blind."""

import pyarrow as pa
import pyarrow.parquet as pq

from magister.llm import write_requests
from magister.prompts import load_prompt
from magister.teaching.guides import guide_requests, histories
from scripts.choices import league_items
from scripts.speakers import speaker
from scripts.step import Step, run_step


def _tables(step: Step, name: str) -> list[pa.Table]:
    return [pq.read_table(path) for path in step.inputs.get(name, [])]


def run(step: Step) -> None:
    """Write the request file, and which request belongs to which student and item."""
    asked = speaker(step, step.wildcards["model"])
    history = histories(
        [*_tables(step, "blind"), *_tables(step, "revisions")], _tables(step, "guides"), "taught", asked.name
    )
    requests, index = guide_requests(
        league_items(step),
        history,
        asked,
        load_prompt(step.path("prompt")),
        number=int(step.wildcards["round"]),
        blind=step.params["blind"],
        may_tell_answer=step.params["may_tell_answer"],
        max_tokens=step.params["max_tokens"],
    )
    write_requests(step.outputs["requests"], requests)
    step.sidecar("requests")
    step.write("asked", index, "asked")


if __name__ == "__main__":
    run_step(__spec__.name, run)
