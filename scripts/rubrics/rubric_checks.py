"""Check dialogues by code, before any judge is asked."""

from magister.rubrics.checks import check_dialogues
from scripts.rubric_iterations import heard, parts, together
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write what was found."""
    dialogues, found = heard(step), []
    for scenario, _ in parts(step):
        vetoes = scenario.evaluation.vetoes if scenario.evaluation is not None else ()
        found.append(check_dialogues(dialogues[scenario], vetoes))
    step.write("checks", together(found, "rubric_checks"), "rubric_checks")


if __name__ == "__main__":
    run_step(__spec__.name, run)
