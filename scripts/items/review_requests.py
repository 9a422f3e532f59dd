"""Ask the reviewer to go through the checklist for every rewrite that holds in code."""

from magister.items import review_bodies
from magister.prompts import load_prompt
from scripts.items.rewrite_items import rewrites
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file."""
    asked = speaker(step, step.wildcards["model"])
    bodies = review_bodies(step.table("built"), rewrites(step), load_prompt(step.path("prompt")))
    write_step_requests(
        step, [asked.request(messages, step.params["max_tokens"]) for messages in bodies.values()]
    )


if __name__ == "__main__":
    run_step(__spec__.name, run)
