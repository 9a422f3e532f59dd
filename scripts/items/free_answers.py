"""Read a distractor model's free-form answers."""

from magister.items import free_answer_requests, parse_free_answers
from magister.prompts import load_prompt
from scripts.speakers import responses, speaker
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the answers, one row per question and sample."""
    pool, name, samples = step.table("pool"), step.wildcards["model"], step.params["samples"]
    requests = free_answer_requests(
        pool,
        speaker(step, name),
        load_prompt(step.path("prompt")),
        samples=samples,
        max_tokens=step.params["max_tokens"],
    )
    step.write("answers", parse_free_answers(pool, requests, responses(step), name, samples), "free_answers")


if __name__ == "__main__":
    run_step(__spec__.name, run)
