"""How good each model is on each dimension, by the best rubric of a scenario."""

from magister.rubrics.board import beside
from magister.rubrics.panel import dialogue_scores, metric_scores
from magister.rubrics.profiles import board_rows
from magister.rubrics.rubric import read_rubric
from scripts.resampling import plan
from scripts.rubric_iterations import document, documents, judging, of_iteration
from scripts.step import Step, read_table, run_step


def run(step: Step) -> None:
    """Write scores by metric and by dialogue, the scenario's part of the board and what stands beside it."""
    path = step.path("best")
    chosen = document(path)
    best = int(chosen.pop("iteration"))
    rubric, options, drawn = read_rubric(chosen, path.as_posix()), judging(step), plan(step)
    metrics = metric_scores(of_iteration(step, "scores", best))
    rows = board_rows(metrics, rubric, best, options.missing, drawn, tuple(step.params["candidates"]))
    step.write("metrics", metrics, "rubric_metric_scores")
    step.write("totals", dialogue_scores(metrics, rubric, options.missing), "rubric_dialogue_scores")
    step.write("board", rows, "rubrics_board")
    step.write_json(
        "beside", beside(read_table(step.inputs["agreements"][best]), documents(step, "decisions"))
    )


if __name__ == "__main__":
    run_step(__spec__.name, run)
