"""What the tests of this package share: players, small configurations, a server that misbehaves on demand."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from magister import llm
from magister.config.base import LocalFile
from magister.config.models import ModelConfig, Sampling
from magister.llm import Request, Summary

LOG = "MAGISTER_TEST_LOG"
DELAY = "MAGISTER_TEST_DELAY"
ROOT = Path(__file__).resolve().parents[2]


@llm.player("test_slow")
def _slow(messages: list[dict[str, Any]], request_key: str, args: Mapping[str, Any]) -> str:
    """Repeat the last message after a while, and leave a mark of having been asked."""
    time.sleep(float(os.environ.get(DELAY, "0")))
    if LOG in os.environ:
        with open(os.environ[LOG], "a", encoding="utf-8") as file:
            file.write(f"{request_key}\n")
    return str(messages[-1]["content"])


def scripted(script: str = "echo", **args: Any) -> ModelConfig:
    return ModelConfig(engine="scripted", script=script, script_args=args)


def endpoint(url: str, **fields: Any) -> ModelConfig:
    limits = {"attempts": 4, "backoff": 0.01, "backoff_max": 0.05, "timeout": 5.0, "concurrency": 4}
    limits |= fields.pop("limits", {})
    fields = {"served_name": "served-2026-01-01", "base_url": url, "limits": limits} | fields
    return ModelConfig(engine="openai", **fields)


def say(text: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]


def prepare(
    path: Path, model: ModelConfig, texts: list[str], *, max_tokens: int = 12, weights: str | None = None
) -> tuple[dict[str, Any], list[Request]]:
    """Write a request file; return the fingerprint and the requests."""
    mark = llm.fingerprint("m", model, weights)
    rows = [llm.build_request(mark, llm.chat_body(model, say(text), max_tokens)) for text in texts]
    llm.write_requests(path, rows)
    return mark, rows


class Job:
    """A folder with a request file and a store, and `complete` called on them."""

    def __init__(self, folder: Path, model: ModelConfig, texts: list[str], **options: Any) -> None:
        self.folder = folder
        self.model = model
        self.requests_path = folder / "m.requests.jsonl"
        self.responses_path = folder / "m.responses.jsonl"
        self.store_root = folder / "store"
        self.weights: Path | None = options.pop("weights", None)
        sha256 = "0" * 64 if self.weights else None
        self.fingerprint, self.requests = prepare(self.requests_path, model, texts, weights=sha256, **options)

    @property
    def store_path(self) -> Path:
        return self.store_root / "m" / "task.jsonl"

    def run(self, **options: Any) -> Summary:
        settings: dict[str, Any] = {"task": "task", "progress": quiet, "weights": self.weights} | options
        return llm.complete(
            self.requests_path,
            self.responses_path,
            name="m",
            model=self.model,
            fingerprint=self.fingerprint,
            store_root=self.store_root,
            **settings,
        )

    def stored(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.store_path.read_bytes().splitlines()]

    def finished(self) -> Counter[str]:
        """How often each request got an answer."""
        return Counter(row["custom_id"] for row in self.stored() if row["error"] is None)

    def texts(self) -> list[str]:
        return [response.text for response in llm.read_responses(self.responses_path)]


def quiet(done: int, total: int, errors: int) -> None:
    """Show nothing."""


def embedded(weights: Path, **fields: Any) -> ModelConfig:
    sampling = Sampling(temperature=fields.pop("temperature", 0.0))
    return ModelConfig(
        engine="llama_cpp", weights=LocalFile(path=weights.name, sha256=None), sampling=sampling, **fields
    )


Reply = Callable[["FaultServer", BaseHTTPRequestHandler, dict[str, Any]], None]


class FaultServer(ThreadingHTTPServer):
    """Serves chat completions, and per request first whatever its plan says.

    A plan is a list of steps, used up try by try for the request whose last message is the plan's key; the
    key `*` is the plan of requests without one of their own.
    """

    daemon_threads = True

    def __init__(self, plans: dict[str, list[str]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.plans = {key: list(plan) for key, plan in plans.items()}
        self.tries: Counter[str] = Counter()
        self.headers: list[dict[str, str]] = []
        self.bodies: list[dict[str, Any]] = []
        self.at: list[float] = []
        self.active = self.most_active = 0
        self.guard = threading.Lock()
        self.released = threading.Event()
        self.echo_key = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: dropped connections are the point."""


@contextmanager
def fault_server(**plans: list[str]) -> Iterator[FaultServer]:
    everyone = plans.pop("everyone", [])
    server = FaultServer({**plans, "*": everyone})
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: FaultServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = body["messages"][-1]["content"]
        with server.guard:
            server.tries[text] += 1
            server.headers.append({key.lower(): value for key, value in self.headers.items()})
            server.bodies.append(body)
            server.at.append(time.monotonic())
            server.active += 1
            server.most_active = max(server.most_active, server.active)
            plan = server.plans.get(text, server.plans["*"])
            step = plan.pop(0) if plan else "ok"
        try:
            self._play(step, text)
        finally:
            with server.guard:
                server.active -= 1

    def _play(self, step: str, text: str) -> None:
        name, _, argument = step.partition(":")
        if name == "ok":
            self._send(200, _completion(f"you said {text}"))
        elif name == "sleep":
            time.sleep(float(argument))
            self._send(200, _completion(f"you said {text}"))
        elif name == "filtered":
            self._send(200, _completion("", finish_reason="content_filter"))
        elif name == "json":
            self._send(200, json.loads(argument))
        elif name == "429":
            self._send(
                429, {"error": {"message": "slow down"}}, {"Retry-After": argument} if argument else {}
            )
        elif name == "429ms":
            self._send(429, {"error": {"message": "slow down"}}, {"Retry-After-Ms": argument})
        elif name == "status":
            status, _, message = argument.partition(" ")
            self._send(int(status), {"error": {"message": message or "no", "type": "t", "code": None}})
        elif name == "raw":
            self._send_bytes(200, argument.encode("utf-8"))
        elif name == "echo_key":
            self._send(int(argument), {"error": {"message": f"bad key {self.headers['Authorization']}"}})
        elif name == "leak":
            self._send(200, _completion(f"your key is {self.headers['Authorization']}"))
        elif name == "drop":
            self.connection.close()
            self.close_connection = True
        elif name == "truncate":
            whole = json.dumps(_completion("cut")).encode("utf-8")
            self._head(200, len(whole), {})
            self.wfile.write(whole[: len(whole) // 2])
            self.wfile.flush()
            self.close_connection = True
        elif name == "hang":
            self.server.released.wait(30)
            self.close_connection = True
        elif name == "dribble":
            self._head(200, 1000, {})
            while not self.server.released.wait(0.05):
                self.wfile.write(b" ")
                self.wfile.flush()
        else:
            raise AssertionError(step)

    def _send(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        self._send_bytes(status, json.dumps(body).encode("utf-8"), headers)

    def _send_bytes(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self._head(status, len(body), headers or {})
        self.wfile.write(body)

    def _head(self, status: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(length))
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()


def _completion(text: str, finish_reason: str = "stop") -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": f"chatcmpl-{time.monotonic_ns()}",
        "created": int(time.time()),
        "model": "as-served",
        "system_fingerprint": "fp",
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": message, "logprobs": None}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8, "prompt_tokens_details": {}},
    }


def main() -> None:
    """Run a job in a process of its own: `python llm_helpers.py FOLDER TASK`."""
    folder, task = Path(sys.argv[1]), sys.argv[2]
    model = scripted("test_slow")
    llm.complete(
        folder / "m.requests.jsonl",
        folder / f"{task}.responses.jsonl",
        name="m",
        model=model,
        fingerprint=llm.fingerprint("m", model, None),
        store_root=folder / "store",
        task=task,
    )


if __name__ == "__main__":
    main()
