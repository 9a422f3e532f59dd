"""Ask a model to name the attributes."""

from magister.diagnosis.labels import label_requests
from magister.diagnosis.qmatrix_tables import attribute_terms, read_partition
from magister.prompts import load_prompt
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file and which request belongs to which attribute."""
    clusters, items = step.table("clusters"), step.table("texts")
    made = label_requests(
        clusters,
        items,
        attribute_terms(read_partition(clusters), items, step.params["terms"]),
        speaker(step, step.params["labeller"]),
        load_prompt(step.path("prompt")),
        examples=step.params["examples"],
        max_tokens=step.params["max_tokens"],
    )
    write_step_requests(step, made.requests)
    step.write("asked", made.asked, "labels_asked")


if __name__ == "__main__":
    run_step(__spec__.name, run)
