"""How good each model is on each dimension, by the best rubric of each scenario."""

from magister.rubrics.board import beside
from magister.rubrics.panel import dialogue_scores, metric_scores
from magister.rubrics.parts import ByScenario
from magister.rubrics.profiles import board_rows
from magister.rubrics.rubric import read_rubric
from scripts.resampling import plan
from scripts.rubric_iterations import documents, judging, of_iteration, together
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write scores by metric and by dialogue, the standings and what stands beside them."""
    decisions, options, drawn = documents(step, "decisions"), judging(step), plan(step)
    agreements = [ByScenario(table) for table in step.tables("agreements")]
    scores = [ByScenario(of_iteration(step, "scores", at)) for at in range(len(decisions))]
    models = tuple(step.params["candidates"])
    metrics, totals, standings, documents_beside = [], [], [], {}
    for name, found in step.json("best").items():
        best = int(found.pop("iteration"))
        rubric = read_rubric(found, f"{step.path('best')}: {name}")
        metrics.append(metric_scores(scores[best][name]))
        totals.append(dialogue_scores(metrics[-1], rubric, options.missing))
        standings.append(board_rows(metrics[-1], rubric, best, options.missing, drawn, models))
        documents_beside[name] = beside(
            agreements[best][name], [one[name] for one in decisions], scores[best][name]
        )
    step.write("metrics", together(metrics, "rubric_metric_scores"), "rubric_metric_scores")
    step.write("totals", together(totals, "rubric_dialogue_scores"), "rubric_dialogue_scores")
    step.write("standings", together(standings, "rubric_standings"), "rubric_standings")
    step.write_json("beside", documents_beside)


if __name__ == "__main__":
    run_step(__spec__.name, run)
