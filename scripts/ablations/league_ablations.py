"""Ablate a league: parts of it, and the leagues that were run again under another condition."""

from collections.abc import Iterator

import pyarrow as pa

from magister.errors import UserError
from magister.teaching.ablations import Variant, ablate
from magister.teaching.trajectories import zero_shot_table
from scripts.choices import league_items
from scripts.step import Step, read_table, run_step


def own_answers(step: Step, league: str, answers: pa.Table) -> pa.Table:
    """The teachers' own answers in a league; its items are those of the step, whatever their form."""
    return zero_shot_table(league, league_items(step), step.table("bands"), answers)


def variants(step: Step) -> Iterator[Variant]:
    """The leagues run again, read one at a time; each has as many files of own answers as the league."""
    paths, answers = step.inputs["variants"], step.inputs["variants_zero_shot"]
    named, each = step.params["variants"], len(step.inputs["zero_shot"])
    if len(paths) != len(named) or len(answers) != each * len(named):
        raise UserError(
            f"{len(named)} variants want as many trajectories and {each} files of own answers each; given are "
            f"{len(paths)} and {len(answers)}"
        )

    def read(number: int) -> Variant:
        variant, files = named[number], answers[each * number : each * (number + 1)]
        own = own_answers(step, variant["league"], pa.concat_tables([read_table(file) for file in files]))
        return Variant(variant["ablation"], variant["setting"], read_table(paths[number]), own)

    return map(read, range(len(named)))


def run(step: Step) -> None:
    """Write the tables of ablations."""
    statistics = step.params["statistics"]
    found = ablate(
        step.table("trajectories"),
        own_answers(step, step.wildcards["league"], step.table("zero_shot")),
        variants(step),
        policy=step.params["policy"],
        resamples=statistics["resamples"],
        level=statistics["level"],
        seed=statistics["seed"],
    )
    step.write("ablations", found.ablations, "ablations")
    step.write("agreement", found.agreement, "ablation_agreement")
    step.write("contamination", found.contamination, "contamination")


if __name__ == "__main__":
    run_step(__spec__.name, run)
