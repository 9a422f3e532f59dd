"""A league that asks for every ablation, through the real rules: each setting is a league of its own beside it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from magister.config.params import load_params
from magister.config.teaching import played_leagues
from magister.jobs import count_jobs
from magister.prompts import load_prompt
from magister.teaching.plan import Planner, Shape, Size, prompts_of

from .conftest import Project, scripted_params

N, Q, OPTIONS = 60, 0.8, 4
DERIVED = [
    f"scripted--{name}" for name in ("rounds-6", "may-tell", "prompts-v2", "prompts-v3", "order-1", "order-2")
]
Row = dict[str, Any]


@dataclass(frozen=True)
class Played:
    """A project before and after its league asked for ablations.

    Attributes:
        project: as it is after.
        before: every artifact of the run without ablations.
    """

    project: Project
    before: dict[str, bytes]

    def trajectories(self, league: str, **where: Any) -> dict[tuple[str, str, int], Row]:
        """Rows of a league by arm, item and round; its own name and what tells requests apart is left out."""
        rows = self.project.table(f"data/teaching/{league}/trajectories.parquet")
        return {
            (row["arm"], row["item_id"], row["round"]): {k: v for k, v in row.items() if k != "league"}
            for row in rows
            if all(row[name] == value for name, value in where.items())
        }

    def requests(self, step: str, model: str) -> dict[str, Row]:
        """Requests of a step by key."""
        path = self.project.path / "data/teaching" / step / f"{model}.requests.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return {row["custom_id"]: row for row in rows}


@pytest.fixture(scope="module")
def played(new_project: Callable[[dict[str, Any]], Project]) -> Played:
    params = scripted_params(N, rounds=1)
    params["items"]["ladder"] = []
    league = params["teaching"]["leagues"]["scripted"]
    league |= {"students": ["obedient"], "teachers": ["judge-80"], "arms": ["oracle_tell"]}
    project = new_project(params)
    project.build()
    before = project.artifacts()
    league["ablations"] = ["more_rounds", "answer_revelation", "prompts", "option_order"]
    project.write_params(params)
    project.build()
    return Played(project, before)


def test_every_setting_is_a_league_whose_gate_has_passed(played: Played) -> None:
    folder = played.project.path / "data/teaching"
    assert {path.name for path in folder.iterdir()} == {"scripted", *DERIVED}
    for name in DERIVED:
        assert json.loads((folder / name / "gate.json").read_text())["success"] is True
        assert {row["league"] for row in played.project.table(f"data/teaching/{name}/metrics.parquet")} == {
            name
        }


def test_the_league_itself_and_the_boards_stay_as_they_were(played: Played) -> None:
    after = played.project.artifacts()
    # The ablations are about the leagues that were added, and so are their plots.
    ablated = ("data/ablations/", "results/ablations.", "results/plots/scripted/")
    before = {name: found for name, found in played.before.items() if not name.startswith(ablated)}
    assert {name: after[name] for name in before} == before
    assert any(name.startswith("data/teaching/scripted/") for name in before)
    assert not any(name.startswith("results") for name in after.keys() - played.before.keys())
    assert {row["league"] for row in played.project.table("results/teaching.parquet")} == {"scripted"}


@pytest.mark.parametrize("league", ["scripted", *DERIVED])
def test_the_closed_form_holds_under_every_setting(played: Played, league: str) -> None:
    taught = played.trajectories(league, arm="taught")
    wrong = [item for _, item, number in taught if number == 0 and not taught["taught", item, 0]["correct"]]
    assert len(wrong) > N / 4
    expected = Q / (OPTIONS - 1)
    share = sum(taught["taught", item, 1]["correct"] for item in wrong) / len(wrong)
    assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / len(wrong))
    assert all(row["correct"] for row in played.trajectories(league, arm="oracle_tell", round=1).values())


def test_more_rounds_begin_with_the_rounds_of_the_league_and_ask_nothing_twice(played: Played) -> None:
    longer, base = played.trajectories("scripted--rounds-6"), played.trajectories("scripted")
    assert {key: row for key, row in longer.items() if key[2] <= 1} == base
    assert {number for _, _, number in longer} == set(range(7))
    asked: dict[str, list[str]] = {}
    for path in (played.project.path / "store").rglob("*.jsonl"):
        keys = [json.loads(line)["custom_id"] for line in path.read_text(encoding="utf-8").splitlines()]
        asked.setdefault(path.parent.name, []).extend(keys)
        if ".scripted--rounds-6." in path.name:
            assert re.search(r"round[2-6]", path.name), path.name
    for keys in asked.values():
        assert len(set(keys)) == len(keys)


def test_telling_changes_what_the_teacher_is_told_and_nothing_else(played: Played) -> None:
    for step in ("blind_answers", "zero_shot"):
        model = "obedient" if step == "blind_answers" else "judge-80"
        assert played.requests(f"scripted--may-tell/{step}", model) == played.requests(
            f"scripted/{step}", model
        )
    told, untold = (
        played.requests(f"{league}/round1/guide", "judge-80") for league in ("scripted--may-tell", "scripted")
    )
    for one, other in zip(told.values(), untold.values(), strict=True):
        one, other = one["body"]["messages"], other["body"]["messages"]
        assert one[0]["content"] != other[0]["content"]
        assert one[1:] == other[1:]


@pytest.mark.parametrize("league", ["scripted--prompts-v2", "scripted--prompts-v3"])
def test_other_prompts_ask_everything_anew(played: Played, league: str) -> None:
    for step, model in (
        ("blind_answers", "obedient"),
        ("round1/guide", "judge-80"),
        ("round1/revise", "obedient"),
    ):
        assert not played.requests(f"{league}/{step}", model).keys() & played.requests(
            f"scripted/{step}", model
        )


@pytest.mark.parametrize("league", ["scripted--order-1", "scripted--order-2"])
def test_another_order_is_what_is_asked_and_what_answers_are_held_against(
    played: Played, league: str
) -> None:
    items = {row["item_id"]: row for row in played.project.table(f"data/teaching/{league}/items.parquet")}
    built = {row["item_id"]: row for row in played.project.table("data/items/items.parquet")}
    asked = json.dumps(list(played.requests(f"{league}/blind_answers", "obedient").values()))
    for item_id, row in items.items():
        assert row["options"] != built[item_id]["options"]
        assert row["gold"] == built[item_id]["gold"] == row["options"]["ABCD".index(row["key"])]
        assert (
            r"\n".join(f"{letter}) {text}" for letter, text in zip("ABCD", row["options"], strict=True))
            in asked
        )
    for row in played.trajectories(league).values():
        assert row["correct"] == (row["answer"] == items[row["item_id"]]["key"])


def test_a_plan_knows_the_jobs_and_which_calls_are_those_of_the_league(played: Played) -> None:
    params = load_params(played.project.path / "params.yaml")
    done = played.project.run("-n", "--forceall", "--quiet", "progress")
    assert count_jobs(params) == len(set(re.findall(r"^Job (\d+):", done.stdout + done.stderr, re.MULTILINE)))
    prompts = {
        name: load_prompt(played.project.path / "prompts" / f"{name}.md") for name in prompts_of(params)
    }
    planner = Planner(params, {"sums": Size(0, N, N, "known")}, Shape(), prompts)
    for name in played_leagues(params.teaching, params.items.variants):
        for ask in planner.league(name):
            asked = played.requests(ask.step.removeprefix("teaching/"), ask.model).keys()
            assert len(asked) <= ask.calls
            if name != "scripted" and ask.repeated:
                same = ask.step.removeprefix("teaching/").replace(name, "scripted", 1)
                assert len(asked & played.requests(same, ask.model).keys()) >= min(ask.repeated, len(asked))
