"""Whether selection helped, how far annotators agree, and each model's worst losses."""

import pyarrow as pa
import pyarrow.compute as pc

from magister.arena.agreement import agreement_table
from magister.arena.gallery import gallery, preference_lines, preference_pairs
from magister.arena.lift import Resampling, selection_lift
from magister.arena.raters import rate_counts, rate_points
from magister.contracts.arena_tables import SELECTION_LIFT
from scripts.step import Step, run_step


def _lift(step: Step, votes: pa.Table) -> pa.Table:
    """Overall and by scenario; nothing where one arm has no vote."""
    plan = Resampling(**step.params["statistics"])
    scopes = {"overall": votes} | {
        name: votes.filter(pc.equal(votes["scenario"], name)) for name in sorted(step.params["scenarios"])
    }
    tables = [
        selection_lift(some, rater=rate_points, resampling=plan, scope=scope)
        for scope, some in scopes.items()
        if len(set(some["arm"].to_pylist())) > 1
    ]
    return pa.concat_tables(tables) if tables else SELECTION_LIFT.schema.empty_table()


def run(step: Step) -> None:
    """Write the three tables, and the pairs of preferred and rejected responses."""
    votes, sheet, key = (step.table(name) for name in ("votes", "sheet", "key"))
    statistics = step.params["statistics"]
    step.write("lift", _lift(step, votes), "selection_lift")
    step.write("agreement", agreement_table(votes, key, rate=rate_counts, **statistics), "arena_agreement")
    step.write("gallery", gallery(votes, sheet, key), "gallery")
    step.write_text("pairs", "".join(preference_lines(preference_pairs(votes, sheet, key))))


if __name__ == "__main__":
    run_step(__spec__.name, run)
