"""The first rubrics of a set and its tasks: as the scenarios' authors wrote them, or of metrics that a model wrote."""

from collections.abc import Callable

import pyarrow as pa

from magister.contracts.rubrics_score_tables import REFINEMENTS
from magister.prompts import load_prompt
from magister.rubrics.initial import (
    SEED_DIMENSIONS,
    initial_requests,
    parse_initial,
    read_dimensions,
    scenario_rubric,
)
from magister.rubrics.rubric import Rubric, rubric_document
from magister.rubrics.scenario import Scenario
from magister.rubrics.tasks import first_tasks, tasks_document
from scripts.rubric_iterations import scenarios, scenegen, together
from scripts.speakers import responses, speaker
from scripts.step import Step, run_step


def _maker(step: Step) -> Callable[[Scenario], tuple[Rubric, pa.Table]]:
    """How a scenario's first rubric is had, with the record of each call."""
    if step.params["source"] == "scenario":
        low, high = step.params["scale"]
        return lambda scenario: (scenario_rubric(scenario, (low, high)), REFINEMENTS.schema.empty_table())
    given, options = step.params["dimensions"], scenegen(step)
    dimensions = read_dimensions(given, "rubrics.dimensions") if given else SEED_DIMENSIONS
    who, prompt = speaker(step, step.params["writer"]), load_prompt(step.path("prompt"))
    said = responses(step)

    def written(scenario: Scenario) -> tuple[Rubric, pa.Table]:
        requests = initial_requests(scenario, who, prompt, options, dimensions)
        made = parse_initial(scenario, requests, said, options, dimensions)
        return made.rubric, made.record

    return written


def run(step: Step) -> None:
    """Write rubrics, tasks and what became of each call."""
    made, share = _maker(step), scenegen(step).held_out
    rubrics, tasks, records = {}, {}, []
    for name, scenario in scenarios(step).items():
        divided = first_tasks(scenario, share)
        rubric, record = made(divided)
        rubrics[name], tasks[name] = rubric_document(rubric), tasks_document(divided)
        records.append(record)
    step.write_json("rubrics", rubrics)
    step.write_json("tasks", tasks)
    step.write("record", together(records, "rubric_refinements"), "rubric_refinements")


if __name__ == "__main__":
    run_step(__spec__.name, run)
