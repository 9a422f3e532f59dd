"""What speaks for each number of attributes, and which one is taken."""

from magister.diagnosis.k_curve import choose_k, held_out_estimate, k_curve, measure
from magister.diagnosis.projection import unit_vectors
from magister.diagnosis.qmatrix_tables import read_partition, read_runs, sorted_items
from scripts.diagnosis.item_vectors import item_vectors
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the curve. Clusters, and predictions where fits were made, come as a table for each k, in one order."""
    runs = read_runs(step.table("runs"))
    items = sorted_items(step.table("texts"))
    unit = unit_vectors(item_vectors(step, items), runs.items)
    held_out = [held_out_estimate(table) for table in step.tables("predictions")]
    partitions = [read_partition(table) for table in step.tables("clusters")]
    measured = [
        measure(runs, partition, unit, held_out[at] if held_out else None, step.params["level"])
        for at, partition in enumerate(partitions)
    ]
    choice = choose_k(measured, **step.params["choice"])
    step.write("curve", k_curve(measured, choice), "k_curve")


if __name__ == "__main__":
    run_step(__spec__.name, run)
