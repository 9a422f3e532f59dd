"""Runs that are killed, refused, starved or fed nonsense: what is kept, what is said, what comes out in the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, Project, scripted_params

pytestmark = pytest.mark.slow

NewProject = Callable[[dict[str, Any]], Project]
MAKE_RUN = ("--quiet", "rules", "host")
DONE = "data/teaching/scripted/trajectories.parquet"


def small_params() -> dict[str, Any]:
    """One teacher, one student, one round, twelve items."""
    params = scripted_params(12, rounds=1)
    league = params["teaching"]["leagues"]["scripted"]
    league |= {"students": ["guesser"], "teachers": ["judge-80"], "arms": []}
    params["items"]["ladder"] = []
    return params


def start(project: Project, *arguments: str) -> subprocess.Popen[str]:
    """Start what `make run` starts, in a process group of its own."""
    return subprocess.Popen(
        project.command(*MAKE_RUN, *arguments),
        cwd=project.path,
        env=project.environment() | {"MAGISTER_PROGRESS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def make_run(project: Project, *arguments: str) -> tuple[int, str]:
    """Run it to its end: the exit code and all that a user reads."""
    process = start(project, *arguments)
    try:
        said, _ = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        kill(process)
        raise
    return process.returncode, said


def kill(process: subprocess.Popen[str]) -> None:
    """End a run and all of its jobs as a power cut would."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a running process has made a file."""
    until = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < until, path
        time.sleep(0.02)


def outputs(project: Project) -> dict[str, bytes]:
    """All artifacts but what a killed writer left beside them under a hidden name."""
    return {name: data for name, data in project.artifacts().items() if not Path(name).name.startswith(".")}


def asked(project: Project, model: str) -> list[str]:
    """Keys in a model's store, in order."""
    return [
        json.loads(line)["custom_id"]
        for path in sorted((project.path / "store" / model).glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


# Killed


@pytest.fixture(scope="module")
def whole(new_project: NewProject) -> Project:
    """A project whose run nobody disturbed."""
    project = new_project(small_params())
    project.build("--", DONE)
    return project


class Killed:
    """A project whose run was killed three times and then left alone."""

    MOMENTS = (
        "data/items/pool/sums.parquet",
        "store/guesser/teaching.scripted.blind_answers.jsonl",
        "data/teaching/scripted/round1/guide/judge-80.requests.jsonl",
    )

    def __init__(self, project: Project) -> None:
        self.project = project
        self.beside: tuple[int, str] = (0, "")
        for number, moment in enumerate(self.MOMENTS):
            process = start(project, "--", DONE)
            wait_for(project.path / moment, process)
            if number == 0:
                self.beside = make_run(project, "--", DONE)
                assert process.poll() is None, "the first run ended before the second one was refused"
            kill(process)
        self.locks = list((project.path / ".snakemake/locks").iterdir())
        self.last = make_run(project, "--", DONE)


@pytest.fixture(scope="module")
def killed(new_project: NewProject) -> Killed:
    return Killed(new_project(small_params()))


def test_a_run_that_was_killed_goes_on_where_it_stopped(killed: Killed) -> None:
    assert killed.locks, "a killed run leaves its lock, or this test shows nothing"
    code, said = killed.last
    assert code == 0, said
    # What was finished before the last kill is not done again.
    assert not any(
        line.startswith(("pool_items", "build_items", "blind_answers")) for line in said.splitlines()
    )


def test_a_killed_run_ends_with_the_bytes_of_an_undisturbed_one(killed: Killed, whole: Project) -> None:
    assert outputs(killed.project) == outputs(whole)


def test_a_killed_run_asks_nothing_twice(killed: Killed, whole: Project) -> None:
    for model in ("guesser", "judge-80"):
        keys = asked(killed.project, model)
        assert len(keys) == len(set(keys))
        assert sorted(keys) == sorted(asked(whole, model))


def test_a_second_run_in_the_same_folder_is_refused_while_the_first_lives(killed: Killed) -> None:
    code, said = killed.beside
    assert code != 0
    assert "Another Snakemake process works in this folder" in said
    assert "Traceback" not in said


def test_an_answer_torn_by_a_power_cut_is_asked_again(killed: Killed, whole: Project) -> None:
    project = killed.project
    store = project.path / "store/guesser/teaching.scripted.blind_answers.jsonl"
    before = store.read_bytes()
    store.write_bytes(before[:-40])
    responses = "data/teaching/scripted/blind_answers/guesser.responses.jsonl"
    (project.path / responses).unlink()
    said = project.build("--", responses)
    assert "dropping a torn last line" in said
    assert store.read_bytes() == before
    assert outputs(project) == outputs(whole)


def test_make_run_is_what_is_tested_here() -> None:
    command = f"MAGISTER_PROGRESS=1 $(BIN)/snakemake --cores $(CORES) {' '.join(MAKE_RUN)}\n"
    assert command in (ROOT / "Makefile").read_text(encoding="utf-8")


# An endpoint that fails


class Endpoint(ThreadingHTTPServer):
    """A teacher behind an OpenAI-compatible address.

    It fails on the first `failing` guides that it is asked for, and the twelfth is too long for it.
    """

    failing = 0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.guides: list[str] = []

    def reply(self, messages: list[dict[str, str]]) -> tuple[int, str]:
        """Status and text."""
        if "You are a teacher" not in messages[0]["content"]:
            return 200, "Answer: 1"
        self.guides.append(messages[-1]["content"])
        if len(self.guides) <= self.failing:
            return 500, "the server is on fire"
        if len(self.guides) == 12:
            return 400, "This model's maximum context length is 10 tokens."
        return 200, "Verdict: wrong\nGuidance: Add once more."


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, text = self.server.reply(body["messages"])
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        reply: dict[str, Any] = {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice]}
        if status != 200:
            reply = {"error": {"message": text, "type": "error"}}
        data = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


class Failing:
    """A league whose teacher fails in half of its guides, then in two of those, then no more."""

    def __init__(self, project: Project, endpoint: Endpoint) -> None:
        self.project = project
        endpoint.failing = 6
        self.above = make_run(project)
        self.log = (project.path / "logs/complete/teaching/scripted/round1/guide/judge-80.log").read_text()
        self.first = list(endpoint.guides)
        endpoint.guides.clear()
        endpoint.failing = 2
        self.below = make_run(project)
        self.second = list(endpoint.guides)


@pytest.fixture(scope="module")
def failing(new_project: NewProject, endpoint: Endpoint) -> Failing:
    params = small_params()
    params["models"]["judge-80"] = {
        "engine": "openai",
        "served_name": "m",
        "base_url": f"http://127.0.0.1:{endpoint.server_port}/v1",
        "limits": {"attempts": 1, "backoff": 0.01, "concurrency": 1},
    }
    params["llm"] = {"max_error_share": 0.2}
    return Failing(new_project(params), endpoint)


def test_too_many_errors_stop_the_run_with_counts_and_what_to_do(failing: Failing) -> None:
    code, said = failing.above
    assert code != 0
    assert "6 of 12 requests got no answer (server 6)" in said
    assert "llm.max_error_share" in said
    assert "finished answers are kept" in said
    assert "The run stopped." in said
    assert "Traceback" not in said
    assert "python -m scripts" not in said
    assert "6 of 12 requests" in failing.log


def test_running_again_asks_only_what_is_missing(failing: Failing) -> None:
    code, said = failing.below
    assert code == 0, said
    assert len(failing.first) == 12
    assert sorted(failing.second) == sorted(failing.first[:6])


def test_few_errors_are_counted_dropped_and_never_wrong(failing: Failing) -> None:
    guides = failing.project.table("data/teaching/scripted/round1/guide/judge-80.parquet")
    assert [row["status"] for row in guides].count("error") == 2
    lost = {row["item_id"] for row in guides if row["status"] == "error"}
    for row in failing.project.table(DONE):
        if row["round"] == 1:
            assert (row["status"] == "error") == (row["correct"] is None) == (row["item_id"] in lost)
    (row,) = failing.project.table("results/teaching.parquet")
    assert (row["n_error"], row["n_dropped"], row["n_cells"]) == (2, 2, 10)


def test_a_context_beyond_the_window_is_a_status_and_the_answer_stands(failing: Failing) -> None:
    guides = failing.project.table("data/teaching/scripted/round1/guide/judge-80.parquet")
    (item_id,) = [row["item_id"] for row in guides if row["status"] == "context_exceeded"]
    before, after = sorted(
        (row for row in failing.project.table(DONE) if row["item_id"] == item_id),
        key=lambda row: row["round"],
    )
    assert after["guide_status"] == "context_exceeded"
    assert (after["answer"], after["correct"]) == (before["answer"], before["correct"])
    assert after["correct"] is not None


# Nonsense in


def refused(project: Project, *arguments: str) -> str:
    """Run and expect a message that is meant for a user."""
    code, said = make_run(project, *arguments)
    assert code != 0
    assert "Traceback" not in said
    return said


def test_bad_parameters_are_one_message_that_names_them(new_project: NewProject) -> None:
    params = small_params()
    project = new_project(params)
    params["teaching"]["leagues"]["scripted"]["teachers"] = ["nobody"]
    project.write_params(params)
    assert "teaching.leagues.scripted.teachers: unknown model 'nobody'; known: " in refused(project)
    (project.path / "params.yaml").write_text("models: [\n")
    assert "params.yaml: not valid YAML" in refused(project)
    (project.path / "params.yaml").write_text("models: {}\nmodels: {}\n")
    assert "the key 'models' stands there twice" in refused(project)
    (project.path / "params.yaml").unlink()
    assert "params.yaml: not found" in refused(project)


@pytest.fixture(scope="module")
def own(new_project: NewProject) -> Project:
    """A project on a file of the user's."""
    params = small_params()
    params["items"]["datasets"]["mine"] = {"kind": "file", "path": "mine.jsonl"}
    return new_project(params)


def write_mine(project: Project, lines: list[Any]) -> None:
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    (project.path / "mine.jsonl").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("lines", [[], ["not json"]])
def test_a_file_without_a_usable_row_stops_the_run_and_is_named(own: Project, lines: list[str]) -> None:
    write_mine(own, lines)
    assert "mine" in refused(own, "--", "data/items/gate.json")


def test_a_missing_file_stops_the_run_and_is_named(own: Project) -> None:
    (own.path / "mine.jsonl").unlink(missing_ok=True)
    assert "mine.jsonl" in refused(own, "--", "data/items/gate.json")


def test_rows_that_cannot_be_used_stand_with_their_reasons(own: Project) -> None:
    good = [
        {
            "question": f"Which letter is number {n}?",
            "options": list("abcd"),
            "answer": "ABCD"[n % 4],
            "id": n,
        }
        for n in range(8)
    ]
    twice = [
        {"question": f"Same id {n}?", "options": ["x", "y"], "answer": "A", "id": "twice"} for n in range(2)
    ]
    colliding = {"question": "Half?", "options": ["1/2", " 1/2 ", "3"], "answer": "C"}
    outside = {"question": "Outside?", "options": ["x", "y"], "answer": "F"}
    write_mine(
        own,
        [
            *good,
            *twice,
            colliding,
            outside,
            "{broken",
            {"question": "", "options": ["x", "y"], "answer": "A"},
        ],
    )
    own.build("--", "data/items/pool/mine.parquet")
    assert len(own.table("data/items/pool/mine.parquet")) == len(good)
    rejected = own.table("data/items/pool_rejected/mine.parquet")
    assert {(row["source_row"], row["reason"]) for row in rejected} == {
        (9, "duplicate_id"),
        (10, "duplicate_id"),
        (11, "duplicate_options"),
        (12, "key_outside_options"),
        (13, "malformed_row"),
        (14, "missing_question"),
    }


# No room


@pytest.mark.parametrize("name", ["data", "results", "store", "logs"])
def test_a_file_where_a_folder_should_be_is_named(new_project: NewProject, name: str) -> None:
    project = new_project(small_params())
    (project.path / name).write_text("in the way")
    assert f"{name}: expected a folder" in refused(project)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
@pytest.mark.parametrize("name", ["results", "store"])
def test_a_folder_that_cannot_be_written_to_is_named(new_project: NewProject, name: str) -> None:
    project = new_project(small_params())
    (project.path / name).mkdir(mode=0o555)
    assert f"{name}: cannot be written to" in refused(project)


def test_a_store_that_cannot_be_written_to_stops_the_step_and_is_named(killed: Killed) -> None:
    project, responses = killed.project, "data/teaching/scripted/blind_answers/guesser.responses.jsonl"
    store, aside = project.path / "store/guesser", project.path / "store/aside"
    store.rename(aside)
    store.write_text("in the way")
    (project.path / responses).unlink()
    said = refused(project, "--", responses)
    store.unlink()
    aside.rename(store)
    project.build("--", responses)
    assert "store/guesser: answers cannot be stored" in said
    assert "The run stopped." in said
