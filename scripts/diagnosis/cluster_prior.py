"""The clusters that runs agree on, and the prior that follows, before any review."""

from magister.diagnosis.clusters import consensus
from magister.diagnosis.coassociation import membership, prior_of
from magister.diagnosis.projection import unit_vectors
from magister.diagnosis.qmatrix_tables import clusters_table, prior_table, read_runs, sorted_items
from scripts.diagnosis.item_vectors import item_vectors
from scripts.step import Step


def write_cluster_prior(step: Step, k: int) -> None:
    """Write clusters and prior of a number of attributes."""
    runs = read_runs(step.table("runs"))
    items = sorted_items(step.table("texts"))
    member = membership(runs, k, consensus(runs, k, step.params["linkage"]))
    unit = unit_vectors(item_vectors(step, items), runs.items)
    step.write("clusters", clusters_table(member, runs.types, unit), "q_clusters")
    step.write("prior", prior_table(prior_of(member, **step.params["prior"])), "q_prior")
