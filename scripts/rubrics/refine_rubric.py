"""The next rubrics and their tasks, or stubs for scenarios whose loop has stopped."""

from magister.rubrics.coevolve import parse_tasks
from magister.rubrics.iterations import frozen
from magister.rubrics.refine import parse_refinements
from magister.rubrics.rubric import rubric_document
from magister.rubrics.tasks import tasks_document
from scripts.rubric_iterations import scenegen, together
from scripts.rubric_refinement import last_decisions, refinements
from scripts.speakers import responses
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write rubrics, tasks and what became of each call."""
    said, options, last = responses(step), scenegen(step), last_decisions(step)
    rubrics, tasks, records, changes = {}, {}, [], []
    for name, asked in refinements(step).items():
        if asked is None:
            rubrics[name] = tasks[name] = frozen(last[name])
            continue
        made = parse_refinements(asked.rubric, asked.flagged, asked.metrics, said, options)
        grown = parse_tasks(asked.scenario, asked.flat, asked.tasks, said, options)
        rubrics[name], tasks[name] = rubric_document(made.rubric), tasks_document(grown.scenario)
        records.append(made.record)
        changes.append(grown.record)
    step.write_json("rubrics", rubrics)
    step.write_json("tasks", tasks)
    step.write("record", together(records, "rubric_refinements"), "rubric_refinements")
    step.write("task_changes", together(changes, "rubric_task_changes"), "rubric_task_changes")


if __name__ == "__main__":
    run_step(__spec__.name, run)
