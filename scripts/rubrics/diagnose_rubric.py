"""What is wrong with each metric of an iteration's rubrics, and what a writer is told of it."""

from magister.config.rubrics_judging import MetricChecks
from magister.rubrics.agreement import judge_agreement
from magister.rubrics.coevolve import flat_tasks
from magister.rubrics.diagnosis import Known, diagnose
from magister.rubrics.flags import flag_metrics, flagged_ids
from magister.rubrics.iterations import is_frozen
from magister.rubrics.refine import judges_words
from scripts.resampling import plan
from scripts.rubric_iterations import Experts, heard, kinships, parted, parts, together
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write diagnosis, flags, agreement of judges, and the evidence for a writer."""
    experts, dialogues, drawn = Experts(step), heard(step), plan(step)
    scores, anchors = parted(step, "scores"), parted(step, "anchor_scores")
    thresholds = MetricChecks.model_validate(step.params["checks"])
    names = sorted({*step.params["candidates"], *step.params["judges"]})
    families = {name: one.family for name, one in kinships(step, names).items()}
    evidence = {name: found for name, found in step.json("rubrics").items() if is_frozen(found)}
    diagnoses, flags, agreements = [], [], []
    for scenario, rubric in parts(step):
        own = scores[scenario.name]
        known = Known(
            lengths={one.dialogue_id: one.length for one in dialogues[scenario]},
            families=families,
            human=experts.of(rubric).human,
            anchors=anchors[scenario.name],
        )
        found = diagnose(own, rubric, known, drawn)
        raised = flag_metrics(found, rubric, thresholds)
        diagnoses.append(found)
        flags.append(raised)
        agreements.append(judge_agreement(own, drawn))
        evidence[scenario.name] = {
            "said": judges_words(own, flagged_ids(raised)),
            "flat": flat_tasks(own, rubric.metric_ids),
        }
    step.write("diagnosis", together(diagnoses, "rubric_diagnosis"), "rubric_diagnosis")
    step.write("flags", together(flags, "rubric_flags"), "rubric_flags")
    step.write("agreement", together(agreements, "rubric_judge_agreement"), "rubric_judge_agreement")
    step.write_json("evidence", evidence)


if __name__ == "__main__":
    run_step(__spec__.name, run)
