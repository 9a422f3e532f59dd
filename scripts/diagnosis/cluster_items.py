"""Cluster the items of a study many times, or take the clusters that were frozen or recorded."""

import os

import pyarrow as pa

from magister.diagnosis.clusters import Clustering, cluster_runs
from magister.diagnosis.k_curve import runs_agreement
from magister.diagnosis.qmatrix_tables import frozen_runs, made_from, read_runs, runs_table
from magister.offline import is_recomputed, is_replay
from magister.recorded import recorded_file
from scripts.diagnosis.item_vectors import item_vectors
from scripts.recomputed import note
from scripts.step import Step, read_table, run_step

LEAST = 0.8
"""How well clusterings of another processor must agree with the recorded ones, as adjusted Rand index."""


def _clustered(step: Step, items: pa.Table, source: str) -> pa.Table:
    runs = cluster_runs(
        items["item_id"].to_pylist(),
        items["item_type"].to_pylist(),
        item_vectors(step, items),
        step.params["k"],
        Clustering(**step.params["clustering"]),
        workers=len(os.sched_getaffinity(0)),
    )
    return runs_table(runs, source)


def run(step: Step) -> None:
    """Write what every run made of every item."""
    items = step.table("texts")
    settings = {"clustering": step.params["clustering"], "k": step.params["k"]}
    source = made_from(items, step.json("embedder_fingerprint"), settings)
    if step.inputs.get("frozen"):
        path = step.path("frozen")
        step.write("runs", frozen_runs(read_table(path), source, str(path)), "cluster_runs")
        return
    if not is_replay():
        step.write("runs", _clustered(step, items, source), "cluster_runs")
        return
    path = recorded_file(step.outputs["runs"])
    recorded = frozen_runs(read_table(path), source, str(path))
    if is_recomputed():
        agreement = runs_agreement(read_runs(recorded), read_runs(_clustered(step, items, source)))
        note(step, "clusters: mean adjusted Rand index of the runs", agreement, LEAST)
    step.write("runs", recorded, "cluster_runs")


if __name__ == "__main__":
    run_step(__spec__.name, run)
