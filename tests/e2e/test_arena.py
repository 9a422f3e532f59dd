"""A scripted arena: what is known of its players comes out, and a model that joins costs its own comparisons only."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Project, scripted_params

K = 20
MODELS = {"good": {"accuracy": 0.9}, "fair": {"accuracy": 0.55}, "poor": {"accuracy": 0.2}}
JUDGES = {
    "referee": {"mode": "accurate", "q": 0.9},
    "first": {"mode": "first"},
    "longer": {"mode": "longer"},
    "mute": {"mode": "unreadable"},
}


def arena_params() -> dict[str, Any]:
    """Three models on sums, four judges and the key, beside a small teaching league."""
    params = scripted_params(4, 1)
    params["teaching"]["leagues"]["scripted"] |= {
        "students": ["obedient"],
        "teachers": ["silent"],
        "arms": [],
    }
    params["items"]["ladder"] = []
    for script, players in (("responder", MODELS), ("pair_judge", JUDGES)):
        for name, args in players.items():
            params["models"][name] = {"engine": "scripted", "script": script, "script_args": args}
    params["models"]["wordy"] = {
        "engine": "scripted",
        "script": "responder",
        "script_args": {"accuracy": 0.55, "words": 20, "salt": "wordy"},
    }
    params["embedders"] = {"words": {"engine": "hashed"}}
    params["arena"] = {
        "sources": {"sums": {"kind": "generated", "scenario": "sums", "generator": "sums", "n": 60}},
        "embedder": "words",
        "leagues": {
            "duel": {"models": list(MODELS), "scenarios": ["sums"], "k": K, "judges": list(JUDGES)},
        },
    }
    return params


@pytest.fixture(scope="module")
def project(new_project: Callable[[dict[str, Any]], Project]) -> Project:
    made = new_project(arena_params())
    made.build()
    return made


def ratings(project: Project, annotators: str) -> dict[str, dict[str, Any]]:
    """Bradley-Terry rows by model."""
    return {
        row["model"]: row
        for row in project.table("results/arena.parquet")
        if (row["scope"], row["annotators"], row["system"]) == ("overall", annotators, "bradley_terry")
    }


def statements(project: Project, statistic: str) -> dict[str, dict[str, Any]]:
    """What is said of each annotator."""
    return {
        row["annotator"]: row
        for row in project.table("data/arena/leagues/duel/agreement.parquet")
        if row["statistic"] == statistic and row["scope"] == "overall"
    }


def test_the_key_ranks_the_models_as_they_were_made(project: Project) -> None:
    found = ratings(project, "key")
    assert [found[name]["rank"] for name in MODELS] == [1, 2, 3]
    assert found["good"]["ci_low"] > found["poor"]["ci_high"]


def test_what_sways_each_judge_is_measured(project: Project) -> None:
    flips = statements(project, "flip_share")
    assert flips["first"]["value"] == 1.0
    assert flips["longer"]["value"] == 0.0
    # An accurate judge contradicts itself on 2 q (1 - q) of the pairs of a right and a wrong response.
    assert 0 < flips["referee"]["value"] < 0.4
    assert statements(project, "longer_share")["longer"]["value"] == 1.0


def test_few_comparisons_are_held_against_all_of_them(project: Project) -> None:
    rows = [
        row
        for row in project.table("data/arena/leagues/duel/ablation.parquet")
        if row["measure"] == "pair_agreement"
    ]
    assert {row["method"] for row in rows} == {"embedding", "token", "random"}
    assert {row["n_reference"] for row in rows} == {3 * 60}
    assert {row["k"]: row["n"] for row in rows} == {k: 3 * k for k in range(1, 11)}
    page = (project.path / "results/arena_ablation.md").read_text(encoding="utf-8")
    assert "At K = 5, lambda 1, embedding orders" in page


def test_a_judge_that_cannot_be_read_gives_no_vote_and_is_listed(project: Project) -> None:
    votes = project.table("data/arena/leagues/duel/votes.parquet")
    assert "mute" not in {row["annotator"] for row in votes}
    refused = [
        row
        for row in project.table("data/arena/leagues/duel/votes_rejected.parquet")
        if row["annotator"] == "mute"
    ]
    assert len(refused) == 2 * 3 * K
    assert all(row["raw"] for row in refused)


def test_every_comparison_is_voted_on_by_every_judge_that_can_be_read(project: Project) -> None:
    votes = project.table("data/arena/leagues/duel/votes.parquet")
    for annotator in ("key", "referee", "first", "longer"):
        assert sum(row["annotator"] == annotator for row in votes) == 3 * K


def test_a_model_that_joins_asks_for_its_own_comparisons_only(project: Project) -> None:
    before = project.artifacts()
    params = project.params()
    params["arena"]["leagues"]["duel"]["models"].append("wordy")
    project.write_params(params)
    said = project.build()
    old = [
        row for row in project.table("data/arena/leagues/duel/votes.parquet") if "wordy" not in row.values()
    ]
    new = [row for row in project.table("data/arena/leagues/duel/votes.parquet") if "wordy" in row.values()]
    assert len(old) == 4 * 3 * K
    assert len(new) == 4 * 3 * K
    # The judge is asked both orders of its new comparisons, those with equal texts once.
    assert f"arena/leagues/duel/judge referee {asked(project, 'wordy')}/" in said
    for name in MODELS:
        path = f"data/arena/respond/{name}.parquet"
        assert project.artifacts()[path] == before[path]


def asked(project: Project, model: str) -> int:
    """Requests of the referee that belong to comparisons of one model alone."""
    mine = {
        row["comparison_id"]
        for row in project.table("data/arena/leagues/duel/sheet_key.parquet")
        if model in (row["model_1"], row["model_2"])
    }
    rows = project.table("data/arena/leagues/duel/judge/referee.asked.parquet")
    others = {row["request_id"] for row in rows if row["comparison_id"] not in mine}
    return len({row["request_id"] for row in rows if row["comparison_id"] in mine} - others)


def test_an_arena_without_a_vote_is_listed_as_unknown(
    new_project: Callable[[dict[str, Any]], Project],
) -> None:
    params = arena_params()
    params["arena"]["leagues"]["duel"] |= {"judges": ["mute"], "key": False, "k": 3}
    project = new_project(params)
    project.build()
    rows = project.table("results/arena.parquet")
    assert {row["status"] for row in rows} == {"not_computable"}
    assert {row["rating"] for row in rows} == {None}
    assert all(row["reason"] for row in rows)


@pytest.mark.parametrize("similarity", ["token", "judge"])
def test_instructions_are_chosen_by_the_similarity_that_is_asked_for(
    similarity: str, new_project: Callable[[dict[str, Any]], Project]
) -> None:
    params = arena_params()
    params["models"]["kit"] = {
        "engine": "scripted",
        "script": "similarity_judge",
        "script_args": {"unreadable": 0.2},
    }
    more = {"similarity_judge": "kit"} if similarity == "judge" else {}
    params["arena"]["leagues"]["duel"] |= {"judges": [], "k": 6, "similarity": similarity, **more}
    project = new_project(params)
    project.build()
    folder = "data/arena/leagues/duel"
    rows = project.table(f"{folder}/selections.parquet")
    assert len(rows) == 3 * 6
    assert all(0 <= row["similarity"] <= 1 for row in rows)
    if similarity == "token":
        assert not (project.path / folder / "similarity").exists()
        return
    scored = {
        (row["model_a"], row["model_b"], row["instruction_id"]): row
        for row in project.table(f"{folder}/similarity/kit.parquet")
    }
    assert len(scored) == 3 * 60
    assert {row["status"] for row in scored.values()} == {"ok", "invalid"}
    for row in rows:
        found = scored[row["model_a"], row["model_b"], row["instruction_id"]]
        assert (found["status"], found["similarity"]) == ("ok", row["similarity"])
    counts = json.loads((project.path / folder / "selections.json").read_text(encoding="utf-8"))
    lost = sum(sum(row["unscored"].values()) for row in counts if "unscored" in row)
    assert lost == sum(row["status"] != "ok" for row in scored.values()) > 0
