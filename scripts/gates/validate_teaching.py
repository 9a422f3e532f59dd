"""Gate between a teaching league and the boards."""

from magister.answers import CHOICE_RULES, VERDICT_RULES
from magister.contracts.gate import run_gate
from magister.contracts.schemas import ANSWERS
from magister.contracts.teaching_suite import LeaguePlan, LeagueTables, ReadingRules, teaching_suite
from scripts.gates.verdict import conclude, table_or_none
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Hold all tables of a league to what they promise."""
    plan = LeaguePlan(
        league=step.wildcards["league"],
        students=step.params["students"],
        teachers=step.params["teachers"],
        arms=step.params["arms"],
        rounds=step.params["rounds"],
        datasets=step.params["datasets"],
        blindness=step.params["blind"],
    )
    tables = LeagueTables(
        items=step.table("items_table"),
        bands=step.table("bands"),
        blind_answers=step.table("blind_answers"),
        zero_shot=table_or_none(step, "zero_shot", ANSWERS),
        guides_asked=step.table("guides_asked"),
        guides=step.table("guides"),
        revisions_asked=step.table("revisions_asked"),
        revisions=step.table("revisions"),
        trajectories=step.table("trajectories"),
        metrics=step.table("metrics"),
        standings=step.table("standings"),
        comparisons=step.table("comparisons"),
        built=step.table("built") if step.inputs.get("built") else None,
    )
    rules = ReadingRules(
        choice=[rule.id for rule in CHOICE_RULES], verdict=[rule.id for rule in VERDICT_RULES]
    )
    conclude(step, run_gate("teaching", *teaching_suite(tables, plan, rules)))


if __name__ == "__main__":
    run_step(__spec__.name, run)
