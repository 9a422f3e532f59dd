"""A plan of an arena counts what its models, judges and people are asked."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vote_tables import instructions

from magister.arena.league_plans import Calls, LeaguePlan, Sizes, plan_league, pool_calls, scenario_sizes
from magister.config.arena import Arena

SIZES = {"sums": Sizes(40, 40), "talk": Sizes(7, 0), "some": Sizes(30, 12)}


def arena(rounds: int = 0, **league: Any) -> Arena:
    duel = {"models": ["ann", "bob", "cid"], "scenarios": ["sums"], "k": 10} | league
    evolution = {"rounds": rounds, "generators": ["ann", "bob"]}
    return Arena.model_validate({"leagues": {"duel": duel}, "evolution": evolution})


def plan(
    sizes: dict[str, Sizes] | None = None, changes: dict[str, float] | None = None, **league: Any
) -> LeaguePlan:
    return plan_league("duel", arena(**league), sizes or SIZES, changes or {})


def test_judges_people_and_a_key_that_knows_all_vote_and_only_people_take_hours() -> None:
    found = plan(judges=["jim", "kit"], people=["data/annotations/ann.csv"])
    assert (found.design.annotators, found.design.people) == (4, 1)
    one, every = found.plans
    assert (one.comparisons, one.votes) == (30, 120)
    assert one.hours == pytest.approx(30 * 60 / 3600)
    assert every.votes == one.votes
    assert found.notes == []


def test_a_key_that_knows_some_is_told_and_not_in_the_votes() -> None:
    found = plan(scenarios=["some"], judges=["jim"])
    assert found.design.annotators == 1
    assert "The answer key votes on the 12 instruction(s)" in found.notes[0]
    alone = plan(scenarios=["talk"], key=False)
    assert (alone.design.annotators, alone.plans[0].hours) == (1, 0.0)
    assert "one on each comparison is assumed" in alone.notes[-1]


def test_a_scenario_with_few_instructions_is_told() -> None:
    found = plan(scenarios=["sums", "talk"], judges=["jim"])
    assert "Scenario talk has 7 instruction(s): 7 comparisons of a pair, not 10." in found.notes
    assert Calls("duel", "judge", "jim", 2 * 3 * (10 + 7)) in found.calls
    none = plan(scenarios=["unheard"])
    assert "Scenario unheard has 0 instruction(s)" in none.notes[0]


def test_what_is_given_goes_before_what_the_arena_says() -> None:
    found = plan(changes={"k": 4, "annotators": 5, "level": 0.8}, judges=["jim"])
    assert (found.design.k, found.design.annotators, found.design.people, found.design.level) == (
        4,
        5,
        5,
        0.8,
    )
    assert found.plans[0].comparisons == 12
    assert found.plans[0].hours == pytest.approx(12 * 5 * 60 / 3600)


@settings(deadline=None)
@given(
    models=st.integers(2, 9),
    judges=st.lists(st.integers(0, 12), unique=True, max_size=4),
    exclude=st.booleans(),
    scored=st.booleans(),
)
def test_calls_are_those_that_the_steps_write(
    models: int, judges: list[int], exclude: bool, scored: bool
) -> None:
    names = [f"m{at}" for at in range(models)]
    league = {"models": names, "judges": [f"m{at}" for at in judges], "exclude_self": exclude}
    if scored:
        league |= {"similarity": "judge", "similarity_judge": "kit"}
    calls = plan(**league).calls
    pairs = [(a, b) for a in names for b in names if a < b]
    for judge in league["judges"]:
        shown = [pair for pair in pairs if judge not in pair or not exclude]
        assert Calls("duel", "judge", judge, 2 * 10 * len(shown)) in calls
    assert (Calls("duel", "similarity", "kit", 40 * len(pairs)) in calls) is scored
    assert sum(call.calls for call in calls if call.stage == "respond") == 40 * models


def test_each_round_asks_once_for_every_seed() -> None:
    assert pool_calls(arena(3), 50) == [Calls("", "evolve", "ann or bob", 150)]
    assert pool_calls(arena(), 50) == []


def test_instructions_are_counted_by_scenario() -> None:
    pool = pa.concat_tables([instructions("a", "b"), instructions("c", scenario="talk", gold=None)])
    assert scenario_sizes(pool) == {"math": Sizes(2, 2), "talk": Sizes(1, 0)}
