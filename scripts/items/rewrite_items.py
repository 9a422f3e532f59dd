"""Take the rewrites that keep their items what they were; the form by the rules stands for the others."""

from collections.abc import Mapping

from magister.config.models import ModelConfig
from magister.items import Reply, apply_rewrites, review_bodies, rewrite_bodies
from magister.llm import Response, Speaker
from magister.prompts import load_prompt
from scripts.speakers import responses
from scripts.step import Step, run_step

_STATUS = {"content_filter": "refusal", "length": "truncated"}


def _reply(response: Response) -> Reply:
    if response.error is not None:
        return Reply(None, "error")
    return Reply(response.text, _STATUS.get(response.finish_reason or "", "ok"))


def _replies(
    step: Step, role: str, bodies: Mapping[str, list[dict[str, str]]], name: str
) -> dict[str, Reply]:
    fingerprint = step.json(f"{role}_fingerprint")
    step.models[step.params[role]] = fingerprint
    asked = Speaker(step.params[role], ModelConfig.model_validate(step.params[f"{role}_model"]), fingerprint)
    found = responses(step, name)
    return {
        item_id: _reply(found[asked.request(messages, step.params["max_tokens"])["custom_id"]])
        for item_id, messages in bodies.items()
    }


def rewrites(step: Step) -> dict[str, Reply]:
    """The rewriter's replies by item."""
    bodies = rewrite_bodies(step.table("built"), load_prompt(step.path("rewrite_prompt")))
    return _replies(step, "rewriter", bodies, "rewrites")


def run(step: Step) -> None:
    """Write the final items; without a rewriter they are the built ones."""
    items = step.table("built")
    if "rewrites" in step.inputs:
        replies = rewrites(step)
        reviews = None
        if "reviews" in step.inputs:
            bodies = review_bodies(items, replies, load_prompt(step.path("review_prompt")))
            reviews = _replies(step, "reviewer", bodies, "reviews")
        items = apply_rewrites(items, replies, reviews)
    step.write("items_table", items, "items")
    step.write("rejected", step.table("rejected"), "rejected")


if __name__ == "__main__":
    run_step(__spec__.name, run)
