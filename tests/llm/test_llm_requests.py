"""Request keys, bodies and files."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llm_helpers import endpoint, prepare, say, scripted

from magister import llm
from magister.config.base import LocalFile, WheelFile
from magister.config.models import ModelConfig, Sampling
from magister.errors import UserError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(min_size=1), JSON, max_size=5)


def reversed_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_order(value[key]) for key in reversed(list(value))}
    if isinstance(value, list):
        return [reversed_order(element) for element in value]
    return value


@settings(deadline=None)
@given(OBJECTS)
def test_canonical_json_is_json_and_does_not_depend_on_field_order(value: dict[str, Any]) -> None:
    text = llm.canonical_json(value)
    assert json.loads(text) == value
    assert text == llm.canonical_json(reversed_order(value))
    assert "\n" not in text


def test_canonical_json_is_compact_and_keeps_characters() -> None:
    assert llm.canonical_json({"b": [1, 2.5, None], "a": "é\n"}) == '{"a":"é\\n","b":[1,2.5,null]}'


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"a": {"b": math.nan}}, "a.b"),
        ({"a": [0, math.inf]}, r"a\[1\]"),
        ({1: "a"}, "the top"),
        ({"a": {2: 3}}, "at a is not a string"),
        ({"a": {1, 2}}, "set at a"),
        ({"a": "\ud800"}, "surrogate"),
    ],
)
def test_canonical_json_refuses_what_would_not_come_back(value: Any, where: str) -> None:
    with pytest.raises(UserError, match=where):
        llm.canonical_json(value)


@settings(deadline=None)
@given(OBJECTS, OBJECTS, st.integers(0, 9))
def test_key_does_not_depend_on_field_order_or_on_the_served_name(
    mark: dict[str, Any], body: dict[str, Any], sample: int
) -> None:
    key = llm.request_key(mark, body, sample)
    assert len(key) == 64
    assert key == llm.request_key(reversed_order(mark), reversed_order(body), sample)
    assert key == llm.request_key(mark, {**body, "model": "another name"}, sample)


@settings(deadline=None)
@given(OBJECTS, OBJECTS, st.text(min_size=1), JSON)
def test_any_change_of_the_fingerprint_or_the_request_is_another_key(
    mark: dict[str, Any], body: dict[str, Any], field: str, value: Any
) -> None:
    key = llm.request_key(mark, body)
    for changed, before in (({**mark, field: value}, mark), ({**body, field: value}, body)):
        same = llm.canonical_json(changed) == llm.canonical_json(before)
        other = llm.request_key(changed, body) if before is mark else llm.request_key(mark, changed)
        assert (other == key) is (same or (field == "model" and before is body))
    assert llm.request_key(mark, body, 1) != key


def test_a_change_of_message_or_sampling_is_another_key() -> None:
    def key(text: str = "hi", max_tokens: int = 9, **fields: Any) -> str:
        model = ModelConfig(engine="scripted", script="echo", **fields)
        return llm.request_key({}, llm.chat_body(model, say(text), max_tokens))

    keys = [
        key(),
        key("hi "),
        key(max_tokens=10),
        key(system="You are old."),
        key(sampling=Sampling(temperature=0.1)),
        key(sampling=Sampling(top_p=0.9)),
        key(sampling=Sampling(seed=2)),
        key(sampling=Sampling(extra={"top_k": 3})),
    ]
    assert len(set(keys)) == len(keys)


def test_address_key_variable_limits_and_served_address_are_not_in_the_key() -> None:
    first = endpoint("http://a.example/v1")
    second = endpoint("https://b.example/x", api_key_env="SOME_KEY", limits={"timeout": 9, "concurrency": 1})
    marks = [llm.fingerprint(name, model, None) for name, model in (("a", first), ("b", second))]
    keys = [
        llm.request_key(mark, llm.chat_body(model, say("hi"), 5))
        for mark, model in zip(marks, (first, second), strict=True)
    ]
    assert keys[0] == keys[1]
    assert not any("example" in str(mark) or "SOME_KEY" in str(mark) for mark in marks)


def test_a_key_is_stable_over_releases() -> None:
    # {"fingerprint":{"engine":"x"},"request":{"messages":[],"temperature":0.0},"sample":0} through sha256sum
    assert llm.request_key({"engine": "x"}, {"messages": [], "temperature": 0.0}) == (
        "5b17cf2c47a14b3e0ddbead5a6216913200e4ee221f4a6d0e794c249fad215d2"
    )


def test_fingerprint_of_the_embedded_engine_holds_all_that_bytes_depend_on() -> None:
    model = ModelConfig(engine="llama_cpp", weights=LocalFile(path="m.gguf", sha256=None), context=512)
    mark = llm.fingerprint("m", model, "a" * 64)
    assert set(mark) == {"engine", "engine_version", "weights_sha256", "profile", "context", "chat_template"}
    fast = model.model_copy(update={"profile": "fast"})
    wide = model.model_copy(update={"context": 1024})
    others = [llm.fingerprint("m", fast, "a" * 64), llm.fingerprint("m", wide, "a" * 64)]
    assert mark not in [*others, llm.fingerprint("m", model, "b" * 64)]
    with pytest.raises(UserError, match=r"models\.m: the hash of the weights"):
        llm.fingerprint("m", model, None)


def test_fingerprint_of_a_player_follows_its_arguments_and_its_source() -> None:
    mark = llm.fingerprint("m", scripted("echo", prefix="a"), None)
    assert len(mark["source_sha256"]) == 64
    assert mark != llm.fingerprint("m", scripted("echo", prefix="b"), None)
    assert mark["source_sha256"] != llm.fingerprint("m", scripted("test_slow"), None)["source_sha256"]
    with pytest.raises(UserError, match=r"models\.m\.script: unknown player 'nobody'; known: .*echo"):
        llm.fingerprint("m", scripted("nobody"), None)


def test_persona_goes_before_the_system_message_or_becomes_one() -> None:
    model = ModelConfig(engine="scripted", script="echo", system="You are old.")
    messages = say("hi")
    body = llm.chat_body(model, messages, 5)
    assert body["messages"][0] == {"role": "system", "content": "You are old.\n\nBe brief."}
    assert messages == say("hi")
    assert llm.chat_body(model, say("hi")[1:], 5)["messages"] == [
        {"role": "system", "content": "You are old."},
        {"role": "user", "content": "hi"},
    ]
    parts = [{"role": "system", "content": [{"type": "text", "text": "x"}]}]
    assert [part["text"] for part in llm.chat_body(model, parts, 5)["messages"][0]["content"]] == [
        "You are old.",
        "x",
    ]


def test_body_names_the_model_in_a_way_that_does_not_depend_on_the_machine() -> None:
    wheel = WheelFile(wheel="w", version="1", sha256="0" * 64, member="pkg/m.gguf", member_sha256="0" * 64)
    names = [
        llm.chat_body(model, say("hi"), 5)["model"]
        for model in (
            endpoint("http://a.example/v1"),
            ModelConfig(engine="llama_cpp", weights=LocalFile(path="/somewhere/m.gguf", sha256=None)),
            ModelConfig(engine="llama_cpp", weights=wheel),
            scripted("echo"),
        )
    ]
    assert names == ["served-2026-01-01", "m.gguf", "m.gguf", "echo"]


def test_extra_adds_fields_and_a_null_takes_one_away() -> None:
    def body(**extra: Any) -> dict[str, Any]:
        model = ModelConfig(engine="scripted", script="echo", sampling=Sampling(extra=extra))
        return llm.chat_body(model, say("hi"), 5, {"type": "json_object"})

    sent = body(top_k=3, max_tokens=None, max_completion_tokens=99)
    assert sent["top_k"] == 3
    assert sent["response_format"] == {"type": "json_object"}
    assert "max_tokens" not in sent
    with pytest.raises(UserError, match=r"sampling\.extra: messages, n"):
        body(n=2, messages=[])


def test_repeated_draws_have_keys_and_seeds_of_their_own() -> None:
    body = llm.chat_body(scripted(), say("hi"), 5)
    rows = [llm.build_request({}, body, sample) for sample in range(3)]
    assert len({row["custom_id"] for row in rows}) == 3
    assert [row["body"]["seed"] for row in rows] == [1, 2, 3]
    assert [row.get("sample") for row in rows] == [None, 1, 2]
    assert body["seed"] == 1
    llm.check_requests(rows, {})


def test_request_file_comes_back_without_doubles_and_with_the_same_bytes(tmp_path: Any) -> None:
    path = tmp_path / "new" / "m.requests.jsonl"
    _, rows = prepare(path, scripted(), ["a\u2028b", "b", "a\u2028b", "c"])
    read = llm.read_requests(path)
    assert read == [rows[0], rows[1], rows[3]]
    before = path.read_bytes()
    assert llm.write_requests(path, read) == 3
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_failed_write_leaves_the_old_file(tmp_path: Any) -> None:
    path = tmp_path / "m.requests.jsonl"
    _, rows = prepare(path, scripted(), ["a"])
    before = path.read_bytes()
    with pytest.raises(UserError):
        llm.write_requests(path, [rows[0], {"custom_id": "x", "body": {"temperature": math.nan}}])
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda row: "[1]", "expected an object"),
        (lambda row: "{", "not valid JSON"),
        (lambda row: {**row, "custom_id": 3}, "custom_id"),
        (lambda row: {**row, "url": "/v1/embeddings"}, "url"),
        (lambda row: {**row, "body": {"messages": []}}, "body.messages"),
        (lambda row: {**row, "sample": True}, "sample"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Any, change: Any, problem: str) -> None:
    path = tmp_path / "m.requests.jsonl"
    _, rows = prepare(path, scripted(), ["a"])
    bad = change(rows[0])
    with path.open("a", encoding="utf-8") as file:
        file.write((bad if isinstance(bad, str) else json.dumps(bad)) + "\n")
    with pytest.raises(UserError, match=f"line 2: .*{problem}"):
        llm.read_requests(path)


def test_a_missing_request_file_is_named(tmp_path: Any) -> None:
    with pytest.raises(UserError, match=r"gone\.jsonl: cannot be read"):
        llm.read_requests(tmp_path / "gone.jsonl")


def test_requests_for_another_model_are_stale(tmp_path: Any) -> None:
    mark, rows = prepare(tmp_path / "m.requests.jsonl", scripted(), ["a", "b"])
    llm.check_requests(rows, mark)
    with pytest.raises(UserError, match="2 of 2 requests were built for another model"):
        llm.check_requests(rows, {**mark, "script": "other"})
    rows[1]["body"]["max_tokens"] += 1
    with pytest.raises(UserError, match=r"1 of 2 .* request 2,"):
        llm.check_requests(rows, mark, "some file")
