"""Read the responses of a study from a file, or from logs of other tools."""

import sys

from magister.diagnosis.responses import grid_table
from scripts.diagnosis.imported import imported
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write every model x item, and what could not be read."""
    found = imported(step)
    for note in found.notes:
        print(f"{step.wildcards['study']}: {note}", file=sys.stderr)
    step.write("responses", grid_table(found.grid), "response_matrix")
    step.write("rejected", found.rejected, "responses_rejected")


if __name__ == "__main__":
    run_step(__spec__.name, run)
