"""Ask a judge, once, to put replies into form that could not be read."""

from magister.prompts import load_prompt
from magister.rubrics.readings import repair_requests
from scripts.rubric_iterations import judging, parted, parts, together
from scripts.speakers import responses, speaker, write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file and which reply each request is about."""
    asked, said = parted(step, "asked"), responses(step)
    who, options, prompt = (
        speaker(step, step.wildcards["model"]),
        judging(step),
        load_prompt(step.path("prompt")),
    )
    made = [
        repair_requests(asked[rubric.scenario], said, rubric, who, options, prompt)
        for _, rubric in parts(step)
    ]
    write_step_requests(step, [request for one in made for request in one.requests])
    step.write("repairs", together((one.repairs for one in made), "rubric_repairs"), "rubric_repairs")


if __name__ == "__main__":
    run_step(__spec__.name, run)
