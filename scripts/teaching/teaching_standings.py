"""Rank the teachers of a league, with intervals, and compare all pairs."""

from magister.teaching.standings import standings
from scripts.step import Step, run_step
from scripts.teaching.teaching_metrics import own_answers


def run(step: Step) -> None:
    """Write the standings and the comparisons."""
    statistics = step.params["statistics"]
    ranked, compared = standings(
        step.table("trajectories"),
        own_answers(step),
        policy=step.params["policy"],
        resamples=statistics["resamples"],
        level=statistics["level"],
        seed=statistics["seed"],
    )
    step.write("standings", ranked, "standings")
    step.write("comparisons", compared, "comparisons")


if __name__ == "__main__":
    run_step(__spec__.name, run)
