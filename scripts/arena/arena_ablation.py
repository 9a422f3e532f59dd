"""Ask how well few comparisons rank the models of an arena, by each way of selecting them."""

import pyarrow as pa

from magister.arena.ablation import Ablation, ablation_table, keyed_responses, pick_prefixes
from magister.arena.prefilter import PreFilter
from scripts.compared import instruction_vectors, instructions_of, response_vectors, texts_of
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write a table over the scenarios."""
    pool, responses = step.table("pool"), step.table("answers")
    models, instructions = response_vectors(step), instruction_vectors(step)
    plan = Ablation(
        k=step.params["ablation_k"],
        lams=tuple(sorted({0.0, step.params["lam"]})),
        penalty=step.params["penalty"],
        seed=step.params["seed"],
        resamples=step.params["statistics"]["resamples"],
        level=step.params["statistics"]["level"],
    )
    tables = []
    for scenario in step.params["scenarios"]:
        keyed = keyed_responses(
            scenario,
            instructions_of(step, pool, scenario),
            responses,
            step.params["models"],
            step.params["policy"],
        )
        picked = pick_prefixes(
            keyed,
            texts_of(step, keyed.ids),
            models,
            instructions,
            plan,
            prefilter=PreFilter() if step.params["prefilter"] else None,
        )
        tables.append(ablation_table(keyed, picked, plan))
    step.write("ablation", pa.concat_tables(tables), "arena_ablation")


if __name__ == "__main__":
    run_step(__spec__.name, run)
