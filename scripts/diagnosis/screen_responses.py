"""Flag models and items of a study that tell nothing, or tell the same twice."""

import sys

from magister.diagnosis.responses import table_grid
from magister.diagnosis.screening import ScreeningOptions, describe, screen
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write a row for every model and item."""
    options = step.params["screening"]
    found = screen(
        table_grid(step.table("responses")), ScreeningOptions(**options | {"drop": tuple(options["drop"])})
    )
    for line in describe(found):
        print(f"{step.wildcards['study']}: {line}", file=sys.stderr)
    step.write("screening", found, "screening")


if __name__ == "__main__":
    run_step(__spec__.name, run)
