"""What an agent hears: its prompt, and a window of the dialogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from magister.rubrics.graph import Semantics, first_speaker
from magister.rubrics.scenario import Agent, Scenario
from magister.rubrics.templates import fill


class Spoken(Protocol):
    """A turn, as far as others hear it."""

    @property
    def agent(self) -> str:
        """Who spoke."""

    @property
    def text(self) -> str:
        """What the model said."""

    @property
    def visible(self) -> str:
        """The same without reasoning."""


Message = dict[str, str]


def heard(
    scenario: Scenario,
    agent: Agent,
    variables: Mapping[str, str],
    turns: Sequence[Spoken],
    semantics: Semantics = "fixed",
) -> list[Message]:
    """The conversation that an agent is asked to go on with.

    Its own turns are `assistant`, all other messages `user`; its prompt stands before them. In `compat` the start
    message is the first message like any other, and of all the last 2 * keep_turns + 1 are kept, whether memory is
    on or off (as in Elmes 0.1). In `fixed` the window counts turns alone: the start message stays before them where
    the scenario pins it, else it goes when it is out of the window; reasoning is heard by nobody, and an agent
    without memory hears the latest turn.

    Args:
        scenario: the scenario.
        agent: who is asked.
        variables: those of the task.
        turns: what was said so far, in order.
        semantics: see `Semantics`.

    Returns:
        Chat messages.
    """
    prompt = [{"role": one.role, "content": fill(one.content, variables)} for one in agent.prompt]
    start: list[Message] = []
    if scenario.start is not None:
        message = scenario.start.message
        shown = scenario.start.shown_to == "all" or agent.name == first_speaker(scenario)
        # Whatever role the file gives it, nobody said it: to every agent it is somebody else's.
        start = [{"role": "user", "content": fill(message.content, variables)}] if shown else []
    said = [
        {
            "role": "assistant" if turn.agent == agent.name else "user",
            "content": turn.text if semantics == "compat" else turn.visible,
        }
        for turn in turns
    ]
    if semantics == "compat":
        return prompt + (start + said)[-(2 * agent.memory.keep_turns + 1) :]
    kept = said[-agent.memory.messages :]
    if not scenario.pin_start and len(start) + len(said) > agent.memory.messages:
        start = []
    return prompt + start + kept
