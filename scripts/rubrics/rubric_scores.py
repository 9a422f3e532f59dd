"""Read what a judge said of the dialogues of an iteration, and of the anchors."""

import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts.rubrics_score_tables import RUBRIC_SCORES
from magister.rubrics.readings import parse_scores
from scripts.rubric_iterations import anchored, heard, judging, played, version
from scripts.speakers import responses
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the scores of dialogues, and those of anchors."""
    step.models[step.wildcards["model"]] = step.json("fingerprint")
    rubric = version(step)
    scores, ids = RUBRIC_SCORES.schema.empty_table(), pa.array([], pa.string())
    if rubric is not None:
        _, scored, _ = anchored(step, rubric)
        ids = pa.array([one.dialogue_id for one in scored], pa.string())
        scores = parse_scores(
            [*heard(step, played(step)), *scored],
            step.table("asked"),
            responses(step),
            step.table("repairs"),
            responses(step, "repaired"),
            rubric,
            judging(step),
            step.table("settled"),
        )
    of_anchors = pc.is_in(scores["dialogue_id"], value_set=ids)
    step.write("scores", scores.filter(pc.invert(of_anchors)), "rubric_scores")
    step.write("anchor_scores", scores.filter(of_anchors), "rubric_scores")


if __name__ == "__main__":
    run_step(__spec__.name, run)
