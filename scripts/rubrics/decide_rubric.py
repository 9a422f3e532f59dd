"""Choose each scenario's best version so far, and whether its loop goes on."""

import pyarrow.compute as pc

from magister.config.rubrics_judging import Objective
from magister.rubrics.decision import decide
from magister.rubrics.diagnosis import Known
from magister.rubrics.iterations import frozen, is_frozen
from magister.rubrics.objective import objective
from magister.rubrics.parts import ByScenario
from scripts.resampling import plan
from scripts.rubric_iterations import Experts, documents, parted, parts
from scripts.step import Step, run_step


def _calls(spoken: list[ByScenario], scenario: str) -> int:
    """Requests that were made for a scenario in all iterations so far, each once."""
    asked: set[str] = set()
    for tables in spoken:
        own = tables[scenario]
        for name in {"request_id", "repair_id"} & set(own.column_names):
            asked |= set(pc.drop_null(own[name]).to_pylist())
    return len(asked)


def run(step: Step) -> None:
    """Write the decisions, stubs for loops that have stopped."""
    before, experts, drawn = documents(step, "decisions"), Experts(step), plan(step)
    options = Objective.model_validate(step.params["objective"])
    scores, anchors, flags = (parted(step, name) for name in ("scores", "anchor_scores", "flags"))
    spoken = [ByScenario(table) for table in step.tables("spoken")]
    decisions = {
        name: frozen(before[-1][name]) for name, found in step.json("rubrics").items() if is_frozen(found)
    }
    for scenario, rubric in parts(step):
        name = scenario.name
        known = Known(human=experts.of(rubric).human, anchors=anchors[name])
        decisions[name] = decide(
            int(step.wildcards["iteration"]),
            step.params["iterations"],
            rubric,
            objective(scores[name], rubric, known, options, drawn),
            flags[name],
            [one[name] for one in before if not is_frozen(one[name])],
            options,
            calls=_calls(spoken, name) if options.max_calls is not None else None,
        )
    step.write_json("decisions", decisions)


if __name__ == "__main__":
    run_step(__spec__.name, run)
