"""Ask a teacher about every student's latest reply, blind."""

import pyarrow as pa

from magister.prompts import load_prompt
from magister.teaching.guides import guide_requests, histories
from scripts.choices import league_items
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file, and which request belongs to which student and item."""
    asked = speaker(step, step.wildcards["model"])
    items, prompt = league_items(step), load_prompt(step.path("prompt"))
    answers = [*step.tables("blind"), *step.tables("revisions")]
    requests, indices = [], []
    for arm in step.params["arms"]:
        some, index = guide_requests(
            items,
            histories(answers, step.tables("guides"), arm, asked.name),
            asked,
            prompt,
            number=int(step.wildcards["round"]),
            arm=arm,
            blind=step.params["blind"],
            may_tell_answer=step.params["may_tell_answer"],
            max_tokens=step.params["max_tokens"],
        )
        requests += some
        indices.append(index)
    write_step_requests(step, requests, pa.concat_tables(indices))


if __name__ == "__main__":
    run_step(__spec__.name, run)
