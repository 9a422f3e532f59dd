"""Requests as Elmes 0.1 sends them, to hold the compat mode to its traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from magister.rubrics.memory import Message, Spoken, heard
from magister.rubrics.scenario import Evaluation, Scenario
from magister.rubrics.templates import fill, judge_values

# Sent as decimals, however the file writes them.
_DECIMALS = ("temperature", "top_p", "frequency_penalty", "presence_penalty")


def reference_body(scenario: Scenario, model: str, messages: Sequence[Message]) -> dict[str, Any]:
    """The body that Elmes 0.1 sends to a model of the scenario file.

    Args:
        scenario: a scenario of dialect A.
        model: name of the model in the file.
        messages: the conversation.

    Returns:
        The body; as JSON with sorted keys it is what goes over the wire.
    """
    entry = next(one for one in scenario.models if one.name == model)
    fields = {
        key: float(value) if key in _DECIMALS and isinstance(value, int) else value
        for key, value in entry.sampling.items()
    }
    ordered = [{"content": one["content"], "role": one["role"]} for one in messages]
    return dict(sorted({"messages": ordered, "model": entry.served_name, "stream": False, **fields}.items()))


def reference_turn(
    scenario: Scenario, agent: str, variables: Mapping[str, str], turns: Sequence[Spoken]
) -> dict[str, Any]:
    """The body with which Elmes 0.1 asks an agent for its turn.

    Args:
        scenario: a scenario of dialect A.
        agent: who is asked.
        variables: those of the task.
        turns: what was said so far.
    """
    one = scenario.agent(agent)
    return reference_body(scenario, one.model, heard(scenario, one, variables, turns, "compat"))


def judge_messages(
    evaluation: Evaluation, variables: Mapping[str, str], turns: Sequence[tuple[str, str]]
) -> list[Message]:
    """What the file tells the judge, before anything is said about the form of its reply.

    Args:
        evaluation: how the scenario is scored.
        variables: those of the task.
        turns: (agent, text) in order.
    """
    values = judge_values(variables, turns)
    return [{"role": one.role, "content": fill(one.content, values)} for one in evaluation.prompt]
