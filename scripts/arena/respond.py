"""Read a model's responses."""

from magister.arena.responses import read_arena_responses
from scripts.arena.respond_requests import requests_of
from scripts.speakers import responses
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the responses, one row per instruction."""
    found = read_arena_responses(requests_of(step), responses(step), step.wildcards["model"])
    step.write("answers", found, "arena_responses")


if __name__ == "__main__":
    run_step(__spec__.name, run)
