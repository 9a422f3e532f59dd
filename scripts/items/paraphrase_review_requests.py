"""Ask the reviewer of a variant to go through the checklist for every paraphrase that holds in code."""

from magister.items import paraphrase_review_bodies
from magister.prompts import load_prompt
from scripts.items.item_variant import paraphrases, varied_items
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file."""
    asked = speaker(step, step.wildcards["model"])
    bodies = paraphrase_review_bodies(
        varied_items(step).items, paraphrases(step), load_prompt(step.path("prompt"))
    )
    limit = step.params["variant"]["max_tokens"]
    write_step_requests(step, [asked.request(messages, limit) for messages in bodies.values()])


if __name__ == "__main__":
    run_step(__spec__.name, run)
