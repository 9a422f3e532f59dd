"""Simulate the responses of a study whose truth is known."""

from magister.diagnosis.responses import grid_table
from magister.diagnosis.simulated import SimulationOptions, simulate_study
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the responses, who truly masters what, and what items truly need."""
    options = step.params["simulation"]
    ranges = {name: tuple(options[name]) for name in ("guess", "slip")}
    study = simulate_study(step.table("texts"), SimulationOptions(**options | ranges))
    step.write("responses", grid_table(study.grid), "response_matrix")
    step.write("mastery", study.mastery(), "simulated_mastery")


if __name__ == "__main__":
    run_step(__spec__.name, run)
