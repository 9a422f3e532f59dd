"""Ask the paraphraser of a variant to reword the questions of all items."""

from magister.items import paraphrase_bodies
from magister.prompts import load_prompt
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file."""
    asked = speaker(step, step.wildcards["model"])
    bodies = paraphrase_bodies(step.table("items_table"), load_prompt(step.path("prompt")))
    write_step_requests(
        step, [asked.request(messages, step.params["max_tokens"]) for messages in bodies.values()]
    )


if __name__ == "__main__":
    run_step(__spec__.name, run)
