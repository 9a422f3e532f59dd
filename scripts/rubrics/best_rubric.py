"""The best rubric of a scenario: itself, as a file for others, as a sheet for people, and how it came about."""

from magister.rubrics.decision import lineage, select_best
from magister.rubrics.drift import anchor_drift
from magister.rubrics.export import dialect_a, diff_text, label_studio_config, label_studio_tasks, rubric_diff
from magister.rubrics.heard import heard_dialogues
from magister.rubrics.iterations import is_frozen
from magister.rubrics.reader import read_scenario
from magister.rubrics.rubric import read_rubric, rubric_document
from magister.rubrics.tasks import with_tasks
from scripts.resampling import plan
from scripts.rubric_iterations import anchored, document, documents, of_iteration
from scripts.step import Step, read_table, run_step


def run(step: Step) -> None:
    """Write the best version and everything that is made of it."""
    decisions = documents(step, "decisions")
    best = select_best(decisions)
    made = {
        number: read_rubric(document(path), path.as_posix())
        for number, path in enumerate(step.inputs["rubrics"])
        if not is_frozen(document(path))
    }
    rubric, where = made[best], step.inputs["tasks"][best]
    scenario = with_tasks(read_scenario(step.path("scenario")), document(where), where.as_posix())
    dialogues = heard_dialogues(
        read_table(step.inputs["transcripts"][best]), read_table(step.inputs["dialogues"][best]), scenario
    )
    flags = step.tables("flags")
    line = [rubric_diff(made[old], made[new], flags[old]) for old, new in lineage(made, best)]
    anchor_scores = {number: of_iteration(step, "anchor_scores", number) for number in made}
    _, _, human = anchored(step, rubric)
    step.write_json("rubric", rubric_document(rubric) | {"iteration": best})
    step.write_text("yaml", dialect_a(scenario, rubric))
    step.write_text("label_config", label_studio_config(rubric))
    step.write_json("label_tasks", label_studio_tasks(dialogues, rubric))
    step.write_json("diff", line)
    step.write_text(
        "diff_text", "\n".join(diff_text(one) for one in line) or "The first version is the best.\n"
    )
    step.write("drift", anchor_drift(anchor_scores, human, made, plan(step)), "rubric_anchor_drift")


if __name__ == "__main__":
    run_step(__spec__.name, run)
