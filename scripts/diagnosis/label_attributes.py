"""Labels of the attributes, from their terms or by a model."""

from magister.diagnosis.labels import read_labels, term_labels
from magister.diagnosis.qmatrix_tables import attribute_terms, read_partition
from scripts.speakers import responses
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the labels; a model's where the rule has its responses."""
    terms = attribute_terms(read_partition(step.table("clusters")), step.table("texts"), step.params["terms"])
    if step.inputs.get("responses"):
        step.models[step.params["labeller"]] = step.json("fingerprint")
        labels = read_labels(step.table("asked"), responses(step), terms)
    else:
        labels = term_labels(terms)
    step.write("labels", labels, "attribute_labels")


if __name__ == "__main__":
    run_step(__spec__.name, run)
