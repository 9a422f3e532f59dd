"""Ask for the flagged metrics of the best rubric so far, and for tasks that no metric is exercised on."""

from scripts.rubric_refinement import refinement
from scripts.speakers import write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file; it is empty once the loop has stopped."""
    asked = refinement(step)
    write_step_requests(step, [] if asked is None else [*asked.metrics.values(), *asked.tasks.values()])


if __name__ == "__main__":
    run_step(__spec__.name, run)
