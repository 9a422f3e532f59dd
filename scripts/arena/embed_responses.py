"""Turn a model's responses into vectors."""

from magister.arena.responses import response_texts
from scripts.embedding import write_embedded
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the vectors and whose they are."""
    write_embedded(step, response_texts(step.table("answers")))


if __name__ == "__main__":
    run_step(__spec__.name, run)
