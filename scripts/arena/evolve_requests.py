"""Ask a generator to rewrite its share of the instructions."""

from magister.arena.evolution import evolution_requests
from magister.config.instructions import Evolution
from magister.prompts import load_prompt
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file."""
    requests = evolution_requests(
        step.table("pool"),
        int(step.wildcards["number"]),
        Evolution.model_validate(step.params["evolution"]),
        speaker(step, step.wildcards["model"]),
        load_prompt(step.path("prompt")),
    )
    write_step_requests(step, requests.values())


if __name__ == "__main__":
    run_step(__spec__.name, run)
