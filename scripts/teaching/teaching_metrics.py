"""Rate the teachers of a league: all metrics, overall and by slice, with intervals."""

import pyarrow as pa

from magister.teaching.metrics import teaching_metrics
from magister.teaching.trajectories import zero_shot_table
from scripts.choices import league_items
from scripts.step import Step, run_step


def own_answers(step: Step) -> pa.Table:
    """The teachers' own answers with what the metrics slice by."""
    items, bands = league_items(step), step.table("bands")
    return zero_shot_table(step.wildcards["league"], items, bands, step.table("zero_shot"))


def run(step: Step) -> None:
    """Write the metrics."""
    statistics = step.params["statistics"]
    metrics = teaching_metrics(
        step.table("trajectories"),
        own_answers(step),
        policy=step.params["policy"],
        resamples=statistics["resamples"],
        level=statistics["level"],
        seed=statistics["seed"],
    )
    step.write("metrics", metrics, "metrics")


if __name__ == "__main__":
    run_step(__spec__.name, run)
