"""Ask a judge, once, to put replies into form that could not be read."""

from magister.contracts.rubrics_score_tables import RUBRIC_REPAIRS
from magister.prompts import load_prompt
from magister.rubrics.judging import Repairs
from magister.rubrics.readings import repair_requests
from scripts.rubric_iterations import judging, version
from scripts.speakers import responses, speaker, write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file and which reply each request is about."""
    rubric = version(step)
    made = Repairs([], RUBRIC_REPAIRS.schema.empty_table())
    if rubric is not None:
        made = repair_requests(
            step.table("asked"),
            responses(step),
            rubric,
            speaker(step, step.wildcards["model"]),
            judging(step),
            load_prompt(step.path("prompt")),
        )
    write_step_requests(step, made.requests)
    step.write("repairs", made.repairs, "rubric_repairs")


if __name__ == "__main__":
    run_step(__spec__.name, run)
