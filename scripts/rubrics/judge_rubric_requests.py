"""Ask a judge to score the dialogues of an iteration, and the anchors."""

from magister.contracts.rubrics_score_tables import RUBRIC_ASKED, RUBRIC_SCORES
from magister.prompts import load_prompt
from magister.rubrics.checks import vetoed
from magister.rubrics.heard import scoring_notes
from magister.rubrics.judging import Asked, Panel, judge_requests
from scripts.rubric_iterations import anchored, heard, judging, kinships, played, version
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file, what each request asks for, and what needs none; nothing where the loop has stopped."""
    rubric = version(step)
    made = Asked([], RUBRIC_ASKED.schema.empty_table(), RUBRIC_SCORES.schema.empty_table())
    if rubric is not None:
        scenario, judge = played(step), step.wildcards["model"]
        shots, scored, _ = anchored(step, rubric)
        dialogues = [*heard(step, scenario), *scored]
        candidates = kinships(step, step.params["candidates"], [one.model for one in scored])
        made = judge_requests(
            dialogues,
            rubric,
            Panel(speaker(step, judge), kinships(step, [judge])[judge], candidates),
            judging(step),
            load_prompt(step.path("prompt")),
            shots=shots,
            vetoed=vetoed(step.table("checks")),
            # What authors say about scoring belongs to the rubric that they wrote, and to no other.
            notes=scoring_notes(scenario) if step.params["source"] == "scenario" else None,
        )
    write_step_requests(step, made.requests)
    step.write("asked", made.asked, "rubric_asked")
    step.write("settled", made.settled, "rubric_scores")


if __name__ == "__main__":
    run_step(__spec__.name, run)
