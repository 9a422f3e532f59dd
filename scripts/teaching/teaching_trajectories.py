"""Join blind answers, guides and revisions of a league into one long table."""

from magister.teaching.trajectories import teaching_trajectories
from scripts.choices import league_items
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the trajectories."""
    table = teaching_trajectories(
        step.wildcards["league"],
        league_items(step),
        step.table("bands"),
        step.table("blind"),
        step.table("guides"),
        step.table("revisions"),
    )
    step.write("trajectories", table, "trajectories")


if __name__ == "__main__":
    run_step(__spec__.name, run)
