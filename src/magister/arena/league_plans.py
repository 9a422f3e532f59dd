"""Plans of the arenas that are configured: what each asks of models and people, and what it can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from magister.arena.planning import Design, Plan, plan_arena
from magister.config.arena import Arena, ArenaLeague


class Sizes(NamedTuple):
    """Instructions of a scenario.

    Attributes:
        instructions: how many.
        with_gold: those with a value that the answer key knows.
    """

    instructions: int
    with_gold: int


class Calls(NamedTuple):
    """Requests of one stage to one model, equal ones counted as often as they occur.

    Attributes:
        arena: whose; empty for the pool, which all arenas share.
        stage: what is asked.
        model: who is asked.
        calls: requests at most.
    """

    arena: str
    stage: str
    model: str
    calls: int


@dataclass(frozen=True)
class LeaguePlan:
    """What an arena asks and can show.

    Attributes:
        arena: its name.
        design: what was planned.
        plans: by schedule and scope.
        calls: of its models and judges.
        notes: sentences on what was assumed.
    """

    arena: str
    design: Design
    plans: list[Plan]
    calls: list[Calls]
    notes: list[str]


def scenario_sizes(pool: pa.Table) -> dict[str, Sizes]:
    """Instructions of each scenario.

    Args:
        pool: INSTRUCTIONS table.
    """
    counted = pool.group_by("scenario").aggregate([("instruction_id", "count"), ("gold", "count")])
    names = ("scenario", "instruction_id_count", "gold_count")
    rows = zip(*(counted[name].to_pylist() for name in names), strict=True)
    return {scenario: Sizes(instructions, golds) for scenario, instructions, golds in sorted(rows)}


def plan_league(
    name: str,
    arena: Arena,
    sizes: Mapping[str, Sizes],
    changes: Mapping[str, float],
) -> LeaguePlan:
    """Plan an arena.

    Args:
        name: its name.
        arena: the validated section.
        sizes: instructions by scenario.
        changes: attributes of `Design` that are not those of the arena.

    Returns:
        The plan. A judge, a person with a sheet, and the key where every instruction has a gold value give one vote on
        each comparison; only people need hours.
    """
    league = arena.leagues[name]
    found = {scenario: sizes.get(scenario, Sizes(0, 0)) for scenario in league.scenarios}
    golden = league.key and all(size.instructions == size.with_gold > 0 for size in found.values())
    people = len(league.people)
    annotators = len(league.judges) + people + golden
    notes = _notes(league, found, golden, int(changes.get("k", league.k)))
    values = {
        "models": len(league.models),
        "k": league.k,
        "scenarios": len(league.scenarios),
        "random_share": league.random_share,
        "annotators": max(annotators, 1),
        "people": people,
        "elo_k": arena.elo.k,
    } | dict(changes)
    if "annotators" in changes:
        notes.append("Annotators: those given, each a person.")
        values["people"] = changes["annotators"]
    elif not annotators:
        notes.append("Votes: one on each comparison is assumed, since nobody votes on all of them.")
    design = Design(**values)  # type: ignore[arg-type]
    return LeaguePlan(name, design, plan_arena(design), _calls(name, league, found, design), notes)


def _notes(league: ArenaLeague, sizes: Mapping[str, Sizes], golden: bool, k: int) -> list[str]:
    notes = [
        f"Scenario {scenario} has {size.instructions} instruction(s): {min(size.instructions, k)} comparisons of "
        f"a pair, not {k}."
        for scenario, size in sizes.items()
        if size.instructions < k
    ]
    some = sum(size.with_gold for size in sizes.values())
    if league.key and some and not golden:
        notes.append(
            f"The answer key votes on the {some} instruction(s) with a gold value; that is not in the votes."
        )
    return notes


def _calls(name: str, league: ArenaLeague, sizes: Mapping[str, Sizes], design: Design) -> list[Calls]:
    instructions = sum(size.instructions for size in sizes.values())
    comparisons = sum(min(size.instructions, design.k) for size in sizes.values())
    found = [Calls(name, "respond", model, instructions) for model in league.models]
    if league.similarity_judge is not None:
        found.append(Calls(name, "similarity", league.similarity_judge, _pairs(league.models) * instructions))
    for judge in league.judges:
        others = [model for model in league.models if model != judge or not league.exclude_self]
        # Each comparison in both orders.
        found.append(Calls(name, "judge", judge, 2 * _pairs(others) * comparisons))
    return found


def _pairs(models: Sequence[str]) -> int:
    return len(models) * (len(models) - 1) // 2


def pool_calls(arena: Arena, seeds: int) -> list[Calls]:
    """What the evolution of the pool asks.

    Args:
        arena: the validated section.
        seeds: instructions that sources give; each round rewrites the youngest of each lineage.
    """
    evolution = arena.evolution
    if not evolution.rounds:
        return []
    return [Calls("", "evolve", " or ".join(evolution.generators), evolution.rounds * seeds)]
