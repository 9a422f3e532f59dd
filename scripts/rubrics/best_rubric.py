"""Each scenario's best rubric, and how it came about."""

from magister.rubrics.decision import lineage, select_best
from magister.rubrics.drift import anchor_drift
from magister.rubrics.export import diff_text, rubric_diff
from magister.rubrics.iterations import is_frozen
from magister.rubrics.parts import ByScenario
from magister.rubrics.rubric import read_rubric, rubric_document
from scripts.resampling import plan
from scripts.rubric_iterations import Experts, documents, of_iteration, together
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the best versions, their lines as data and as text, and how judges moved against experts."""
    decisions, rubrics = documents(step, "decisions"), documents(step, "rubrics")
    flags = [ByScenario(table) for table in step.tables("flags")]
    anchors = [ByScenario(of_iteration(step, "anchor_scores", at)) for at in range(len(rubrics))]
    experts, drawn = Experts(step), plan(step)
    best, lines, texts, drifts = {}, {}, [], []
    for name in sorted(rubrics[0]):
        chosen = select_best([one[name] for one in decisions])
        made = {
            number: read_rubric(one[name], f"{step.inputs['rubrics'][number]}: {name}")
            for number, one in enumerate(rubrics)
            if not is_frozen(one[name])
        }
        line = [rubric_diff(made[old], made[new], flags[old][name]) for old, new in lineage(made, chosen)]
        best[name] = rubric_document(made[chosen]) | {"iteration": chosen}
        lines[name] = line
        said = "\n".join(map(diff_text, line)) or "The first version is the best.\n"
        texts.append(f"# {name}\n\n{said}")
        human = experts.of(made[chosen]).human
        drifts.append(anchor_drift({at: anchors[at][name] for at in made}, human, made, drawn))
    step.write_json("best", best)
    step.write_json("lineages", lines)
    step.write_text("text", "\n".join(texts))
    step.write("drift", together(drifts, "rubric_anchor_drift"), "rubric_anchor_drift")


if __name__ == "__main__":
    run_step(__spec__.name, run)
