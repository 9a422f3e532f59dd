"""Ask a distractor model all open questions, without options."""

from magister.items import free_answer_requests
from magister.prompts import load_prompt
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file."""
    requests = free_answer_requests(
        step.table("pool"),
        speaker(step, step.wildcards["model"]),
        load_prompt(step.path("prompt")),
        samples=step.params["samples"],
        max_tokens=step.params["max_tokens"],
    )
    write_step_requests(step, requests)


if __name__ == "__main__":
    run_step(__spec__.name, run)
