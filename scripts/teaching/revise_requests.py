"""Ask a student to revise its answers, for all teachers and arms of a round."""

import pyarrow as pa
import pyarrow.compute as pc

from magister.prompts import load_prompt
from magister.teaching.revisions import Previous, previous_answers, revise_requests
from scripts.choices import league_items
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def round_guides(step: Step) -> pa.Table:
    """What this student was told in this round."""
    guides = step.table("guides")
    return guides.filter(pc.equal(guides["student"], step.wildcards["model"]))


def before(step: Step, guides: pa.Table) -> Previous:
    """Its answers of the round before."""
    exchanges = {(row["arm"], row["teacher"]) for row in guides.select(["arm", "teacher"]).to_pylist()}
    return previous_answers(step.table("previous"), exchanges)


def run(step: Step) -> None:
    """Write the request file, and which request belongs to which teacher and item."""
    guides = round_guides(step)
    requests, index = revise_requests(
        league_items(step),
        guides,
        before(step, guides),
        speaker(step, step.wildcards["model"]),
        load_prompt(step.path("prompt")),
        answer_as=step.params["answer_as"],
        shots=step.params["student_shots"],
        max_tokens=step.params["max_tokens"],
    )
    write_step_requests(step, requests, index)


if __name__ == "__main__":
    run_step(__spec__.name, run)
