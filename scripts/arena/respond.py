"""Read a model's responses."""

from magister.arena.responses import read_arena_responses, response_requests
from magister.prompts import load_prompt
from scripts.speakers import responses, speaker
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the responses, one row per instruction."""
    name = step.wildcards["model"]
    requests = response_requests(
        step.table("pool"),
        speaker(step, name),
        load_prompt(step.path("prompt")),
        step.params["max_tokens"],
    )
    step.write("answers", read_arena_responses(requests, responses(step), name), "arena_responses")


if __name__ == "__main__":
    run_step(__spec__.name, run)
