"""Ask for the metrics of the first rubrics of a set's scenarios."""

from magister.prompts import load_prompt
from magister.rubrics.initial import SEED_DIMENSIONS, initial_requests, read_dimensions
from scripts.rubric_iterations import scenarios, scenegen
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file, a request a scenario and dimension."""
    given = step.params["dimensions"]
    dimensions = read_dimensions(given, "rubrics.dimensions") if given else SEED_DIMENSIONS
    who, prompt, options = (
        speaker(step, step.wildcards["model"]),
        load_prompt(step.path("prompt")),
        scenegen(step),
    )
    write_step_requests(
        step,
        [
            request
            for scenario in scenarios(step).values()
            for request in initial_requests(scenario, who, prompt, options, dimensions).values()
        ],
    )


if __name__ == "__main__":
    run_step(__spec__.name, run)
