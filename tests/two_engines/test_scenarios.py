"""What people do with the two engines, each of which must leave both in agreement."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest

from magister.pipeline import MANIFEST, hash_files, read_manifest
from tests.two_engines.conftest import RATING, Done, Project, rewrite, tiny_params

Rebuild = Callable[[Project], Done]


def test_after_a_full_run_both_engines_are_quiet(project: Project) -> None:
    project.is_quiet()
    done = project.dvc("repro")
    assert not done.ran
    project.is_quiet()


def test_an_edit_of_a_parameter_reruns_what_depends_on_it(project: Project, rebuild: Rebuild) -> None:
    before = project.md5s()
    project.edit("statistics.resamples", 300)
    assert rebuild(project).ran >= RATING
    assert not rebuild(project).ran
    project.is_quiet()
    after = project.md5s()
    changed = {name for name in before if before[name] != after.get(name)}
    assert before.keys() == after.keys()
    assert "data/teaching/tiny/metrics.parquet" in changed
    assert not any(name.startswith(("data/items", "data/models")) for name in changed)


def test_an_edit_of_the_first_stage_reaches_the_boards(project: Project, rebuild: Rebuild) -> None:
    project.edit("items.datasets.sums.seed", 4)
    ran = rebuild(project).ran
    assert {"pool_items/sums", "teaching_board"} <= ran
    assert not any(name.startswith("fingerprint_model") for name in ran)
    project.is_quiet()


def test_a_file_changed_by_hand_is_made_again(project: Project, rebuild: Rebuild) -> None:
    before = project.md5s()
    rewrite(project, "data/items/items.parquet", "question")
    assert project.md5s() != before
    rebuild(project)
    assert project.md5s() == before
    project.is_quiet()


def test_a_model_is_added_and_removed(project: Project, rebuild: Rebuild) -> None:
    before = project.md5s()
    params = project.params()
    params["models"]["mute"] = {
        **params["models"]["judge"],
        "script_args": {"mode": "silent", "accuracy": 0.5},
    }
    params["teaching"]["leagues"]["tiny"]["teachers"].append("mute")
    project.write_params(params)
    rebuild(project)
    assert "data/teaching/tiny/round1/guide/mute.parquet" in project.md5s()
    project.is_quiet()
    project.write_params(tiny_params())
    rebuild(project)
    assert project.md5s() == before
    project.is_quiet()


def test_a_failing_job_leaves_nothing_certified(project: Project, rebuild: Rebuild) -> None:
    lock = (project.path / "dvc.lock").read_bytes()
    before = project.md5s()
    # A word where the generator wants a number: found when the job runs.
    project.edit("items.datasets.sums.generator_args", {"options": 4, "high": "many"})
    with pytest.raises(AssertionError, match="sums"):
        rebuild(project)
    assert (project.path / "dvc.lock").read_bytes() == lock
    assert "items" in project.dvc("status").text
    project.write_params(tiny_params())
    rebuild(project)
    assert project.md5s() == before
    project.is_quiet()


def test_a_run_killed_midway_is_taken_up(project: Project, rebuild: Rebuild) -> None:
    before = project.md5s()
    limits = {"answer": 24, "guide": 64, "revise": 25}
    project.edit("teaching.max_tokens", limits)
    process = project.start("snakemake", "--cores", "2")
    logs = project.logs()
    step = "revise_requests/tiny/1/pupil"
    deadline = time.monotonic() + 60
    while project.logs().get(step) == logs[step] and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert "changed" in project.dvc("status").text
    project.edit("teaching.max_tokens", {**limits, "revise": 24})
    rebuild(project)
    assert project.md5s() == before
    project.is_quiet()


def test_dvc_takes_nothing_away_from_a_run_beside_it(project: Project) -> None:
    project.edit("teaching.max_tokens", {"answer": 24, "guide": 64, "revise": 25})
    process = project.start("snakemake", "--cores", "2")
    logs = project.logs()
    step, deadline = "revise_requests/tiny/1/pupil", time.monotonic() + 60
    while project.logs().get(step) == logs[step] and time.monotonic() < deadline:
        time.sleep(0.01)
    refused = project.try_run("dvc", "repro")
    assert process.poll() is None
    assert refused.code != 0
    assert "being blocked by" in refused.text
    assert f"(PID {process.pid}): snakemake" in refused.text
    assert process.wait() == 0
    project.is_quiet()


def test_every_engine_names_the_files_that_it_records(project: Project, rebuild: Rebuild) -> None:
    project.edit("statistics.resamples", 300)
    rebuild(project)
    named = read_manifest(project.path / MANIFEST)
    assert {name: md5 for name, md5 in named.items() if not name.startswith("store/")} == project.md5s()
    assert named == hash_files(project.path, named)


def test_an_edit_of_a_question_file_is_seen_by_both_engines(project: Project) -> None:
    questions = project.path / "questions.jsonl"
    lines = [f'{{"question": "What is {n} + 1?", "answer": "{n + 1}"}}\n' for n in range(4)]
    questions.write_text("".join(lines), encoding="utf-8")
    project.edit("items.datasets.own", {"kind": "file", "path": "questions.jsonl", "domain": "mathematics"})
    project.edit("items.pad", "numeric_neighbours")
    refused = project.try_run("snakemake", "--cores", "2")
    assert refused.code != 0
    assert "path: data/own/questions.jsonl" in refused.text
    moved = project.path / "data" / "own" / "questions.jsonl"
    questions.rename(moved)
    project.edit("items.datasets.own.path", "data/own/questions.jsonl")
    assert "pool_items/own" in project.dvc("repro", "items").ran
    with moved.open("a", encoding="utf-8") as file:
        file.write('{"question": "What is 20 + 1?", "answer": "21"}\n')
    assert "data/own" in project.dvc("status").text
    assert "Reading the data set own" in project.snakemake("--dry-run").text
