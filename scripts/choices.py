"""The two halves of every step in which a model answers items with their options."""

import pyarrow as pa
import pyarrow.compute as pc

from magister.llm import Request
from magister.prompts import load_prompt
from magister.teaching.answers import answer_requests, parse_answers
from scripts.speakers import responses, speaker, write_step_requests
from scripts.step import Step


def league_items(step: Step) -> pa.Table:
    """The items of the step's data sets; of all where the parameters name none."""
    items = step.table("items_table")
    datasets = step.params.get("datasets")
    return items if datasets is None else items.filter(pc.is_in(items["dataset"], pa.array(datasets)))


def _requests(step: Step, items: pa.Table) -> list[Request]:
    return answer_requests(
        items,
        speaker(step, step.wildcards["model"]),
        load_prompt(step.path("prompt")),
        answer_as=step.params["answer_as"],
        max_tokens=step.params["max_tokens"],
    )


def write_choice_requests(step: Step) -> None:
    """Write the request file."""
    write_step_requests(step, _requests(step, league_items(step)))


def write_choice_answers(step: Step) -> None:
    """Write the answers, one row per item."""
    items = league_items(step)
    answers = parse_answers(items, _requests(step, items), responses(step), step.wildcards["model"])
    step.write("answers", answers, "answers")
