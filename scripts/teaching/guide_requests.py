"""Ask a teacher about every student's latest reply, blind."""

from magister.prompts import load_prompt
from magister.teaching.guides import guide_requests, histories
from scripts.choices import league_items
from scripts.speakers import speaker, write_step_requests
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file, and which request belongs to which student and item."""
    asked = speaker(step, step.wildcards["model"])
    history = histories(
        [*step.tables("blind"), *step.tables("revisions")], step.tables("guides"), "taught", asked.name
    )
    requests, index = guide_requests(
        league_items(step),
        history,
        asked,
        load_prompt(step.path("prompt")),
        number=int(step.wildcards["round"]),
        blind=step.params["blind"],
        may_tell_answer=step.params["may_tell_answer"],
        max_tokens=step.params["max_tokens"],
    )
    write_step_requests(step, requests, index)


if __name__ == "__main__":
    run_step(__spec__.name, run)
