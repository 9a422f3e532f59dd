"""Check dialogues by code, before any judge is asked."""

from magister.contracts.rubrics_score_tables import RUBRIC_CHECKS
from magister.rubrics.checks import check_dialogues
from scripts.rubric_iterations import heard, played, version
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write what was found."""
    if version(step) is None:
        step.write("checks", RUBRIC_CHECKS.schema.empty_table(), "rubric_checks")
        return
    scenario = played(step)
    vetoes = scenario.evaluation.vetoes if scenario.evaluation is not None else ()
    step.write("checks", check_dialogues(heard(step, scenario), vetoes), "rubric_checks")


if __name__ == "__main__":
    run_step(__spec__.name, run)
