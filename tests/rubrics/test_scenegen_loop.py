"""A rubric with one metric too lenient, one too strict and one that tells nobody apart is repaired."""

from __future__ import annotations

from collections import Counter

import pytest
from loop import Loop, judge, scenario, writer

from magister.config.rubrics_judging import Judging, Objective, SceneGen
from magister.rubrics.iterations import is_frozen
from magister.rubrics.players import COUNTED, LENIENT, STRICT, VAGUE

FLAWED = {"personalisation": "lenient", "pedagogy": "strict", "creativity": "vague"}


def flags(loop: Loop, number: int) -> dict[str, list[str]]:
    return {name: sorted(found) for name, found in loop.iterations[number].document["flags"].items()}


def loop(writer_args: dict | None = None, **more) -> Loop:
    judges = more.pop("judges", (judge("ann"), judge("bob", noise=0.3)))
    return Loop(more.pop("start", scenario()), writer(**(FLAWED | (writer_args or {}))), judges, **more)


def test_three_flawed_metrics_are_found_and_repaired_within_three_iterations() -> None:
    made = loop()
    made.run(3)
    assert {flag for found in flags(made, 0).values() for flag in found} >= {
        "too_lenient", "too_strict", "low_discrimination",
    }  # fmt: skip
    assert "too_lenient" in flags(made, 0)["personalisation_1"]
    assert "too_strict" in flags(made, 0)["pedagogy_1"]
    assert flags(made, 0)["creativity_1"] == ["low_discrimination"]
    best = made.best
    assert best.document["iteration"] <= 3
    assert best.document["flags"] == {}
    assert all(COUNTED in metric.desc for metric in best.rubric.metrics)
    assert best.document["objective"]["value"] > made.decisions[0]["objective"]["value"] + 0.1
    assert best.rubric.parent_sha == made.iterations[0].rubric.sha


def test_after_the_stop_no_further_call_is_made() -> None:
    made = loop()
    made.run(4)
    stopped = next(one for one in made.decisions if one.get("stop"))
    assert stopped["stop_reason"] == "nothing_flagged"
    later = made.iterations[stopped["iteration"] + 1 :]
    assert later
    assert all(is_frozen(one.document) and one.calls == 0 for one in later)
    assert {one.document["same_as"] for one in later} == {stopped["best"]}


def test_a_refinement_that_makes_it_worse_is_rolled_back_and_the_next_starts_from_the_best() -> None:
    """A writer that spoils half of what it rewrites: some first spoils the metric and then repairs it."""
    for salt in range(40):
        made = Loop(scenario(), writer(pedagogy="harsh", worsen=0.5, salt=salt), (judge("ann", noise=0.3),))
        first, second, third = made.run(2)
        if is_frozen(second.document) or second.document["flags"] == {} or third.document["flags"]:
            continue
        assert flags(made, 0) == {"pedagogy_1": ["too_strict"]}
        assert flags(made, 1) == {"pedagogy_1": ["low_discrimination"]}
        assert [one.document["best"] for one in (first, second, third)] == [0, 0, 2]
        assert "worse" in second.document["gain"]
        # Both were refined from the first version, the second time for the reasons that held there.
        assert second.rubric.parent_sha == third.rubric.parent_sha == first.rubric.sha
        assert third.record["flags"].to_pylist() == ["too_strict"]
        assert made.best is third
        return
    pytest.fail("no writer of forty spoilt a metric first and repaired it then")


def test_a_spoilt_version_never_becomes_the_parent_of_the_next() -> None:
    """A writer that always spoils: every version descends from the first, which stays the best."""
    made = Loop(
        scenario(),
        writer(pedagogy="strict", worsen=1.0),
        (judge("ann"),),
        options=SceneGen(metrics=4, min_exercised=0.0),
        objective=Objective(patience=2),
    )
    made.run(5)
    first = made.iterations[0].rubric
    decided = [one for one in made.decisions if not is_frozen(one)]
    assert [one["best"] for one in decided] == [0, 0, 0]
    assert [one["parent_sha"] for one in decided[1:]] == [first.sha] * 2
    assert decided[-1]["stop_reason"] == "patience"
    assert made.best.rubric is first


def test_a_writer_whose_replies_are_not_in_form_changes_nothing_and_is_recorded() -> None:
    made = loop({"invalid": 1.0})
    # Its first metrics are unusable too: each dimension is then its own metric.
    made.run(1)
    assert Counter(made.iterations[0].record["status"].to_pylist()) == {"invalid": 4}
    assert [metric.id for metric in made.iterations[0].rubric.metrics] == [
        "creativity_1", "pedagogy_1", "personalisation_1", "values_1",
    ]  # fmt: skip


def test_tasks_are_written_anew_where_no_task_exercises_a_metric() -> None:
    start = scenario(tasks=12, closed=12)
    made = Loop(start, writer(), (judge("ann"),), objective=Objective(patience=9))
    made.run(3)
    first = made.iterations[0]
    assert first.tasks is not None
    assert all("low_discrimination" in found for found in flags(made, 0).values())
    held = {task.task_id for task in first.tasks.tasks if task.held_out}
    last = made.iterations[2].tasks
    assert last is not None
    # Rewriting the text helped nothing; then the tasks were written anew, but for those of the objective.
    assert made.iterations[1].tasks == first.tasks
    assert {task.task_id for task in last.tasks if task.held_out} == held
    assert all("(open)" in task.variables["question"] for task in last.tasks if not task.held_out)
    assert flags(made, 2) == {}


@pytest.mark.parametrize("calls", ["all", "each"])
def test_broken_replies_are_mended_and_change_no_score(calls: str) -> None:
    judging = Judging(calls=calls)
    sound, broken = (loop({}, judges=(judge("ann", broken=share),), judging=judging) for share in (0.0, 1.0))
    for made in (sound, broken):
        made.run(0)
    one, two = (made.iterations[0].scores for made in (sound, broken))
    assert set(two["was_repaired"].to_pylist()) == {True}
    assert two["value"].to_pylist() == one["value"].to_pylist()


def test_a_judge_that_says_nothing_is_missing_and_never_low() -> None:
    made = loop({}, judges=(judge("ann", mute=1.0), judge("bob")))
    made.run(0)
    first = made.iterations[0]
    assert first.document["terms"]["missing"]["value"] == 0.5
    alone = loop({}, judges=(judge("bob"),))
    alone.run(0)
    assert (
        first.document["terms"]["discrimination"] == alone.iterations[0].document["terms"]["discrimination"]
    )


def test_two_runs_give_the_same_bytes() -> None:
    one, two = loop(), loop()
    assert one.run(2)[-1].document == two.run(2)[-1].document
    assert one.decisions == two.decisions
    assert LENIENT != STRICT != VAGUE
