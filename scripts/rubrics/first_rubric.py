"""The first rubric of a scenario and its tasks: as its authors wrote it, or of the metrics that a model wrote."""

from magister.contracts.rubrics_score_tables import REFINEMENTS
from magister.prompts import load_prompt
from magister.rubrics.initial import (
    SEED_DIMENSIONS,
    initial_requests,
    parse_initial,
    read_dimensions,
    scenario_rubric,
)
from magister.rubrics.reader import read_scenario
from magister.rubrics.rubric import rubric_document
from magister.rubrics.tasks import first_tasks, tasks_document
from scripts.rubric_iterations import scenegen
from scripts.speakers import responses, speaker
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write rubric, tasks and what became of each call."""
    options = scenegen(step)
    scenario = first_tasks(read_scenario(step.path("scenario")), options.held_out)
    if step.params["source"] == "scenario":
        low, high = step.params["scale"]
        rubric, record = scenario_rubric(scenario, (low, high)), REFINEMENTS.schema.empty_table()
    else:
        given = step.params["dimensions"]
        dimensions = read_dimensions(given, "rubrics.dimensions") if given else SEED_DIMENSIONS
        who = speaker(step, step.params["writer"])
        requests = initial_requests(scenario, who, load_prompt(step.path("prompt")), options, dimensions)
        rubric, record = parse_initial(scenario, requests, responses(step), options, dimensions)
    step.write_json("rubric", rubric_document(rubric))
    step.write_json("tasks", tasks_document(scenario))
    step.write("record", record, "rubric_refinements")


if __name__ == "__main__":
    run_step(__spec__.name, run)
