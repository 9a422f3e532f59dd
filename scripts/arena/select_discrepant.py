"""Choose the instructions on which the models of an arena differ most, and some at random."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from magister.arena.comparisons import Choice, choose_comparisons
from magister.arena.prefilter import PreFilter, filter_similarities
from magister.arena.responses import response_texts
from magister.arena.similarity import Similarities, all_pairs, cosine_similarities
from magister.arena.tokens import token_similarities
from magister.arena.vectors import Vectors
from magister.embeddings import open_vectors
from magister.errors import UserError
from scripts.step import Step, run_step


def _vectors(step: Step, name: str, kind: str, place: int) -> Vectors:
    """A file of vectors with its ids."""
    table = step.tables(f"{kind}ids")[place]
    found = open_vectors(step.inputs[f"{kind}vectors"][place], table)
    return Vectors(name, found.array, pa.array(found.ids, pa.string()))


def _texts(step: Step, ids: pa.StringArray) -> dict[str, pa.StringArray]:
    """Responses of every model to some instructions, null where there is none."""
    texts = {}
    for name, table in zip(step.params["models"], step.tables("answers"), strict=True):
        said = response_texts(table)
        texts[name] = pa.array([said.get(key) for key in ids.to_pylist()], pa.string())
    return texts


def _similarities(step: Step, ids: pa.StringArray, models: list[Vectors]) -> Iterator[Similarities]:
    pairs = all_pairs(step.params["models"])
    if step.params["similarity"] == "token":
        parts: Iterator[Similarities] = iter([token_similarities(_texts(step, ids), pairs)])
    else:
        parts = cosine_similarities(models, ids, pairs)
    return parts


def run(step: Step) -> None:
    """Write the comparisons, and what they were chosen from."""
    pool = step.table("pool")
    names = step.params["models"]
    models = [_vectors(step, name, "", place) for place, name in enumerate(names)]
    instructions = _vectors(step, "instructions", "instruction_", 0)
    choice = Choice(
        k=step.params["k"],
        lam=step.params["lam"],
        penalty=step.params["penalty"],
        random_share=step.params["random_share"],
        seed=step.params["seed"],
    )
    tables, counts = [], []
    for scenario in step.params["scenarios"]:
        ids = pool.filter(pc.equal(pool["scenario"], scenario))["instruction_id"].combine_chunks()
        if not len(ids):
            known = ", ".join(sorted(set(pool["scenario"].to_pylist()))) or "none"
            raise UserError(
                f"params.yaml: arena.leagues.{step.wildcards['arena']}.scenarios: no instruction has the scenario "
                f"{scenario!r}; there are: {known}"
            )
        parts = _similarities(step, ids, models)
        if step.params["prefilter"]:
            texts = _texts(step, ids)
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
