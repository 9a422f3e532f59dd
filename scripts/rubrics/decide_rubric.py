"""Choose the best version so far, and whether the loop goes on."""

from magister.config.rubrics_judging import Objective
from magister.rubrics.decision import decide
from magister.rubrics.diagnosis import Known
from magister.rubrics.iterations import frozen, is_frozen
from magister.rubrics.objective import objective
from scripts.resampling import plan
from scripts.rubric_iterations import anchored, documents, version
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the decision, or a stub once the loop has stopped."""
    rubric, before = version(step), documents(step, "decisions")
    if rubric is None:
        step.write_json("decision", frozen(before[-1]))
        return
    _, _, human = anchored(step, rubric)
    options = Objective.model_validate(step.params["objective"])
    known = Known(human=human, anchors=step.table("anchor_scores"))
    decision = decide(
        int(step.wildcards["iteration"]),
        step.params["iterations"],
        rubric,
        objective(step.table("scores"), rubric, known, options, plan(step)),
        step.table("flags"),
        [one for one in before if not is_frozen(one)],
        options,
        calls=sum(table.num_rows for table in step.tables("asked"))
        if options.max_calls is not None
        else None,
    )
    step.write_json("decision", decision)


if __name__ == "__main__":
    run_step(__spec__.name, run)
