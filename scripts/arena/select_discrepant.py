"""Choose the instructions on which the models of an arena differ most, and some at random."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from magister.arena.comparisons import Choice, choose_comparisons
from magister.arena.prefilter import PreFilter, filter_similarities
from magister.arena.similarity import Similarities, all_pairs, cosine_similarities
from magister.arena.similarity_judge import unscored
from magister.arena.similarity_tables import tabled_similarities
from magister.arena.tokens import token_similarities
from magister.arena.vectors import Vectors
from scripts.compared import instruction_vectors, instructions_of, response_vectors, texts_of
from scripts.step import Step, run_step


def _similarities(
    step: Step, scenario: str, ids: pa.StringArray, models: list[Vectors]
) -> Iterator[Similarities]:
    pairs = all_pairs(step.params["models"])
    if step.params["similarity"] == "token":
        return iter([token_similarities(texts_of(step, ids), pairs)])
    if step.params["similarity"] == "judge":
        scored = _scored(step, scenario)
        return iter([tabled_similarities(scored, ids, low=0.0)[1]])
    return cosine_similarities(models, ids, pairs)


def _scored(step: Step, scenario: str) -> pa.Table:
    """A judge's scores of a scenario."""
    scored = step.table("similarities")
    return scored.filter(pc.equal(scored["scenario"], scenario))


def run(step: Step) -> None:
    """Write the comparisons, and what they were chosen from."""
    pool = step.table("pool")
    models, instructions = response_vectors(step), instruction_vectors(step)
    choice = Choice(
        k=step.params["k"],
        lam=step.params["lam"],
        penalty=step.params["penalty"],
        random_share=step.params["random_share"],
        seed=step.params["seed"],
    )
    tables: list[pa.Table] = []
    counts: list[dict[str, object]] = []
    for scenario in step.params["scenarios"]:
        ids = instructions_of(step, pool, scenario)["instruction_id"].combine_chunks()
        parts = _similarities(step, scenario, ids, models)
        if step.params["similarity"] == "judge":
            counts += unscored(_scored(step, scenario))
        if step.params["prefilter"]:
            texts = texts_of(step, ids)
            filtered: list[Similarities] = []
            for part, refused in filter_similarities(parts, texts, PreFilter()):
                filtered.append(part)
                for (model_a, model_b), why in zip(part.pairs, refused, strict=True):
                    counts.append(
                        {"scenario": scenario, "model_a": model_a, "model_b": model_b, "prefilter": why}
                    )
            parts = iter(filtered)
        chosen = choose_comparisons(scenario, ids, parts, instructions, choice)
        tables.append(chosen.table)
        counts += chosen.counts.to_pylist()
    step.write("selections", pa.concat_tables(tables), "selections")
    step.write_json("counts", counts)


if __name__ == "__main__":
    run_step(__spec__.name, run)
