"""The graph of a scenario: who speaks next, and who ever can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from magister.rubrics.patterns import regex
from magister.rubrics.scenario import (
    END,
    START,
    AllKeywords,
    And,
    AnyKeyword,
    Condition,
    Edge,
    Not,
    Or,
    Pattern,
    Scenario,
    TurnLimit,
)

Semantics = Literal["fixed", "compat"]
"""`compat`: dialect A as Elmes 0.1 plays it; `fixed`: with what is wrong there put right."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a router looks at.

    Attributes:
        text: the last message as the model wrote it.
        visible: the same without reasoning.
        speakers: who spoke, in order, the last message's agent included.
    """

    text: str
    visible: str
    speakers: Sequence[str]


def holds(condition: Condition, said: Said, semantics: Semantics = "fixed") -> bool:
    """Say whether a condition holds.

    Keywords are compared without regard to case. Elmes 0.1 lowers the message alone, so that a keyword with a
    capital letter never matches; `compat` does the same, and it looks at reasoning too.

    Args:
        condition: what is asked.
        said: what it is asked of.
        semantics: see `Semantics`.
    """
    if isinstance(condition, AnyKeyword | AllKeywords):
        whole = semantics == "compat" or (isinstance(condition, AnyKeyword) and condition.in_reasoning)
        text = said.text if whole else said.visible
        if semantics == "compat":
            found = (keyword in text.lower() for keyword in condition.keywords)
        else:
            folded = text.casefold()
            found = (keyword.casefold() in folded for keyword in condition.keywords)
        return any(found) if isinstance(condition, AnyKeyword) else all(found)
    if isinstance(condition, Pattern):
        return regex(condition.pattern).search(said.text if semantics == "compat" else said.visible)
    if isinstance(condition, TurnLimit):
        taken = len(said.speakers) if condition.agent is None else list(said.speakers).count(condition.agent)
        return taken >= condition.turns
    if isinstance(condition, Not):
        return not holds(condition.part, said, semantics)
    results = (holds(part, said, semantics) for part in condition.parts)
    return all(results) if isinstance(condition, And) else any(results)


def follow(edge: Edge, said: Said, semantics: Semantics = "fixed") -> str:
    """The node that follows a message.

    Args:
        edge: the edge that leaves its agent.
        said: the message and who spoke.
        semantics: see `Semantics`.
    """
    if edge.condition is None or edge.otherwise is None:
        return edge.then
    return edge.then if holds(edge.condition, said, semantics) else edge.otherwise


def first_speaker(scenario: Scenario) -> str:
    """The agent that speaks first."""
    return scenario.edge(START).then


def reachable(scenario: Scenario) -> set[str]:
    """Agents that can come to speak."""
    edges = {edge.source: edge for edge in scenario.edges}
    seen: set[str] = set()
    waiting = [START]
    while waiting:
        edge = edges.get(waiting.pop())
        for target in edge.targets if edge is not None else ():
            if target not in seen and target != END:
                seen.add(target)
                waiting.append(target)
    return seen


def can_end(scenario: Scenario) -> set[str]:
    """Nodes from which a path leads to END; START among them where the dialogue can end at all."""
    found: set[str] = {END}
    while True:
        more = {edge.source for edge in scenario.edges if found.intersection(edge.targets)} - found
        if not more:
            return found - {END}
        found |= more


def conditions(condition: Condition | None) -> list[Condition]:
    """A condition and all its parts."""
    if condition is None:
        return []
    if isinstance(condition, And | Or):
        return [condition, *(one for part in condition.parts for one in conditions(part))]
    if isinstance(condition, Not):
        return [condition, *conditions(condition.part)]
    return [condition]
