"""Replies of models that edit or review items, as the checks read them."""

from collections.abc import Mapping

from magister.config.models import ModelConfig
from magister.items import Reply
from magister.llm import Response, Speaker
from scripts.speakers import responses
from scripts.step import Step

_STATUS = {"content_filter": "refusal", "length": "truncated"}


def _reply(response: Response) -> Reply:
    if response.error is not None:
        return Reply(None, "error")
    return Reply(response.text, _STATUS.get(response.finish_reason or "", "ok"))


def replies(
    step: Step,
    role: str,
    name: str,
    bodies: Mapping[str, list[dict[str, str]]],
    responses_input: str,
    max_tokens: int,
) -> dict[str, Reply]:
    """What a model said of each item.

    Args:
        step: the step, with the input `<role>_fingerprint` and the parameter `<role>_model`.
        role: what the model does.
        name: the model.
        bodies: the messages that it was sent, by item.
        responses_input: the input that holds its responses.
        max_tokens: its reply limit.
    """
    fingerprint = step.json(f"{role}_fingerprint")
    step.models[name] = fingerprint
    asked = Speaker(name, ModelConfig.model_validate(step.params[f"{role}_model"]), fingerprint)
    found = responses(step, responses_input)
    return {
        item_id: _reply(found[asked.request(messages, max_tokens)["custom_id"]])
        for item_id, messages in bodies.items()
    }
