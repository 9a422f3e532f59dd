"""Read a teacher's verdicts and guidance, and look for leaks."""

from magister.teaching.guides import parse_guides
from scripts.choices import league_items
from scripts.speakers import responses, speaker
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the guides of one teacher in one round."""
    speaker(step, step.wildcards["model"])
    step.write("guides", parse_guides(league_items(step), step.table("asked"), responses(step)), "guides")


if __name__ == "__main__":
    run_step(__spec__.name, run)
