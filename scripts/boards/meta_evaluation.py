"""Hold the leagues to external boards: correlations with intervals, and what became of every name."""

import pyarrow as pa
import pyarrow.compute as pc

from magister.stats import MIN_MODELS, ModelBootstrap
from magister.teaching.external import match_names, read_boards
from magister.teaching.meta_evaluation import LeagueScores, league_scores, meta_evaluation
from magister.teaching.meta_page import render_meta
from magister.teaching.trajectories import zero_shot_table
from scripts.step import Step, run_step


def scores(step: Step) -> list[LeagueScores]:
    """The scores of every league; resamples only where there are models enough for a correlation."""
    items, bands = step.table("items_table"), step.table("bands")
    statistics = step.params["statistics"]
    # The files stand in the order of the leagues, and in each of its teachers.
    trajectories, answers = iter(step.tables("trajectories")), iter(step.tables("zero_shot"))
    found = []
    for league in step.params["leagues"]:
        own = pa.concat_tables([next(answers) for _ in league["teachers"]])
        mine = items.filter(pc.is_in(items["dataset"], pa.array(league["datasets"])))
        found.append(
            league_scores(
                next(trajectories),
                zero_shot_table(league["name"], mine, bands, own),
                step.params["policy"],
                statistics["resamples"] if len(league["teachers"]) >= MIN_MODELS else 0,
                statistics["seed"],
            )
        )
    return found


def run(step: Step) -> None:
    """Write the correlations as parquet, csv and Markdown, and the names as parquet and csv."""
    teachers = {league["name"]: league["teachers"] for league in step.params["leagues"]}
    boards = read_boards([(path.as_posix(), path.read_bytes()) for path in step.inputs.get("boards", [])])
    names = match_names(teachers, boards, step.params["names"])
    statistics = step.params["statistics"]
    plan = ModelBootstrap(statistics["resamples"], statistics["seed"], statistics["level"])
    meta = meta_evaluation(scores(step), names, plan)
    step.write("parquet", meta, "meta_evaluation")
    step.write_csv("csv", meta)
    step.write_text("md", render_meta(meta, names))
    step.write("names_parquet", names, "meta_names")
    step.write_csv("names_csv", names)


if __name__ == "__main__":
    run_step(__spec__.name, run)
