"""A Q-matrix that somebody gave, as prior."""

from magister.diagnosis.prior import point_prior
from magister.diagnosis.q_files import read_q
from magister.diagnosis.qmatrix_tables import given_attributes, prior_table
from magister.diagnosis.responses import table_grid
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write prior and attributes."""
    given, items = step.params["prior"], table_grid(step.table("responses")).items
    q = read_q(step.path("q"), items)
    prior = q if given["fixed"] else point_prior(q, kept=given["p_star"], added=given["r0"])
    step.write("prior", prior_table(prior), "q_prior")
    step.write("attributes", given_attributes(q, [None] * len(items)), "q_attributes")


if __name__ == "__main__":
    run_step(__spec__.name, run)
