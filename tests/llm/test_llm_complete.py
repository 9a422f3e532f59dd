"""From a request file to a response file."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from llm_helpers import Job, endpoint, scripted

from magister import llm
from magister.config.base import LocalFile
from magister.config.models import ModelConfig
from magister.errors import UserError
from magister.llm import ProgressLine, ScriptedReply, Store

TEXTS = ["one", "two", "three", "four"]


@llm.player("test_codes")
def _codes(messages: list[dict[str, Any]], request_key: str, args: Any) -> ScriptedReply:
    """Fail with the code that the last message names, if it names one."""
    text = messages[-1]["content"]
    return ScriptedReply("as told", error=text) if text in llm.ERROR_CODES else ScriptedReply(text)


def test_responses_stand_in_request_order_without_attempts(tmp_path: Path) -> None:
    job = Job(tmp_path, scripted("echo", prefix="> "), TEXTS)
    summary = job.run()
    assert (summary.n, summary.cached, summary.asked, summary.errors) == (4, 0, 4, {})
    assert (summary.prompt_tokens, summary.completion_tokens) == (12, 8)
    rows = [json.loads(line) for line in job.responses_path.read_bytes().splitlines()]
    assert [row["custom_id"] for row in rows] == [row["custom_id"] for row in job.requests]
    assert all(set(row) == {"custom_id", "response", "error"} for row in rows)
    first = llm.read_responses(job.responses_path)[0]
    assert first == llm.Response(rows[0]["custom_id"], "> one", None, "stop", "echo", 3, 2, None)


def test_a_second_call_asks_nothing_and_writes_the_same_bytes(tmp_path: Path) -> None:
    job = Job(tmp_path, scripted("echo"), TEXTS)
    job.run()
    before = job.responses_path.read_bytes()
    job.responses_path.unlink()
    summary = job.run()
    assert (summary.cached, summary.asked) == (4, 0)
    assert job.responses_path.read_bytes() == before


def test_bytes_do_not_depend_on_the_order_in_which_answers_came(tmp_path: Path) -> None:
    job = Job(tmp_path, scripted("echo"), TEXTS)
    job.run()
    before = job.responses_path.read_bytes()
    lines = job.store_path.read_bytes().splitlines(keepends=True)
    job.store_path.write_bytes(b"".join(reversed(lines)))
    job.run()
    assert job.responses_path.read_bytes() == before


def test_the_same_request_of_another_task_is_not_asked_again(tmp_path: Path) -> None:
    job = Job(tmp_path, scripted("echo"), TEXTS)
    job.run(task="answer/first")
    assert job.run(task="answer/second").asked == 0
    assert [path.name for path in Store(tmp_path / "store", "m", "x").files()] == ["answer.first.jsonl"]


def test_an_empty_request_file_gives_an_empty_response_file_without_an_engine(tmp_path: Path) -> None:
    model = ModelConfig(engine="llama_cpp", weights=LocalFile(path="not/there.gguf", sha256=None))
    llm.write_requests(tmp_path / "a.jsonl", [])
    summary = llm.complete(
        tmp_path / "a.jsonl",
        tmp_path / "b.jsonl",
        name="m",
        model=model,
        fingerprint={},
        store_root=tmp_path / "store",
        task="task",
    )
    assert summary == llm.Summary()
    assert (tmp_path / "b.jsonl").read_bytes() == b""
    assert not (tmp_path / "store").exists()


def test_a_request_file_of_another_fingerprint_is_refused(tmp_path: Path) -> None:
    job = Job(tmp_path, scripted("echo"), TEXTS)
    job.fingerprint = {**job.fingerprint, "source_sha256": "0" * 64}
    with pytest.raises(UserError, match=r"m\.requests\.jsonl: 4 of 4 requests were built for another model"):
        job.run()


def test_too_many_errors_leave_no_response_file_and_say_how_to_go_on(tmp_path: Path) -> None:
    job = Job(tmp_path, scripted("test_codes"), ["fine", "timeout", "server", "server "])
    job.responses_path.write_text("stale", encoding="utf-8")
    with pytest.raises(UserError, match=r"2 of 4 .*\(server 1, timeout 1\).*finished answers are kept"):
        job.run()
    assert not job.responses_path.exists()
    assert sum(job.finished().values()) == 2


def test_few_errors_are_errors_and_not_answers(tmp_path: Path) -> None:
    job = Job(tmp_path, scripted("test_codes"), ["fine", "timeout"])
    summary = job.run(max_error_share=0.5)
    assert summary.errors == {"timeout": 1}
    fine, failed = llm.read_responses(job.responses_path)
    assert (fine.text, fine.error) == ("fine", None)
    assert (failed.text, failed.error, failed.finish_reason) == ("", "timeout", None)
    assert job.run(max_error_share=0.5).asked == 1


def test_an_overflowing_request_is_settled_and_no_infrastructure_error(tmp_path: Path) -> None:
    job = Job(tmp_path, scripted("test_codes"), ["fine", "context_length"])
    assert job.run(max_error_share=0.0).errors == {"context_length": 1}
    assert job.run(max_error_share=0.0).asked == 0
    assert llm.read_responses(job.responses_path)[1].error == "context_length"


@pytest.mark.parametrize("code", ["auth", "model_not_found"])
def test_what_would_fail_everywhere_stops_the_run_and_is_not_recorded(tmp_path: Path, code: str) -> None:
    job = Job(tmp_path, scripted("test_codes"), ["fine", code, "never reached"])
    with pytest.raises(UserError, match=code):
        job.run(max_error_share=1.0)
    assert [row["error"] for row in job.stored()] == [None]
    assert not job.responses_path.exists()


def test_a_flaky_model_gets_there_in_the_end(tmp_path: Path) -> None:
    job = Job(tmp_path, scripted("flaky", share=0.4), [str(n) for n in range(50)])
    with pytest.raises(UserError, match=r"of 50 requests got no answer \(server \d+\)"):
        job.run()
    lost = 50 - len(job.finished())
    assert 5 < lost < 40
    with pytest.raises(UserError, match=f"{lost} of 50"):
        job.run()
    assert len(job.stored()) == 50 + lost


def test_replay_gives_the_same_bytes_recorded_errors_included(tmp_path: Path) -> None:
    job = Job(tmp_path, scripted("test_codes"), ["fine", "timeout"])
    job.run(max_error_share=0.5)
    before = job.responses_path.read_bytes()
    stored = job.store_path.read_bytes()
    job.responses_path.unlink()
    summary = job.run(max_error_share=0.5, replay=True)
    assert summary.asked == 0
    assert job.responses_path.read_bytes() == before
    assert job.store_path.read_bytes() == stored


def test_replay_names_what_is_missing(tmp_path: Path) -> None:
    job = Job(tmp_path, scripted("echo"), ["first words " + "x" * 300 + " last words"])
    with pytest.raises(UserError) as caught:
        job.run(replay=True)
    message = str(caught.value)
    for part in ("task", "'m'", job.requests[0]["custom_id"], "first words", "last words", "magister record"):
        assert part in message
    assert "x" * 81 not in message
    assert not (tmp_path / "store").exists()


def test_a_replay_needs_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    job = Job(tmp_path, endpoint("http://127.0.0.1:9/v1", api_key_env="NO_SUCH_KEY"), ["a"])
    with pytest.raises(UserError, match="environment variable NO_SUCH_KEY is not set"):
        job.run()
    with pytest.raises(UserError, match="replay"):
        job.run(replay=True)


def test_a_broken_player_is_not_taken_for_an_infrastructure_error(tmp_path: Path) -> None:
    @llm.player("test_broken")
    def broken(messages: Any, request_key: str, args: Any) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Job(tmp_path, scripted("test_broken"), ["a"]).run()


def test_two_players_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="'echo' already"):
        llm.player("echo")(lambda messages, request_key, args: "")


def test_draws_are_uniform_and_told_apart_by_salt() -> None:
    draws = [llm.uniform("key", number) for number in range(2000)]
    assert all(0 <= draw < 1 for draw in draws)
    assert abs(sum(draws) / len(draws) - 0.5) < 0.03
    assert llm.uniform("key", 1) == llm.uniform("key", 1) != llm.uniform("key", "1", "2")
    assert llm.uniform("ab", "c") != llm.uniform("a", "bc")


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"custom_id": "a"}', '{"custom_id": "a", "error": null, "response": {}}']
)
def test_a_bad_response_row_is_named(tmp_path: Path, line: str) -> None:
    job = Job(tmp_path, scripted("echo"), ["a"])
    job.run()
    with job.responses_path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    with pytest.raises(UserError, match="line 2: not a row of a response file"):
        llm.read_responses(job.responses_path)


def test_a_reply_without_content_reads_as_its_refusal_or_as_empty(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    messages: list[dict[str, Any]] = [{"content": None}, {"content": None, "refusal": "I cannot."}]
    rows = [
        {
            "custom_id": "a",
            "error": None,
            "response": {"body": {"choices": [{"finish_reason": "stop", "message": m}], "usage": {}}},
        }
        for m in messages
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    read = llm.read_responses(path)
    assert [response.text for response in read] == ["", "I cannot."]
    assert read[0].prompt_tokens is None


def test_progress_is_told_after_each_answer(tmp_path: Path) -> None:
    seen: list[tuple[int, int, int]] = []
    Job(tmp_path, scripted("test_codes"), ["a", "server", "b"]).run(
        progress=lambda *numbers: seen.append(numbers), max_error_share=1.0
    )
    assert seen == [(1, 3, 0), (2, 3, 1), (3, 3, 1)]


def test_a_log_gets_few_lines_of_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("magister.llm._progress.time.monotonic", lambda: now[0])
    stream = io.StringIO()
    line = ProgressLine("guide/round1 smollm2", stream)
    for done in range(1, 289):
        now[0] += 0.125  # exact in binary
        line(done, 288, 2)
    assert stream.getvalue().splitlines() == [
        "guide/round1 smollm2 80/288 asked, 8.0/s, 2 errors",
        "guide/round1 smollm2 160/288 asked, 8.0/s, 2 errors",
        "guide/round1 smollm2 240/288 asked, 8.0/s, 2 errors",
        "guide/round1 smollm2 288/288 asked, 8.0/s, 2 errors",
    ]


def test_a_terminal_gets_one_line_that_updates_itself() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    line = ProgressLine("task m", stream)
    for done in range(1, 4):
        line(done, 3, 0)
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().endswith("\n")
    assert "\r" in stream.getvalue()


def test_check_reports_every_model_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    closed = endpoint("http://127.0.0.1:9/v1", limits={"attempts": 1})
    results = llm.check_models(
        {
            "good": scripted("echo"),
            "unknown": scripted("nobody"),
            "keyless": endpoint("http://127.0.0.1:9/v1", api_key_env="NO_SUCH_KEY"),
            "down": closed,
            "unfetched": ModelConfig(engine="llama_cpp", weights=LocalFile(path="x.gguf", sha256=None)),
        }
    )
    assert [(result.name, result.ok) for result in results] == [
        ("good", True),
        ("unknown", False),
        ("keyless", False),
        ("down", False),
        ("unfetched", False),
    ]
    details = [result.detail for result in results]
    assert "unknown player 'nobody'" in details[1]
    assert "NO_SUCH_KEY is not set" in details[2]
    assert details[3].startswith("connection: ")
    assert "check `base_url`" in details[3]
    assert "fetch them first" in details[4]
    assert details[0] == "player 'echo' is there"
