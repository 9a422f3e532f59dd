"""Read what a judge said of the dialogues of an iteration, and of the anchors."""

import pyarrow as pa
import pyarrow.compute as pc

from magister.rubrics.readings import parse_scores
from scripts.rubric_iterations import Experts, heard, judging, parted, parts, together
from scripts.speakers import responses
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the scores of dialogues, and those of anchors."""
    step.models[step.wildcards["model"]] = step.json("fingerprint")
    experts, dialogues, options = Experts(step), heard(step), judging(step)
    asked, repairs, settled = (parted(step, name) for name in ("asked", "repairs", "settled"))
    said, mended = responses(step), responses(step, "repaired")
    of_dialogues, of_anchors = [], []
    for scenario, rubric in parts(step):
        name, scored = scenario.name, experts.of(rubric).scored
        found = parse_scores(
            [*dialogues[scenario], *scored],
            asked[name],
            said,
            repairs[name],
            mended,
            rubric,
            options,
            settled[name],
        )
        ids = pa.array([one.dialogue_id for one in scored], pa.string())
        anchored = pc.is_in(found["dialogue_id"], value_set=ids)
        of_dialogues.append(found.filter(pc.invert(anchored)))
        of_anchors.append(found.filter(anchored))
    step.write("scores", together(of_dialogues, "rubric_scores"), "rubric_scores")
    step.write("anchor_scores", together(of_anchors, "rubric_scores"), "rubric_scores")


if __name__ == "__main__":
    run_step(__spec__.name, run)
