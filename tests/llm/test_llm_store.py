"""The store: crash-safe at any byte, one writer at a time, nothing asked twice."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from llm_helpers import DELAY, LOG, Job, prepare, scripted

from magister.errors import UserError
from magister.llm import Store
from magister.llm._rows import failure, success
from magister.llm._store import Index, read_row, scan

HELPER = Path(__file__).with_name("llm_helpers.py")


def answer(key: str, text: str = "yes") -> dict[str, Any]:
    return success(
        key, {"model": "m", "choices": [{"finish_reason": "stop", "message": {"content": text}}]}, 1
    )


def fill(store: Store, *rows: dict[str, Any]) -> None:
    with store.writer() as writer:
        for row in rows:
            writer.append(row)


def text_at(index: Index, key: str) -> str:
    place = index.finished[key]
    with place.path.open("rb") as file:
        message = read_row(file, place)["response"]["body"]["choices"][0]["message"]
    return str(message["content"])


def test_a_row_holds_the_answer_and_nothing_that_changes_from_call_to_call(tmp_path: Path) -> None:
    body = {
        "id": "chatcmpl-1",
        "created": 1700000000,
        "model": "m-2026",
        "system_fingerprint": "fp",
        "timings": {"ms": 3},
        "choices": [
            {
                "index": 0,
                "finish_reason": "length",
                "logprobs": None,
                "message": {"role": "assistant", "content": "a\ud800b", "reasoning": "hm", "tool_calls": []},
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}},
    }
    store = Store(tmp_path, "m", "guide/round1")
    fill(store, success("k", body, 3))
    assert store.path == tmp_path / "m" / "guide.round1.jsonl"
    assert json.loads(store.path.read_text(encoding="utf-8")) == {
        "custom_id": "k",
        "response": {
            "status_code": 200,
            "body": {
                "model": "m-2026",
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": "length",
                        "message": {"role": "assistant", "content": "a\ufffdb", "reasoning_content": "hm"},
                    }
                ],
                "usage": {"prompt_tokens": 1, "completion_tokens": 2},
            },
        },
        "error": None,
        "attempts": 3,
    }


def test_a_last_row_torn_at_any_byte_is_dropped_and_the_others_are_kept(tmp_path: Path) -> None:
    store = Store(tmp_path, "m", "task")
    fill(store, answer("a"), answer("b"), answer("c", "né\u2028"))
    whole = store.path.read_bytes()
    start = whole.rindex(b"\n", 0, -1) + 1
    for cut in range(start, len(whole)):
        store.path.write_bytes(whole[:cut])
        assert set(store.look_up({"a", "b", "c"}).finished) == {"a", "b"}
        fill(store, answer("c", "né\u2028"))
        assert store.path.read_bytes() == whole, cut
    store.path.write_bytes(whole)
    assert set(store.look_up({"a", "b", "c"}).finished) == {"a", "b", "c"}


@pytest.mark.parametrize("tail", [b"\0\0\0\0\n", b"{}\n", b"[1]\n", b"x" * 200_000, b"\n"])
def test_a_senseless_last_line_is_dropped(tmp_path: Path, tail: bytes) -> None:
    store = Store(tmp_path, "m", "task")
    fill(store, answer("a"))
    whole = store.path.read_bytes()
    store.path.write_bytes(whole + tail)
    assert set(store.look_up({"a"}).finished) == {"a"}
    fill(store)
    assert store.path.read_bytes() == whole


def test_a_file_torn_in_its_only_row_becomes_empty(tmp_path: Path) -> None:
    store = Store(tmp_path, "m", "task")
    fill(store, answer("a"))
    store.path.write_bytes(store.path.read_bytes()[:-1])
    fill(store)
    assert store.path.read_bytes() == b""


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    store = Store(tmp_path, "m", "task")
    fill(store, answer("a"), answer("b"), answer("c"))
    lines = store.path.read_bytes().splitlines(keepends=True)
    store.path.write_bytes(lines[0] + lines[1][:-9] + b"\n" + lines[2])
    with pytest.raises(
        UserError, match=r"task\.jsonl, line 2: not a row.*Delete this line.*sed -i 2d .*task\.jsonl"
    ):
        store.look_up({"a"})


def test_other_tasks_of_the_model_are_looked_through_and_other_models_are_not(tmp_path: Path) -> None:
    fill(Store(tmp_path, "m", "answer/blind"), answer("a"))
    fill(Store(tmp_path, "other", "task"), answer("b"))
    index = Store(tmp_path, "m", "task").look_up({"a", "b"})
    assert set(index.finished) == {"a"}


def test_files_merge_by_concatenation_and_the_first_finished_row_counts(tmp_path: Path) -> None:
    store, other = Store(tmp_path, "m", "task"), Store(tmp_path / "elsewhere", "m", "task")
    fill(store, failure("a", "timeout", "slow", 6), answer("b", "first"))
    fill(other, answer("a", "late"), answer("b", "second"))
    with store.path.open("ab") as file:
        file.write(other.path.read_bytes())
    index = store.look_up({"a", "b"})
    assert (text_at(index, "a"), text_at(index, "b")) == ("late", "first")
    assert not index.failed


def test_failures_do_not_count_as_finished_but_an_overflowing_request_does(tmp_path: Path) -> None:
    store = Store(tmp_path, "m", "task")
    fill(store, *(failure(code, code, "no", 1) for code in ("server", "bad_request", "context_length")))
    index = store.look_up({"server", "bad_request", "context_length"})
    assert set(index.finished) == {"context_length"}
    assert set(index.failed) == {"server", "bad_request"}


def test_the_latest_failure_in_the_tasks_own_file_is_the_one_composed(tmp_path: Path) -> None:
    store = Store(tmp_path, "m", "task")
    fill(store, failure("a", "server", "1", 1), failure("a", "timeout", "2", 1))
    fill(Store(tmp_path, "m", "zz"), failure("a", "connection", "3", 1))
    place = store.look_up({"a"}).failed["a"]
    with place.path.open("rb") as file:
        assert read_row(file, place)["error"]["code"] == "timeout"


def test_a_second_writer_waits_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    order: list[str] = []

    def second() -> None:
        with Store(tmp_path, "m", "two").writer() as writer:
            order.append("second")
            writer.append(answer("b"))

    with Store(tmp_path, "m", "one").writer() as writer:
        thread = threading.Thread(target=second)
        thread.start()
        deadline = time.monotonic() + 5
        message = ""
        while "waiting for another job" not in message and time.monotonic() < deadline:
            time.sleep(0.01)
            message += capsys.readouterr().err
        assert "two: waiting for another job that is asking model 'm'" in message
        order.append("first")
        writer.append(answer("a"))
    thread.join()
    assert order == ["first", "second"]


def test_models_do_not_wait_for_each_other(tmp_path: Path) -> None:
    with Store(tmp_path, "m", "task").writer(), Store(tmp_path, "other", "task").writer():
        pass


@pytest.mark.parametrize("short", [0, 7])
def test_a_full_disk_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: int
) -> None:
    store = Store(tmp_path, "m", "task")
    fill(store, answer("a"))
    whole = store.path.read_bytes()
    real = os.write

    def full(file: int, data: Any) -> int:
        if len(data) <= short or short == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, bytes(data)[: len(data) - short])

    with store.writer() as writer:
        monkeypatch.setattr("magister.llm._store.os.write", full)
        with pytest.raises(UserError, match=r"No space left on device.*make room"):
            writer.append(answer("b"))
    monkeypatch.undo()
    assert store.path.read_bytes() == whole


def test_a_file_size_limit_in_mid_run_keeps_what_is_finished(tmp_path: Path) -> None:
    job = Job(tmp_path, scripted("echo"), [f"question {n} " + "x" * 300 for n in range(30)])
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, limit[1]))
        with pytest.raises(UserError, match=r"task\.jsonl: an answer could not be stored"):
            job.run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    kept = len(list(scan(job.store_path)))
    assert 0 < kept < 30
    assert not job.responses_path.exists()
    assert job.run().asked == 30 - kept
    assert set(job.finished().values()) == {1}


def test_a_store_that_cannot_be_written_to_is_a_user_error(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file where the folder should be", encoding="utf-8")
    job = Job(tmp_path, scripted("echo"), ["a"])
    with pytest.raises(UserError, match="answers cannot be stored"):
        job.run()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_a_user_error(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(mode=0o500)
    with pytest.raises(UserError, match="answers cannot be stored"):
        Job(tmp_path, scripted("echo"), ["a"]).run()


def start(folder: Path, task: str, seconds: float) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(HELPER), str(folder), task],
        env={**os.environ, LOG: str(folder / "asked.log"), DELAY: str(seconds)},
        stderr=subprocess.PIPE,
    )


def finish(folder: Path, task: str) -> None:
    process = start(folder, task, 0)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 0, stderr


def asked(folder: Path) -> list[str]:
    log = folder / "asked.log"
    return log.read_text(encoding="utf-8").split() if log.exists() else []


def prepare_slow(folder: Path, n: int) -> None:
    prepare(folder / "m.requests.jsonl", scripted("test_slow"), [f"question {number}" for number in range(n)])


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path, kill: signal.Signals) -> None:
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    for folder in (calm, killed):
        folder.mkdir()
        prepare_slow(folder, 60)
    process = start(killed, "task", 0.05)
    deadline = time.monotonic() + 20
    while len(asked(killed)) < 15 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(kill)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode != 0
    stored = [row for _, _, row in scan(killed / "store" / "m" / "task.jsonl")]
    assert 10 < len(stored) < 60
    if kill != signal.SIGKILL:
        assert b"stopped after" in stderr
        assert b"Run the same command again" in stderr

    before = len(asked(killed))
    finish(killed, "task")
    finish(calm, "task")
    rows = [row["custom_id"] for _, _, row in scan(killed / "store" / "m" / "task.jsonl")]
    assert len(rows) == len(set(rows)) == 60
    assert not {row["custom_id"] for row in stored}.intersection(asked(killed)[before:])
    composed = [(folder / "task.responses.jsonl").read_bytes() for folder in (calm, killed)]
    assert composed[0] == composed[1]


def test_two_processes_on_one_store_ask_nothing_twice(tmp_path: Path) -> None:
    prepare_slow(tmp_path, 40)
    processes = [start(tmp_path, task, 0.01) for task in ("one", "two")]
    errors = [process.communicate(timeout=30)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    assert len(asked(tmp_path)) == len(set(asked(tmp_path))) == 40
    assert (tmp_path / "one.responses.jsonl").read_bytes() == (tmp_path / "two.responses.jsonl").read_bytes()


def test_a_row_changed_between_look_up_and_reading_is_noticed(tmp_path: Path) -> None:
    store = Store(tmp_path, "m", "task")
    fill(store, answer("a"))
    place = store.look_up({"a"}).finished["a"]
    store.path.write_bytes(b"x" * 500)
    with store.path.open("rb") as file, pytest.raises(UserError, match="changed while it was read"):
        read_row(file, place)
