"""Variants of the items through the real rules, and a league that is played on one."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from magister.answers import canonical_value
from magister.config.params import load_params
from magister.jobs import count_jobs
from magister.provenance import read_lineage

from .conftest import Project, scripted_params
from .test_plan import calls, plan

VARIANTS: dict[str, dict[str, Any]] = {
    "shuffled": {"order": 1},
    "redrawn": {"distractors": 1},
    "worded": {"paraphraser": "wordsmith", "reviewer": "critic"},
    "moved": {"order": 2, "distractors": 2, "paraphraser": "wordsmith"},
}


def varied_params(n: int = 12) -> dict[str, Any]:
    """A league on the items as built and the same on a variant that changes everything."""
    params = scripted_params(n, rounds=1)
    params["items"] |= {"ladder": [], "pad": "numeric_neighbours", "variants": VARIANTS}
    params["items"]["datasets"]["sums"]["generator_args"] = {}
    params["models"] |= {
        "wordsmith": {"engine": "scripted", "script": "paraphraser"},
        "critic": {"engine": "scripted", "script": "reviewer"},
    }
    leagues = params["teaching"]["leagues"]
    leagues["scripted"] |= {"students": ["obedient"], "teachers": ["teller"], "arms": ["sham", "oracle_tell"]}
    leagues["moved"] = leagues["scripted"] | {"items_variant": "moved"}
    return params


@pytest.fixture(scope="module")
def project(new_project: Callable[[dict[str, Any]], Project]) -> Project:
    made = new_project(varied_params())
    made.build()
    return made


def rows_of(project: Project, name: str) -> dict[str, dict[str, Any]]:
    return {row["item_id"]: row for row in project.table(f"data/items/{name}.parquet")}


def test_every_variant_holds_the_same_items(project: Project) -> None:
    built = rows_of(project, "items")
    for name in VARIANTS:
        varied = rows_of(project, f"variants/{name}/items")
        assert varied.keys() == built.keys()
        for item_id, row in varied.items():
            before = built[item_id]
            assert row["cluster_id"] == before["cluster_id"]
            assert canonical_value(row["gold"]) == canonical_value(before["gold"])
            assert row["options"]["ABCD".index(row["key"])] == row["gold"]


def test_each_variant_changes_what_it_says_and_nothing_else(project: Project) -> None:
    built = rows_of(project, "items")
    for name, asked in VARIANTS.items():
        varied = rows_of(project, f"variants/{name}/items")
        for report in project.table(f"data/items/variants/{name}/report.parquet"):
            row, before = varied[report["item_id"]], built[report["item_id"]]
            assert (row["question"] != before["question"]) == ("paraphraser" in asked)
            assert (set(row["options"]) != set(before["options"])) == ("distractors" in asked)
            assert report["stem_status"] == ("paraphrased" if "paraphraser" in asked else "as_built")
            assert report["options_status"] == ("redrawn" if "distractors" in asked else "as_built")
            assert (report["review"] is not None) == ("reviewer" in asked)


def test_keys_stay_balanced_in_another_order(project: Project) -> None:
    built, varied = rows_of(project, "items"), rows_of(project, "variants/shuffled/items")
    assert Counter(row["key"] for row in varied.values()) == dict.fromkeys("ABCD", 3)
    assert [row["key"] for row in varied.values()] != [row["key"] for row in built.values()]


def test_the_gate_holds_every_variant_to_its_promises(project: Project) -> None:
    report = json.loads((project.path / "data/items/gate.json").read_text())
    tables = {entry["table"] for entry in report["expectations"]}
    assert tables >= {"variant_report", *(f"variants/{name}" for name in VARIANTS)}
    assert tables >= {f"variants/{name}/key_balance" for name in VARIANTS}


def test_a_league_on_a_variant_asks_its_items_and_passes_its_gate(project: Project) -> None:
    varied = rows_of(project, "variants/moved/items")
    asked = (project.path / "data/teaching/moved/blind_answers/obedient.requests.jsonl").read_text()
    assert all(json.dumps(row["question"])[1:-1] in asked for row in varied.values())
    assert json.loads((project.path / "data/teaching/moved/gate.json").read_text())["success"]
    lineage = read_lineage(project.path / "data/teaching/moved/trajectories.parquet")
    assert "data/items/variants/moved/items.parquet" in lineage["inputs"]
    board = {row["league"] for row in project.table("results/teaching.parquet")}
    assert board == {"scripted", "moved"}
    told = [
        row
        for row in project.table("data/teaching/moved/trajectories.parquet")
        if (row["arm"], row["student"], row["round"]) == ("oracle_tell", "obedient", 1)
    ]
    assert len(told) == len(varied)
    assert all(row["correct"] for row in told)


def test_a_plan_foresees_what_variants_ask(
    project: Project, new_project: Callable[[dict[str, Any]], Project]
) -> None:
    fresh = new_project(varied_params())
    done = fresh.run("-n", "--quiet", "progress")
    jobs = set(re.findall(r"^Job (\d+):", done.stdout + done.stderr, re.MULTILINE))
    assert count_jobs(load_params(fresh.path / "params.yaml")) == len(jobs)
    files = (project.path / "data").rglob("*.requests.jsonl")
    asked = sum(len(path.read_text().splitlines()) for path in files)
    assert calls(plan(project)) == asked <= calls(plan(fresh))


def test_variants_leave_the_other_leagues_as_they_were(
    project: Project, new_project: Callable[[dict[str, Any]], Project]
) -> None:
    params = varied_params()
    del params["items"]["variants"], params["teaching"]["leagues"]["moved"]
    plain = new_project(params)
    plain.build()
    before = {
        name: data for name, data in plain.artifacts().items() if name.startswith("data/teaching/scripted/")
    }
    after = project.artifacts()
    # The gate of the items, which speaks of the variants, is an input of the first requests.
    changed = {name for name, data in before.items() if after[name] != data}
    assert changed <= {name for name in before if name.endswith("requests.jsonl.lineage.json")}
    assert set(before) == {name for name in after if name.startswith("data/teaching/scripted/")}


def test_a_paraphrase_that_the_reviewer_faults_is_not_taken(project: Project) -> None:
    params = project.params()
    params["models"]["critic"]["script_args"] = {"fails": "meaning_kept"}
    project.write_params(params)
    project.build("data/items/variants/worded/items.parquet")
    for row in project.table("data/items/variants/worded/report.parquet"):
        assert row["stem_status"] == "fallback:review_failed:meaning_kept"
        assert json.loads(row["review"])["meaning_kept"] is False
