"""Endpoints: whatever they do, no answer is lost and no failure is taken for an answer."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llm_helpers import Job, endpoint, fault_server

from magister import llm
from magister.config.models import Limits
from magister.errors import UserError
from magister.llm._rows import ERROR_CODES
from magister.llm.engines import create_engine
from magister.llm.engines._http import Gate, Refusal, classify, retry_after, wait_before

KEY = "sk-very-secret-0123456789"


def test_after_all_sorts_of_faults_nothing_is_lost_and_nothing_is_scored(tmp_path: Path) -> None:
    plans = {
        "fine": [],
        "rate": ["429:", "429:0.2", "429ms:100"],
        "down": ["status:500", "status:503", "status:409"],
        "drop": ["drop", "drop"],
        "cut": ["truncate"],
        "hang": ["hang"],
        "dribble": ["dribble"],
        "garbage": ["raw:<html>", "raw:", "raw:[1]"],
        "wrapped": ['json:{"error": {"message": "upstream", "code": 502}}', 'json:{"error": "odd"}'],
        "hollow": ['json:{"choices": []}', 'json:{"choices": [{}]}', 'json:{"choices": null}'],
        "typed": ['json:{"choices": [{"message": {"content": 3}}]}'],
        "midway": ['json:{"choices": [{"finish_reason": "error", "message": {"content": "half an"}}]}'],
        "forever": ["status:500"] * 9,
        "refused": ["status:400 no such field"],
        "long": ["status:400 This model's maximum context length is 10 tokens"],
        "filter": ["filtered"],
    }
    with fault_server(**plans) as server:
        job = Job(tmp_path, endpoint(server.url, limits={"timeout": 1.5}), list(plans))
        summary = job.run(max_error_share=0.2)
    assert summary.errors == {"bad_request": 1, "context_length": 1, "server": 1}
    read = dict(zip(plans, llm.read_responses(job.responses_path), strict=True))
    for text, response in read.items():
        if text in ("forever", "refused", "long"):
            assert response.text == ""
            assert response.error in ("server", "bad_request", "context_length")
        elif text == "filter":
            assert (response.text, response.finish_reason, response.error) == ("", "content_filter", None)
        else:
            assert (response.text, response.model) == (f"you said {text}", "as-served")
    stored = {row["custom_id"]: row for row in job.stored()}
    attempts = {text: stored[response.custom_id]["attempts"] for text, response in read.items()}
    for text, plan in plans.items():
        tries = {"forever": 4, "refused": 1, "long": 1, "filter": 1}.get(text, len(plan) + 1)
        assert (attempts[text], server.tries[text]) == (tries, tries), text


def test_what_is_recorded_does_not_change_from_call_to_call(tmp_path: Path) -> None:
    composed = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        with fault_server(two=["status:500"]) as server:
            job = Job(folder, endpoint(server.url), ["one", "two"])
            job.run()
        composed.append(job.responses_path.read_bytes())
    assert composed[0] == composed[1]


def test_the_whole_body_is_sent_and_nothing_of_ours(tmp_path: Path) -> None:
    sampling = {"temperature": 0.5, "seed": 7, "extra": {"top_k": 5, "guided_regex": "a|b"}}
    with fault_server() as server:
        job = Job(tmp_path, endpoint(server.url, sampling=sampling), ["one"])
        job.run()
    assert server.bodies == [job.requests[0]["body"]]
    assert server.bodies[0]["guided_regex"] == "a|b"
    assert server.bodies[0]["model"] == "served-2026-01-01"


@pytest.mark.parametrize(
    ("step", "error"),
    [
        ("status:401", "auth"),
        ("status:403", "auth"),
        ("status:402", "auth"),
        ('json:{"error": {"message": "no", "code": "insufficient_quota"}}', "auth"),
        ("status:404", "model_not_found"),
    ],
)
def test_a_refused_key_or_an_unknown_model_stops_the_run(tmp_path: Path, step: str, error: str) -> None:
    texts = [str(number) for number in range(40)]
    with fault_server(everyone=["ok"] * 8 + [step] * 99) as server:
        job = Job(tmp_path, endpoint(server.url), texts)
        with pytest.raises(UserError, match=rf"models\.m: {error}: 127\.0\.0\.1"):
            job.run(max_error_share=1.0)
    assert server.tries.total() < 20
    assert all(row["error"] is None for row in job.stored())
    assert not job.responses_path.exists()


def test_a_wait_that_the_server_asks_for_is_kept(tmp_path: Path) -> None:
    with fault_server(one=["429:0.4"]) as server:
        Job(tmp_path, endpoint(server.url), ["one"]).run()
    assert server.at[1] - server.at[0] >= 0.4


def test_a_wait_of_hours_is_not_kept_but_recorded(tmp_path: Path) -> None:
    with fault_server(one=["429:7200"]) as server:
        job = Job(tmp_path, endpoint(server.url), ["one"])
        assert job.run(max_error_share=1.0).errors == {"rate_limit": 1}
    assert server.tries["one"] == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": formatdate(1_700_000_030, usegmt=True)}, 30.0),
        ({"retry-after": formatdate(1_600_000_000, usegmt=True)}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_seconds_milliseconds_or_a_date(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, now=1_700_000_000) == seconds


@settings(deadline=None)
@given(st.integers(1, 500), st.none() | st.floats(0, 600))
def test_waits_double_up_to_a_ceiling_and_are_never_shorter_than_asked(
    attempt: int, asked: float | None
) -> None:
    limits = Limits(backoff=1.0, backoff_max=60.0)
    wait = wait_before(attempt, Refusal("rate_limit", "", retry_after=asked), limits)
    ceiling = min(60.0, 2.0 ** (attempt - 1))
    assert max(ceiling / 2, asked or 0.0) <= wait <= max(ceiling, 1.1 * (asked or 0.0))


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (400, {"code": "context_length_exceeded", "message": "x"}, "context_length"),
        (400, {"type": "exceed_context_size_error", "code": 400, "message": "x"}, "context_length"),
        (400, {"message": "This model's maximum context length is 4097 tokens. However"}, "context_length"),
        (400, {"message": "prompt (length 9) is longer than the maximum model length"}, "context_length"),
        (400, {"message": "request (31 tokens) exceeds the available context size"}, "context_length"),
        (413, {"message": "prompt is too long: 210000 tokens > 200000 maximum"}, "context_length"),
        (429, {"message": "tokens per minute exceed the context window"}, "rate_limit"),
        (429, {"code": "insufficient_quota", "message": "x"}, "auth"),
        (400, {"code": "model_not_found", "message": "x"}, "model_not_found"),
        (400, {"message": "temperature must be a number"}, "bad_request"),
        (422, "no", "bad_request"),
        (408, None, "timeout"),
        (409, {}, "server"),
        (529, {"message": "overloaded"}, "server"),
        (302, None, "server"),
    ],
)
def test_refusals_are_told_apart(status: int, error: object, code: str) -> None:
    found, message = classify(status, error)
    assert found == code
    assert found in ERROR_CODES
    assert message


def test_no_more_requests_are_under_way_than_allowed(tmp_path: Path) -> None:
    with fault_server(everyone=["sleep:0.05"] * 12) as server:
        Job(tmp_path, endpoint(server.url, limits={"concurrency": 3}), [str(n) for n in range(12)]).run()
    assert server.most_active == 3


def test_half_as_many_are_sent_at_once_after_a_429_and_more_again_with_success() -> None:
    async def most_at_once(gate: Gate) -> int:
        active: list[int] = []
        most = 0

        async def visit() -> None:
            nonlocal most
            async with gate:
                active.append(1)
                most = max(most, len(active))
                await asyncio.sleep(0.005)
                active.pop()

        await asyncio.gather(*(visit() for _ in range(20)))
        return most

    async def story() -> list[int]:
        gate = Gate(Limits(concurrency=8, backoff=5.0))
        seen = [await most_at_once(gate)]
        for _ in range(8):  # all that were under way are refused at one moment
            gate.refused(None)
        seen.append(await most_at_once(gate))
        for _ in range(5):
            gate.succeeded()
        seen.append(await most_at_once(gate))
        for _ in range(100):
            gate.succeeded()
        seen.append(await most_at_once(gate))
        return seen

    assert asyncio.run(story()) == [8, 4, 5, 8]


def test_after_a_429_with_a_wait_nobody_asks_before_it_is_over(tmp_path: Path) -> None:
    with fault_server(everyone=["429:0.3"]) as server:
        Job(tmp_path, endpoint(server.url, limits={"concurrency": 1}), ["one", "two", "three"]).run()
    assert min(moment - server.at[0] for moment in server.at[1:]) >= 0.3


def test_requests_per_minute_are_kept(tmp_path: Path) -> None:
    with fault_server() as server:
        limits = {"requests_per_minute": 1200, "concurrency": 8}
        Job(tmp_path, endpoint(server.url, limits=limits), [str(n) for n in range(10)]).run()
    assert max(server.at) - min(server.at) >= 9 * 0.05 * 0.9


def test_hundreds_of_requests_a_second_are_possible(tmp_path: Path) -> None:
    with fault_server() as server:
        job = Job(tmp_path, endpoint(server.url, limits={"concurrency": 32}), [str(n) for n in range(300)])
        started = time.monotonic()
        assert job.run().asked == 300
    assert time.monotonic() - started < 10


def test_a_server_that_is_not_there_is_recorded_as_such(tmp_path: Path) -> None:
    job = Job(tmp_path, endpoint("http://127.0.0.1:9/v1", limits={"attempts": 2}), ["one"])
    with pytest.raises(UserError, match=r"1 of 1 requests got no answer \(connection 1\)"):
        job.run()
    assert job.stored()[0]["attempts"] == 2


def test_a_missing_or_odd_key_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    model = endpoint("http://127.0.0.1:9/v1", api_key_env="TEST_ENDPOINT_KEY")
    for value in ("", "  ", "two words", "sk-\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"):
        monkeypatch.setenv("TEST_ENDPOINT_KEY", value)
        with pytest.raises(UserError, match="environment variable TEST_ENDPOINT_KEY") as caught:
            create_engine("m", model)
        assert not value.strip() or value not in str(caught.value)


@pytest.mark.parametrize("url", ["http://me:secret-word@host/v1", "ftp://host/v1", "host/v1"])
def test_an_unusable_address_is_refused_without_showing_secrets(url: str) -> None:
    with pytest.raises(UserError, match=r"models\.m\.base_url") as caught:
        create_engine("m", endpoint(url))
    assert "secret-word" not in str(caught.value)


def test_the_callers_own_openai_key_is_not_sent_to_other_endpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ADMIN_KEY", KEY)
    with fault_server() as server:
        Job(tmp_path, endpoint(server.url), ["one"]).run()
    assert KEY not in str(server.headers)


@pytest.mark.parametrize("step", ["leak", "echo_key:400", "echo_key:500", "echo_key:401", "echo_key:404"])
def test_the_key_is_in_no_file_log_or_message(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    step: str,
) -> None:
    monkeypatch.setenv("TEST_ENDPOINT_KEY", f"{KEY}\n")
    caplog.set_level(logging.DEBUG)
    said = ""
    with fault_server(everyone=[step] * 9) as server:
        job = Job(tmp_path, endpoint(server.url, api_key_env="TEST_ENDPOINT_KEY"), ["one", "two"])
        try:
            job.run(progress=None)
        except UserError as error:
            said = "".join(traceback.format_exception(error))
        sent: Any = server.headers[0]["authorization"]
    assert sent == f"Bearer {KEY}"
    captured = capfd.readouterr()
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in written
    assert KEY not in said + captured.out + captured.err + caplog.text
