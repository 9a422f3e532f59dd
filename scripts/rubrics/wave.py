"""Read what all models said in one wave."""

import json

from magister.rubrics.waves import read_turns
from scripts.speakers import responses
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the turns of the wave."""
    for path in step.inputs["fingerprints"]:
        step.models[path.stem] = json.loads(path.read_text(encoding="utf-8"))
    turns = read_turns(step.table("asked"), responses(step), step.params["semantics"])
    step.write("turns", turns, "transcripts")


if __name__ == "__main__":
    run_step(__spec__.name, run)
