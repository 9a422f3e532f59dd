"""Read or generate the rows of a data set and let them through the data gate."""

from magister.config import Dataset
from magister.items import load_source, normalise_rows
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the pool of the data set and its rejected rows."""
    name = step.wildcards["dataset"]
    dataset = Dataset.model_validate(step.params["dataset"])
    raw = step.inputs.get("raw")
    pool, rejected = normalise_rows(name, dataset, load_source(name, dataset, raw[0] if raw else None))
    step.write("pool", pool, "pool")
    step.write("rejected", rejected, "rejected")


if __name__ == "__main__":
    run_step(__spec__.name, run)
