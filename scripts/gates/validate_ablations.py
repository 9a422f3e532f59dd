"""Gate behind the ablations of a league."""

from magister.contracts.ablations_suite import AblationPlan, LeagueAblations, ablations_suite
from magister.contracts.gate import run_gate
from scripts.gates.verdict import conclude
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Hold the tables of ablations to the metrics of the league and to one another."""
    plan = AblationPlan(
        league=step.wildcards["league"],
        teachers=step.params["teachers"],
        students=step.params["students"],
        rounds=step.params["rounds"],
        variants=[(variant["ablation"], variant["setting"]) for variant in step.params["variants"]],
    )
    tables = LeagueAblations(
        ablations=step.table("ablations"),
        agreement=step.table("agreement"),
        contamination=step.table("contamination"),
        metrics=step.table("metrics"),
    )
    conclude(step, run_gate("ablations", *ablations_suite(tables, plan)))


if __name__ == "__main__":
    run_step(__spec__.name, run)
