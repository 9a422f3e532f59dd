"""What is wrong with each metric of an iteration's rubric, and what a writer is told of it."""

from magister.config.rubrics_judging import MetricChecks
from magister.contracts.rubrics_score_tables import JUDGE_AGREEMENT, RUBRIC_DIAGNOSIS, RUBRIC_FLAGS
from magister.rubrics.agreement import judge_agreement
from magister.rubrics.coevolve import flat_tasks
from magister.rubrics.diagnosis import Known, diagnose
from magister.rubrics.flags import flag_metrics, flagged_ids
from magister.rubrics.refine import judges_words
from scripts.resampling import plan
from scripts.rubric_iterations import anchored, heard, kinships, played, version
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write diagnosis, flags, agreement of judges, and the evidence for a writer."""
    rubric = version(step)
    if rubric is None:
        step.write("diagnosis", RUBRIC_DIAGNOSIS.schema.empty_table(), "rubric_diagnosis")
        step.write("flags", RUBRIC_FLAGS.schema.empty_table(), "rubric_flags")
        step.write("agreement", JUDGE_AGREEMENT.schema.empty_table(), "rubric_judge_agreement")
        step.write_json("evidence", step.json("rubric"))
        return
    scores, dialogues = step.table("scores"), heard(step, played(step))
    _, _, human = anchored(step, rubric)
    names = sorted({*step.params["candidates"], *step.params["judges"]})
    known = Known(
        lengths={one.dialogue_id: one.length for one in dialogues},
        families={name: one.family for name, one in kinships(step, names).items()},
        human=human,
        anchors=step.table("anchor_scores"),
    )
    drawn = plan(step)
    diagnosis = diagnose(scores, rubric, known, drawn)
    flags = flag_metrics(diagnosis, rubric, MetricChecks.model_validate(step.params["checks"]))
    step.write("diagnosis", diagnosis, "rubric_diagnosis")
    step.write("flags", flags, "rubric_flags")
    step.write("agreement", judge_agreement(scores, drawn), "rubric_judge_agreement")
    step.write_json(
        "evidence",
        {"said": judges_words(scores, flagged_ids(flags)), "flat": flat_tasks(scores, rubric.metric_ids)},
    )


if __name__ == "__main__":
    run_step(__spec__.name, run)
