"""Read how alike a judge finds the responses."""

from magister.arena.similarity_judge import read_similarities
from scripts.arena.similarity_requests import asked_of
from scripts.speakers import responses
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the scores, and why there is none."""
    step.write("similarities", read_similarities(asked_of(step).table, responses(step)), "arena_similarities")


if __name__ == "__main__":
    run_step(__spec__.name, run)
