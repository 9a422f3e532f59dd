"""Ask a judge to score the dialogues of an iteration, and the anchors."""

from magister.prompts import load_prompt
from magister.rubrics.checks import vetoed
from magister.rubrics.heard import scoring_notes
from magister.rubrics.judging import Panel, judge_requests
from scripts.rubric_iterations import Experts, heard, judging, kinships, parted, parts, together
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file, what each request asks for, and what needs none; nothing where all loops have stopped."""
    judge, experts, dialogues, checks = (
        step.wildcards["model"],
        Experts(step),
        heard(step),
        parted(step, "checks"),
    )
    experts.check(step.json("rubrics"))
    who, kin = speaker(step, judge), kinships(step, [judge])[judge]
    options, prompt = judging(step), load_prompt(step.path("prompt"))
    candidates = kinships(step, step.params["candidates"])
    made = []
    for scenario, rubric in parts(step):
        shots, scored, _ = experts.of(rubric)
        known = kinships(step, [], [one.model for one in scored]) | candidates
        made.append(
            judge_requests(
                [*dialogues[scenario], *scored],
                rubric,
                Panel(who, kin, known),
                options,
                prompt,
                shots=shots,
                vetoed=vetoed(checks[scenario.name]),
                # What authors say about scoring belongs to the rubric that they wrote, and to no other.
                notes=scoring_notes(scenario) if step.params["source"] == "scenario" else None,
            )
        )
    write_step_requests(step, [request for one in made for request in one.requests])
    step.write("asked", together((one.asked for one in made), "rubric_asked"), "rubric_asked")
    step.write("settled", together((one.settled for one in made), "rubric_scores"), "rubric_scores")


if __name__ == "__main__":
    run_step(__spec__.name, run)
