"""The embedded engine with a real model; the `weights` fixture finds or fetches it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from llm_helpers import Job, embedded, endpoint, say

from magister import llm
from magister.config.models import ModelConfig
from magister.errors import UserError
from magister.llm import Request, create_engine

TEXTS = [
    "Name a colour.",
    "What is two plus three?",
    "Say hello in French.",
    "Which animal barks?",
    "Name a planet.",
    "What do bees make?",
]

pytestmark = pytest.mark.model


def requests(model: ModelConfig) -> list[Request]:
    mark = llm.fingerprint("m", model, "0" * 64)
    return [llm.build_request(mark, llm.chat_body(model, say(text), 12)) for text in TEXTS]


def rows(model: ModelConfig, weights: Path, workers: int, asked: list[Request]) -> dict[str, str]:
    engine = create_engine("m", model, weights=weights, workers=workers)
    delivered: list[dict[str, Any]] = []
    try:
        engine.run(asked, delivered.append)
    finally:
        engine.close()
    return {row["custom_id"]: json.dumps(row, sort_keys=True) for row in delivered}


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_answers_are_the_same_for_any_number_of_workers_and_any_order(
    weights: Path, temperature: float
) -> None:
    model = embedded(weights, context=512, temperature=temperature)
    asked = requests(model)
    one = rows(model, weights, 1, asked)
    assert len(one) == len(TEXTS)
    assert all(json.loads(row)["error"] is None for row in one.values())
    assert rows(model, weights, 2, asked) == one
    assert rows(model, weights, 2, asked[::-1]) == one


def test_answers_in_process_and_over_http_are_the_same(tmp_path: Path, weights: Path) -> None:
    from magister.llm.engines.llama_cpp import start_server

    inside = Job(tmp_path / "inside", embedded(weights, context=512), TEXTS, weights=weights)
    inside.run(workers=1)
    server = start_server(weights, context=512)
    model = endpoint(f"{server.listening_address}/v1", limits={"concurrency": 1, "timeout": 60.0})
    outside = Job(tmp_path / "outside", model, [*TEXTS, "word " * 1000])
    summary = outside.run(max_error_share=0.0)
    assert outside.texts()[:-1] == inside.texts()
    assert all(inside.texts())
    assert summary.errors == {"context_length": 1}


def test_a_run_is_composed_and_resumed_without_loading_again(
    tmp_path: Path, weights: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    job = Job(tmp_path, embedded(weights, context=512), [*TEXTS[:2], "word " * 1000], weights=weights)
    summary = job.run()
    assert summary.errors == {"context_length": 1}
    assert 0 < summary.completion_tokens <= 2 * 12
    response = llm.read_responses(job.responses_path)[0]
    assert response.model == weights.name
    before = job.responses_path.read_bytes()
    assert str(weights.parent).encode() not in before
    job.weights = None
    assert job.run().asked == 0
    assert job.responses_path.read_bytes() == before
    assert capfd.readouterr() == ("", "")


def test_the_fast_profile_answers_everything(tmp_path: Path, weights: Path) -> None:
    job = Job(tmp_path, embedded(weights, context=256, profile="fast"), TEXTS, weights=weights)
    assert job.run().errors == {}
    assert all(job.texts())


def test_a_request_that_the_template_refuses_is_a_bad_request(weights: Path) -> None:
    model = embedded(weights, context=256)
    engine = create_engine("m", model, weights=weights, workers=1)
    body = llm.chat_body(model, say("hi"), 4)
    broken = [
        {**body, "messages": [{"role": "user", "content": 3}]},
        {**body, "temperature": "hot"},
        llm.chat_body(
            model, say("hi"), 4, {"type": "json_schema", "json_schema": {"schema": {"type": "odd"}}}
        ),
    ]
    delivered: list[dict[str, Any]] = []
    engine.run([{"custom_id": str(n), "body": sent} for n, sent in enumerate(broken)], delivered.append)
    engine.close()
    assert [row["error"]["code"] for row in delivered] == ["bad_request"] * 3


def test_an_error_while_storing_ends_the_run(weights: Path) -> None:
    def full(row: dict[str, Any]) -> None:
        raise UserError("disk full")

    model = embedded(weights, context=256)
    engine = create_engine("m", model, weights=weights, workers=2)
    with pytest.raises(UserError, match="disk full"):
        engine.run(requests(model), full)
    engine.close()


def test_a_file_that_is_no_model_is_a_user_error(tmp_path: Path, weights: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(weights.read_bytes()[:5000])
    with pytest.raises(UserError, match=r"llama\.cpp cannot load it"):
        create_engine("m", embedded(path), weights=path, workers=1)


def test_the_check_answers(weights: Path) -> None:
    (result,) = llm.check_models({"m": embedded(weights, context=256)}, weights={"m": weights})
    assert result.ok
    assert result.tokens
