"""Gate between a league of an arena and the boards."""

import pyarrow as pa

from magister.arena.random_arm import split_budget
from magister.arena.sheets import shown_text
from magister.contracts.arena_suite import PAIRS, ArenaPlan, ArenaTables, arena_suite
from magister.contracts.arena_tables import ARENA_ASKED, ARENA_SIMILARITIES, ARENA_VERDICTS
from magister.contracts.gate import run_gate
from scripts.gates.verdict import conclude, table_or_none
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Hold all tables of a league to what they promise."""
    league, statistics = step.params["league"], step.params["statistics"]
    plan = ArenaPlan(
        models=league["models"],
        scenarios=league["scenarios"],
        rounds=step.params["rounds"],
        budget=split_budget(league["k"], league["random_share"]),
        lam=league["lam"],
        similarity=league["similarity"],
        shown=shown_text,
        judges=league["judges"],
        exclude_self=league["exclude_self"],
        key=league["key"],
        people=bool(league["people"]),
        resamples=statistics["resamples"],
        seed=statistics["seed"],
        level=statistics["level"],
        ablation_k=step.params["ablation_k"],
    )
    # What a filter refused is counted there too.
    counts = [row for row in step.json("counts") if "eligible" in row]
    tables = ArenaTables(
        instructions=step.table("pool"),
        instructions_rejected=step.table("pool_rejected"),
        responses=step.table("answers"),
        vectors=step.tables("ids"),
        instruction_vectors=step.table("instruction_ids"),
        similarities=table_or_none(step, "similarities", ARENA_SIMILARITIES),
        pairs=pa.Table.from_pylist(counts, schema=PAIRS.schema),
        selections=step.table("selections"),
        sheet=step.table("sheet"),
        sheet_key=step.table("key"),
        sheet_missing=step.table("missing"),
        asked=table_or_none(step, "asked", ARENA_ASKED),
        votes=step.table("votes"),
        votes_rejected=step.table("votes_rejected"),
        verdicts=table_or_none(step, "verdicts", ARENA_VERDICTS),
        ratings=step.table("ratings"),
        lift=step.table("lift"),
        agreement=step.table("agreement"),
        gallery=step.table("gallery"),
        ablation=step.table("ablation"),
    )
    conclude(step, run_gate("arena", *arena_suite(tables, plan)))


if __name__ == "__main__":
    run_step(__spec__.name, run)
