"""A league of obedient students, whose teachers' ranks are known from how they were made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Project, scripted_params

ACCURACY, OPTIONS, ROUNDS = 0.4, 4, 2
JUDGES = {"judge-95": 0.95, "judge-75": 0.75, "judge-55": 0.55}


def expected_gain(q: float) -> float:
    """CA of a judge whose verdicts are right with probability q: told "wrong", students re-guess among the others."""
    p = ACCURACY
    for _ in range(ROUNDS):
        p = p * q + (1 - p) * q / (OPTIONS - 1)
    return p - ACCURACY


@pytest.fixture(scope="module")
def board(new_project: Callable[[dict[str, Any]], Project]) -> dict[tuple[str, str], dict[str, Any]]:
    params = scripted_params(200, ROUNDS)
    teachers = {name: {"mode": "verdict", "q": q} for name, q in JUDGES.items()} | {
        "teller": {"mode": "teller"}
    }
    script = {"engine": "scripted", "script": "teacher"}
    params["models"] |= {name: script | {"script_args": args} for name, args in teachers.items()}
    params["models"]["eager"] = params["models"]["obedient"] | {
        "script_args": {"accuracy": ACCURACY, "mode": "obedient", "twin": 2}
    }
    league = params["teaching"]["leagues"]["scripted"]
    league |= {"students": ["obedient", "eager"], "teachers": list(teachers)}
    league["arms"] = ["sham", "oracle_tell", "verdict_only"]
    project = new_project(params)
    project.build()
    return {(row["arm"], row["teacher"]): row for row in project.table("results/teaching.parquet")}


def test_teachers_are_ranked_as_they_were_made(board: dict[tuple[str, str], dict[str, Any]]) -> None:
    rows = {name: board["taught", name] for name in ("teller", *JUDGES)}
    assert [row["rank"] for row in rows.values()] == [1, 2, 3, 4]
    assert [(row["rank_low"], row["rank_high"]) for row in rows.values()] == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert [row["p_first"] for row in rows.values()] == [1.0, 0.0, 0.0, 0.0]
    assert [row["group"] for row in rows.values()] == ["a", "b", "c", "d"]


def test_intervals_hold_the_gain_that_follows_from_the_verdicts(
    board: dict[tuple[str, str], dict[str, Any]],
) -> None:
    for name, q in JUDGES.items():
        for arm in ("taught", "verdict_only"):
            row = board[arm, name]
            spread = row["ca_ci_high"] - row["ca_ci_low"]
            assert abs(row["ca"] - expected_gain(q)) < spread, (name, arm)
    # What a judge adds is its verdicts alone; what the teller adds is not.
    told, alone = board["taught", "teller"], board["verdict_only", "teller"]
    assert told["ca_ci_low"] > alone["ca_ci_high"]


def test_a_teller_has_nothing_left_when_its_leaks_are_masked(
    board: dict[tuple[str, str], dict[str, Any]],
) -> None:
    teller = board["taught", "teller"]
    assert teller["net_ca_ci_low"] > 0.5
    assert teller["headroom"] == pytest.approx(1.0, abs=0.02)
    assert teller["ca_masked"] == pytest.approx(0.0, abs=1e-12)
    judge = board["taught", "judge-95"]
    assert judge["ca_masked"] == judge["ca"] > 0


def test_students_who_take_what_they_are_told_are_responsive(
    board: dict[tuple[str, str], dict[str, Any]],
) -> None:
    assert {tuple(row["unresponsive"]) for row in board.values()} == {()}
