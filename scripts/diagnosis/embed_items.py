"""Turn the items of a study into vectors."""

from magister.diagnosis.labels import item_texts
from scripts.embedding import write_embedded
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the vectors and whose they are; `instruction_id` of that table is the item's id."""
    write_embedded(step, dict(item_texts(step.table("texts"))))


if __name__ == "__main__":
    run_step(__spec__.name, run)
