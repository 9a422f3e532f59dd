"""Put all votes of an arena together."""

from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the votes of all annotators and the comparisons without one."""
    step.write("votes", step.table("given"), "votes")
    step.write("rejected", step.table("refused"), "votes_rejected")


if __name__ == "__main__":
    run_step(__spec__.name, run)
