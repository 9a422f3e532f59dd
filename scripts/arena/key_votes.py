"""Compare the responses by the answer key."""

from magister.arena.keys import key_votes
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the votes, the comparisons without one, and each response held against its gold."""
    keyed = key_votes(
        step.table("key"), step.table("pool"), step.table("answers"), policy=step.params["policy"]
    )
    step.write("votes", keyed.votes, "votes")
    step.write("rejected", keyed.rejected, "votes_rejected")
    step.write("verdicts", keyed.verdicts, "arena_verdicts")


if __name__ == "__main__":
    run_step(__spec__.name, run)
