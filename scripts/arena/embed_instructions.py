"""Turn the instructions into vectors."""

from scripts.embedding import write_embedded
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the vectors and whose they are."""
    pool = step.table("pool")
    write_embedded(step, dict(zip(pool["instruction_id"].to_pylist(), pool["text"].to_pylist(), strict=True)))


if __name__ == "__main__":
    run_step(__spec__.name, run)
