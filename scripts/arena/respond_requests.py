"""Put every instruction to a model."""

from magister.arena.responses import response_requests
from magister.prompts import load_prompt
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file."""
    requests = response_requests(
        step.table("pool"),
        speaker(step, step.wildcards["model"]),
        load_prompt(step.path("prompt")),
        step.params["max_tokens"],
    )
    write_step_requests(step, requests.values())


if __name__ == "__main__":
    run_step(__spec__.name, run)
