"""Cluster the items of a study many times, or take the clusters that were frozen."""

import os

from magister.diagnosis.clusters import Clustering, cluster_runs
from magister.diagnosis.qmatrix_tables import frozen_runs, made_from, runs_table
from scripts.diagnosis.item_vectors import item_vectors
from scripts.step import Step, read_table, run_step


def run(step: Step) -> None:
    """Write what every run made of every item."""
    items = step.table("texts")
    settings = {"clustering": step.params["clustering"], "k": step.params["k"]}
    source = made_from(items, step.json("embedder_fingerprint"), settings)
    if step.inputs.get("frozen"):
        path = step.path("frozen")
        step.write("runs", frozen_runs(read_table(path), source, str(path)), "cluster_runs")
        return
    runs = cluster_runs(
        items["item_id"].to_pylist(),
        items["item_type"].to_pylist(),
        item_vectors(step, items),
        step.params["k"],
        Clustering(**step.params["clustering"]),
        workers=len(os.sched_getaffinity(0)),
    )
    step.write("runs", runs_table(runs, source), "cluster_runs")


if __name__ == "__main__":
    run_step(__spec__.name, run)
