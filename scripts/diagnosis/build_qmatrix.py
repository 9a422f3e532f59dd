"""The Q-matrix of a study: clusters, labels and what reviewers decided."""

from magister.diagnosis.coassociation import prior_of
from magister.diagnosis.projection import unit_vectors
from magister.diagnosis.qmatrix_tables import (
    attribute_terms,
    attributes_table,
    clusters_table,
    prior_table,
    read_partition,
    read_runs,
    sorted_items,
)
from magister.diagnosis.review import Review, apply_review, read_review, review_csv, review_sheet
from magister.items import read_rows
from scripts.diagnosis.item_vectors import item_vectors
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write clusters, prior and attributes after the review, and the sheet for reviewers."""
    runs, clusters = read_runs(step.table("runs")), step.table("clusters")
    items, labels = sorted_items(step.table("texts")), step.table("labels")
    shown = {name: step.params["review"][name] for name in ("central", "boundary")}
    sheet = review_sheet(clusters, items, labels, **shown)
    decisions = {}
    if step.inputs.get("review"):
        path = step.path("review")
        rows, broken = read_rows(path)
        read = Review(str(path), rows, [(row.number, row.detail, row.raw) for row in broken])
        decisions = read_review(read, sheet, clusters)
        sheet = review_sheet(clusters, items, labels, decisions, **shown)
    partition = read_partition(clusters)
    unit = unit_vectors(item_vectors(step, items), runs.items)
    member = apply_review(runs, len(partition.attributes), partition, decisions, unit)
    terms = attribute_terms(member.partition, items, step.params["terms"])
    step.write("clusters", clusters_table(member, runs.types, unit), "q_clusters")
    step.write("prior", prior_table(prior_of(member, **step.params["prior"])), "q_prior")
    step.write("attributes", attributes_table(member, runs.types, labels, terms, decisions), "q_attributes")
    step.write_text("review", review_csv(sheet))


if __name__ == "__main__":
    run_step(__spec__.name, run)
