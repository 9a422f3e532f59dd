"""Gate between a teaching league and the boards."""

from magister.contracts.gate import run_gate
from magister.contracts.teaching_suite import LeaguePlan, teaching_suite
from scripts.gates.verdict import conclude
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Hold trajectories and metrics of a league to what they promise."""
    plan = LeaguePlan(
        league=step.wildcards["league"],
        students=step.params["students"],
        teachers=step.params["teachers"],
        arms=step.params["arms"],
        rounds=step.params["rounds"],
        datasets=step.params["datasets"],
    )
    tables, expectations = teaching_suite(
        step.table("items_table"), step.table("trajectories"), step.table("metrics"), plan
    )
    conclude(step, run_gate("teaching", tables, expectations))


if __name__ == "__main__":
    run_step(__spec__.name, run)
