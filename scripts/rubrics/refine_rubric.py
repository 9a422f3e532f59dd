"""The next rubric and its tasks, or stubs once the loop has stopped."""

from magister.contracts.rubrics_score_tables import REFINEMENTS, TASK_CHANGES
from magister.rubrics.coevolve import parse_tasks
from magister.rubrics.iterations import frozen
from magister.rubrics.refine import parse_refinements
from magister.rubrics.rubric import rubric_document
from magister.rubrics.tasks import tasks_document
from scripts.rubric_iterations import documents, scenegen
from scripts.rubric_refinement import refinement
from scripts.speakers import responses
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write rubric, tasks and what became of each call."""
    asked = refinement(step)
    if asked is None:
        stub = frozen(documents(step, "decisions")[-1])
        step.write_json("rubric", stub)
        step.write_json("tasks", stub)
        step.write("record", REFINEMENTS.schema.empty_table(), "rubric_refinements")
        step.write("task_changes", TASK_CHANGES.schema.empty_table(), "rubric_task_changes")
        return
    said, options = responses(step), scenegen(step)
    made = parse_refinements(asked.rubric, asked.flagged, asked.metrics, said, options)
    grown = parse_tasks(asked.scenario, asked.flat, asked.tasks, said, options)
    step.write_json("rubric", rubric_document(made.rubric))
    step.write_json("tasks", tasks_document(grown.scenario))
    step.write("record", made.record, "rubric_refinements")
    step.write("task_changes", grown.record, "rubric_task_changes")


if __name__ == "__main__":
    run_step(__spec__.name, run)
