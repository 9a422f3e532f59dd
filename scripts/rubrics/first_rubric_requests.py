"""Ask for the metrics of a scenario's first rubric."""

from magister.prompts import load_prompt
from magister.rubrics.initial import SEED_DIMENSIONS, initial_requests, read_dimensions
from magister.rubrics.reader import read_scenario
from scripts.rubric_iterations import scenegen
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file, a request a dimension."""
    given = step.params["dimensions"]
    requests = initial_requests(
        read_scenario(step.path("scenario")),
        speaker(step, step.wildcards["model"]),
        load_prompt(step.path("prompt")),
        scenegen(step),
        read_dimensions(given, "rubrics.dimensions") if given else SEED_DIMENSIONS,
    )
    write_step_requests(step, requests.values())


if __name__ == "__main__":
    run_step(__spec__.name, run)
