"""Which waves there can be, and who can speak in each: known from the graphs, before anybody speaks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from magister.errors import UserError
from magister.rubrics.graph import first_speaker
from magister.rubrics.scenario import END, Scenario
from magister.rubrics.waves import Cast


def check_cast(scenarios: Iterable[Scenario], cast: Cast) -> None:
    """Refuse a cast in which nobody speaks for an agent.

    Raises:
        UserError: names the scenario's file and the agent.
    """
    for scenario in scenarios:
        for agent in scenario.agents:
            if agent.name != scenario.candidate and not {agent.name, "*"} & set(cast.partners):
                raise UserError(
                    f"{scenario.at.file}: no model speaks for the agent {agent.name!r}; named are: "
                    f"{', '.join(sorted(cast.partners)) or 'none'}. Name one in `partners`, for it or for '*'"
                )


def speakers_by_wave(scenarios: Iterable[Scenario], cast: Cast, models: Sequence[str]) -> list[list[str]]:
    """The models that can have a turn in each wave; as many waves as end every dialogue.

    Args:
        scenarios: what is played.
        cast: who speaks for whom; its limit counts, if it is below that of a scenario.
        models: who is evaluated, each as the candidate.

    Raises:
        UserError: nobody speaks for an agent.
    """
    played = list(scenarios)
    check_cast(played, cast)
    waves: list[set[str]] = []
    for scenario in played:
        for number, agents in enumerate(_standing(scenario, cast.limit(scenario))):
            if number == len(waves):
                waves.append(set())
            for agent in agents:
                waves[number] |= (
                    set(models)
                    if agent == scenario.candidate
                    else {cast.partners.get(agent, cast.partners.get("*", ""))}
                )
    return [sorted(names) for names in waves]


def waves_needed(scenarios: Iterable[Scenario], cast: Cast) -> int:
    """How many waves end every dialogue, 1 at least.

    Args:
        scenarios: what is played.
        cast: its limit counts, if it is below that of a scenario.
    """
    return max((len(_standing(scenario, cast.limit(scenario))) for scenario in scenarios), default=1)


def _standing(scenario: Scenario, limit: int) -> list[set[str]]:
    """The agents that can have each turn: a graph without a cycle may end a dialogue before the limit."""
    edges = {edge.source: edge for edge in scenario.edges}
    turns = [{first_speaker(scenario)}]
    while len(turns) < limit:
        following = {target for node in turns[-1] for target in edges[node].targets if target != END}
        if not following:
            break
        turns.append(following)
    return turns
