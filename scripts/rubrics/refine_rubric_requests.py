"""Ask for the flagged metrics of the best rubrics so far, and for tasks that no metric is exercised on."""

from scripts.rubric_refinement import refinements
from scripts.speakers import write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file; of a scenario whose loop has stopped it holds none."""
    write_step_requests(
        step,
        [
            request
            for asked in refinements(step).values()
            if asked is not None
            for request in (*asked.metrics.values(), *asked.tasks.values())
        ],
    )


if __name__ == "__main__":
    run_step(__spec__.name, run)
