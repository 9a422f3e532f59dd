"""Draw a league's standings and ablations."""

from magister.plots import (
    by_round,
    changes,
    contamination,
    convergence,
    leave_one_out,
    rank_intervals,
)
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the plots as SVG."""
    ablations, agreement = step.table("ablations"), step.table("agreement")
    step.write_text("rank_intervals", rank_intervals(step.table("standings")))
    step.write_text("leave_one_out", leave_one_out(ablations))
    step.write_text("convergence", convergence(ablations, agreement))
    step.write_text("by_round", by_round(ablations))
    step.write_text("changes", changes(ablations))
    step.write_text("contamination", contamination(step.table("contamination")))


if __name__ == "__main__":
    run_step(__spec__.name, run)
