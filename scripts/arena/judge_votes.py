"""Read a judge's votes."""

import pyarrow as pa

from magister.arena.judge import parse_judge
from scripts.speakers import responses
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the votes and the comparisons without one."""
    step.models[step.wildcards["model"]] = step.json("fingerprint")
    judged = parse_judge(step.table("asked"), responses(step), step.table("key"))
    step.write("votes", judged.votes, "votes")
    step.write("rejected", pa.concat_tables([step.table("excluded"), judged.rejected]), "votes_rejected")


if __name__ == "__main__":
    run_step(__spec__.name, run)
