"""Clusters and prior of one of the numbers of attributes that are tried."""

from scripts.diagnosis.cluster_prior import write_cluster_prior
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write both."""
    write_cluster_prior(step, int(step.wildcards["k"]))


if __name__ == "__main__":
    run_step(__spec__.name, run)
