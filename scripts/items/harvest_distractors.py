"""Collect the wrong answers of weak models as candidate distractors."""

import pyarrow as pa

from magister.contracts.schemas import FREE_ANSWERS
from magister.items import harvest_distractors
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the candidates by rank, and how many answers were no candidate and why."""
    files = step.inputs.get("answers")
    answers = step.table("answers") if files else pa.Table.from_pylist([], schema=FREE_ANSWERS.schema)
    harvest = harvest_distractors(step.table("pool"), answers, seed=step.params["seed"])
    step.write("distractors", harvest.table, "distractors")
    step.write_json("report", {"dropped": harvest.dropped, "merged": harvest.merged})


if __name__ == "__main__":
    run_step(__spec__.name, run)
