"""The scripted league through the real rules: results that are known in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest

from magister.audit.recompute import recompute_boards
from magister.provenance import file_md5, read_lineage
from magister.teaching.metrics import check_identities

from .conftest import Project, scripted_params

N, Q, OPTIONS = 60, 0.8, 4


@pytest.fixture(scope="module")
def league(new_project: Callable[[dict[str, Any]], Project]) -> Project:
    project = new_project(scripted_params(N))
    project.build()
    return project


def metric(project: Project, teacher: str, name: str) -> dict[str, Any]:
    """The overall row of a metric, in its last round."""
    rows = [
        row
        for row in project.table("data/teaching/scripted/metrics.parquet")
        if (row["teacher"], row["metric"], row["slice_kind"]) == (teacher, name, "overall")
        and row["arm"] in ("taught", teacher)
    ]
    return max(rows, key=lambda row: row["round"])


def cells(
    project: Project, teacher: str, student: str, arm: str = "taught"
) -> dict[str, dict[int, dict[str, Any]]]:
    """Rows of one teacher and student by item and round; a control arm without a teacher has its own name."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for row in project.table("data/teaching/scripted/trajectories.parquet"):
        if (row["teacher"], row["student"]) == (teacher, student) and row["arm"] in (arm, teacher):
            found.setdefault(row["item_id"], {})[row["round"]] = row
    return found


def test_every_teacher_stands_on_the_board(league: Project) -> None:
    board = league.table("results/teaching.parquet")
    taught = {row["teacher"] for row in board if row["arm"] == "taught"}
    assert taught == {"judge-80", "always-wrong", "always-right", "teller", "silent"}
    assert (league.path / "results/teaching.csv").read_text().count("\n") == len(board) + 1
    assert "judge-80" in (league.path / "results/teaching.md").read_text()


def test_every_cell_of_its_board_is_recomputed(league: Project) -> None:
    found = recompute_boards(league.path)
    assert found.findings == []
    assert found.counted["teaching"] > 100_000


def test_identities_hold_on_its_trajectories(league: Project) -> None:
    table = pq.read_table(league.path / "data/teaching/scripted/trajectories.parquet")
    identities = check_identities(table)
    assert {identity.name for identity in identities} >= {"RA telescopes", "CA decomposes"} or identities
    assert max(identity.difference for identity in identities) <= 1e-12


def test_judging_everything_wrong_is_right_as_often_as_students_are_wrong(league: Project) -> None:
    start = [row for row in league.table("data/teaching/scripted/trajectories.parquet") if row["round"] == 0]
    first = [row["correct"] for row in start if row["teacher"] == "always-wrong"]
    assert metric(league, "always-wrong", "JA")["value"] == pytest.approx(
        1 - sum(first) / len(first), abs=1e-12
    )
    assert metric(league, "always-right", "JA")["value"] == pytest.approx(sum(first) / len(first), abs=1e-12)


def test_reguessing_students_gain_q_over_k_minus_one(league: Project) -> None:
    rounds = cells(league, "judge-80", "guesser").values()
    wrong = [item for item in rounds if not item[0]["correct"]]
    expected = Q / (OPTIONS - 1)
    share = sum(item[1]["correct"] for item in wrong) / len(wrong)
    assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / len(wrong))


def test_stubborn_students_and_silent_teachers_change_nothing(league: Project) -> None:
    for teacher in ("judge-80", "teller", "always-wrong"):
        for item in cells(league, teacher, "stubborn").values():
            assert len({row["answer"] for row in item.values()}) == 1
    for student in ("guesser", "obedient"):
        for item in cells(league, "silent", student).values():
            assert len({row["answer"] for row in item.values()}) == 1
    silent = metric(league, "silent", "CA")
    assert (silent["value"], silent["status"]) == (0.0, "ok") or silent["value"] == 0.0


def test_telling_lifts_obedient_students_to_the_ceiling(league: Project) -> None:
    for teacher in ("teller", "oracle_tell"):
        assert all(item[1]["correct"] for item in cells(league, teacher, "obedient").values())
    assert not any(item[1]["correct"] for item in cells(league, "wrong_oracle", "obedient").values())


def test_ablations_start_from_the_measured_league(league: Project) -> None:
    rows = league.table("data/ablations/scripted/ablations.parquet")
    assert {row["ablation"] for row in rows} == {"full", "leave_one_student", "cumulative", "rounds"}
    for row in rows:
        if row["ablation"] == "full":
            assert row["value"] == pytest.approx(metric(league, row["teacher"], row["metric"])["value"])
    # The stubborn student gains nothing from anyone: without it CA is half as large again.
    without = [row for row in rows if row["setting"] == "stubborn" and row["metric"] == "CA"]
    assert len(without) == 5
    for row in without:
        assert row["value"] == pytest.approx(1.5 * row["whole"])
    agreement = league.table("data/ablations/scripted/agreement.parquet")
    (alike,) = [row for row in agreement if row["setting"] == "stubborn" and row["metric"] == "CA"]
    assert (alike["spearman"], alike["n_swapped"]) == (1.0, 0)


def test_a_verdict_alone_explains_what_a_judge_does_and_not_what_a_teller_does(league: Project) -> None:
    for teacher, student, q in (("judge-80", "guesser", Q), ("teller", "obedient", 1.0)):
        rounds = cells(league, teacher, student, "verdict_only").values()
        wrong = [item for item in rounds if not item[0]["correct"]]
        expected = q / (OPTIONS - 1)
        share = sum(item[1]["correct"] for item in wrong) / len(wrong)
        assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / len(wrong))


def test_the_verdict_of_round_one_is_asked_once_for_both_arms(league: Project) -> None:
    rows = league.table("data/teaching/scripted/round1/guide/judge-80.parquet")
    by_arm = {
        arm: {(row["student"], row["item_id"]): row for row in rows if row["arm"] == arm}
        for arm in ("taught", "verdict_only")
    }
    assert by_arm["taught"].keys() == by_arm["verdict_only"].keys()
    for cell, row in by_arm["verdict_only"].items():
        taught = by_arm["taught"][cell]
        assert (row["request_id"], row["verdict"]) == (taught["request_id"], taught["verdict"])
        assert (row["guidance"], row["leak"]) == ("", "none")


def test_a_teacher_that_tells_is_caught_leaking(league: Project) -> None:
    rows = league.table("data/teaching/scripted/round1/guide/teller.parquet")
    assert {row["leak"] for row in rows if row["arm"] == "taught"} == {"gold"}
    rows = league.table("data/teaching/scripted/round1/guide/judge-80.parquet")
    assert {row["leak"] for row in rows} == {"none"}


def test_teachers_never_see_options(league: Project) -> None:
    text = (league.path / "data/teaching/scripted/round1/guide/judge-80.requests.jsonl").read_text()
    assert "A) " not in text
    for row in league.table("data/items/items.parquet"):
        assert f"A) {row['options'][0]}\\nB) {row['options'][1]}" not in text


def test_blind_answers_are_asked_once_for_all_teachers(league: Project) -> None:
    rows = (
        (league.path / "data/teaching/scripted/blind_answers/guesser.requests.jsonl").read_text().splitlines()
    )
    assert len(rows) == N
    ladder = (league.path / "store/guesser").glob("*ladder*")
    asked = sum(len(path.read_text().splitlines()) for path in ladder)
    blind = sum(len(p.read_text().splitlines()) for p in (league.path / "store/guesser").glob("*blind*"))
    assert asked + blind == N


def test_every_artifact_carries_its_lineage(league: Project) -> None:
    md5 = {name: file_md5(league.path / name) for name in league.artifacts()}
    for name in md5:
        if name.endswith(".lineage.json"):
            continue
        record = read_lineage(league.path / name)
        assert record["inputs"].items() <= {**md5, **_sources(league)}.items(), name
        assert str(league.path) not in str(record)
        assert record["code"], name


def _sources(project: Project) -> dict[str, str]:
    return {
        path.relative_to(project.path).as_posix(): file_md5(path)
        for path in (project.path / "prompts").rglob("*.md")
    }


def test_running_again_does_nothing(league: Project) -> None:
    before = league.artifacts()
    assert "Nothing to be done" in league.build("--dry-run")
    assert league.artifacts() == before


def test_the_same_bytes_come_out_on_one_core_in_another_folder(
    league: Project, new_project: Callable[[dict[str, Any]], Project]
) -> None:
    other = new_project(league.params())
    other.build(cores=1)
    assert other.artifacts() == league.artifacts()


def test_a_new_teacher_asks_only_its_own_questions(
    new_project: Callable[[dict[str, Any]], Project],
) -> None:
    params = scripted_params(12, rounds=1)
    league = params["teaching"]["leagues"]["scripted"]
    league["teachers"] = ["judge-80"]
    project = new_project(params)
    project.build()
    asked = {path: path.read_text() for path in (project.path / "store").rglob("*.jsonl")}
    league["teachers"] = ["judge-80", "teller"]
    project.write_params(params)
    project.build()
    for path, text in asked.items():
        assert path.read_text().startswith(text)
    assert (project.path / "store/judge-80").is_dir()
    guides = project.path / "store/judge-80/teaching.scripted.round1.guide.jsonl"
    assert guides.read_text() == asked[guides]
