"""How many jobs the arena is."""

from __future__ import annotations

from magister.config.arena import Arena, ArenaLeague


def count_arena_jobs(arena: Arena) -> int:
    """Jobs of the arena and its boards in a run from nothing.

    Args:
        arena: the validated section.
    """
    wheels = sum(source.kind == "wheel" for source in arena.sources.values())
    evolution = arena.evolution
    jobs = wheels + 1 + evolution.rounds * (2 * len(evolution.generators) + 1)
    respondents = {name for league in arena.leagues.values() for name in league.models}
    jobs += 4 * len(respondents) + (1 if arena.leagues else 0)  # with vectors; those of the instructions
    jobs += sum(map(_league_jobs, arena.leagues.values()))
    return jobs + 2  # the board, the ablation's page


def _league_jobs(league: ArenaLeague) -> int:
    votes = (
        3 * (len(league.judges) + (league.similarity_judge is not None)) + league.key + bool(league.people)
    )
    # Selection, sheet, annotations, ratings, report, ablation, gate, plot.
    return votes + 8
