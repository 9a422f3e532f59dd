"""Put the comparisons to a judge, in both orders."""

from magister.arena.judge import judge_requests
from magister.prompts import load_prompt
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file, what each request belongs to, and what is not asked."""
    made = judge_requests(
        step.table("sheet"),
        step.table("key"),
        speaker(step, step.wildcards["model"]),
        load_prompt(step.path("prompt")),
        max_tokens=step.params["max_tokens"],
        exclude_self=step.params["exclude_self"],
    )
    write_step_requests(step, made.requests)
    step.write("asked", made.asked, "arena_asked")
    step.write("excluded", made.rejected, "votes_rejected")


if __name__ == "__main__":
    run_step(__spec__.name, run)
