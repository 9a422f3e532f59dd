"""Ask the rewriter to put the options of built items into one form."""

from magister.items import rewrite_bodies
from magister.prompts import load_prompt
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file."""
    asked = speaker(step, step.wildcards["model"])
    bodies = rewrite_bodies(step.table("built"), load_prompt(step.path("prompt")))
    write_step_requests(
        step, [asked.request(messages, step.params["max_tokens"]) for messages in bodies.values()]
    )


if __name__ == "__main__":
    run_step(__spec__.name, run)
