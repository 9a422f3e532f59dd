"""Rate the teachers of a league: all metrics, overall and by slice, with intervals."""

from magister.teaching.metrics import teaching_metrics
from magister.teaching.trajectories import zero_shot_table
from scripts.choices import league_items
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the metrics."""
    statistics = step.params["statistics"]
    zero_shot = zero_shot_table(
        step.wildcards["league"], league_items(step), step.table("bands"), step.table("zero_shot")
    )
    metrics = teaching_metrics(
        step.table("trajectories"),
        zero_shot,
        policy=step.params["policy"],
        resamples=statistics["resamples"],
        level=statistics["level"],
        seed=statistics["seed"],
    )
    step.write("metrics", metrics, "metrics")


if __name__ == "__main__":
    run_step(__spec__.name, run)
