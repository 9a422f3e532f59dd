"""Read the responses of a study from a file, or from logs of other tools."""

import sys

from magister.diagnosis.log_files import LogForm, read_logs
from magister.diagnosis.matrix_files import MatrixForm, read_matrix
from magister.diagnosis.responses import grid_table
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write every model x item, and what could not be read."""
    if step.params["kind"] == "logs":
        found = read_logs(step.inputs["files"], LogForm(**step.params["form"]))
    else:
        form = step.params["form"]
        found = read_matrix(step.path("files"), MatrixForm(**form | {"ignore": tuple(form["ignore"])}))
    for note in found.notes:
        print(f"{step.wildcards['study']}: {note}", file=sys.stderr)
    step.write("responses", grid_table(found.grid), "response_matrix")
    step.write("rejected", found.rejected, "responses_rejected")


if __name__ == "__main__":
    run_step(__spec__.name, run)
