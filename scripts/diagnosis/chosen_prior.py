"""Clusters and prior of the number of attributes that was chosen."""

from magister.diagnosis.k_curve import chosen_k
from scripts.diagnosis.cluster_prior import write_cluster_prior
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write both."""
    write_cluster_prior(step, chosen_k(step.table("curve")))


if __name__ == "__main__":
    run_step(__spec__.name, run)
