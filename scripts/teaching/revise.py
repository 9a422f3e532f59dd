"""Read a student's revised answers."""

from magister.teaching.revisions import parse_revisions
from scripts.choices import league_items
from scripts.speakers import responses, speaker
from scripts.step import Step, run_step
from scripts.teaching.revise_requests import before, round_guides


def run(step: Step) -> None:
    """Write the revisions of one student in one round."""
    speaker(step, step.wildcards["model"])
    guides = round_guides(step)
    revisions = parse_revisions(
        league_items(step), guides, step.table("asked"), before(step, guides), responses(step)
    )
    step.write("revisions", revisions, "revisions")


if __name__ == "__main__":
    run_step(__spec__.name, run)
