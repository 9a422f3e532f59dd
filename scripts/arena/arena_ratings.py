"""Rate the models of an arena: by all votes, and by those of each kind of annotator."""

import pyarrow as pa
import pyarrow.compute as pc

from magister.arena.elo import EloScale
from magister.arena.ratings import Settings, rate_votes, unrated
from magister.arena.votes import code_votes
from magister.contracts.arena_tables import ANNOTATOR_KINDS
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the ratings, and what must be said beside them."""
    votes = step.table("votes")
    given, elo = step.params["statistics"], step.params["elo"]
    settings = Settings(
        seed=given["seed"],
        resamples=given["resamples"],
        level=given["level"],
        elo=EloScale(k=elo["k"]),
    )
    present = set(votes["annotator_kind"].to_pylist())
    kinds = [kind for kind in ANNOTATOR_KINDS if kind in present]
    chosen = {"all": votes}
    if len(kinds) > 1:
        chosen |= {kind: votes.filter(pc.equal(votes["annotator_kind"], kind)) for kind in kinds}
    tables, notes = [], {}
    for annotators, some in chosen.items():
        models = step.params["models"]
        if some.num_rows:
            found = rate_votes(code_votes(some, models=models), settings, annotators=annotators)
        else:
            found = unrated(models, settings, annotators)
        tables.append(found.table)
        notes[annotators] = list(found.notes)
    step.write("ratings", pa.concat_tables(tables), "ratings")
    step.write_json("notes", notes)


if __name__ == "__main__":
    run_step(__spec__.name, run)
