"""What the tests of this package share: an engine that counts what it is asked, and a local endpoint."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from magister.config.embedders import EmbedderConfig
from magister.embeddings import Embedding, Vectors, create_embedder, embedder_fingerprint

HASHED = EmbedderConfig(engine="hashed", dimensions=64)


class Told:
    """Gives each text a vector of its letters, and keeps what it was asked.

    Args:
        failing: error codes by text.
        stop_after: texts after which it is interrupted.
    """

    def __init__(self, failing: dict[str, str] | None = None, stop_after: int | None = None) -> None:
        self.failing = failing or {}
        self.stop_after = stop_after
        self.asked: list[str] = []
        self.made = 0

    def __call__(self) -> Told:
        self.made += 1
        return self

    def embed(self, texts: Sequence[str], deliver: Callable[[int, Embedding], None]) -> None:
        for place in reversed(range(len(texts))):
            if self.stop_after is not None and len(self.asked) >= self.stop_after:
                raise KeyboardInterrupt
            text = texts[place]
            self.asked.append(text)
            code = self.failing.get(text)
            if code is not None:
                deliver(place, Embedding(None, error=(code, "as told"), attempts=2))
            else:
                deliver(place, Embedding(letters(text), len(text.split()), len(text) > 40))

    def close(self) -> None:
        pass


def letters(text: str) -> Any:
    vector = np.zeros(26, dtype=np.float32)
    for sign in text.casefold():
        if "a" <= sign <= "z":
            vector[ord(sign) - ord("a")] += 1
    return vector


def hashed_vectors(**options: Any) -> Vectors:
    mark = embedder_fingerprint("h", HASHED)
    return Vectors(mark, lambda: create_embedder("h", HASHED), **options)


def endpoint_config(url: str, **fields: Any) -> EmbedderConfig:
    limits = {"attempts": 3, "backoff": 0.01, "backoff_max": 0.05, "timeout": 5.0, "concurrency": 3}
    limits |= fields.pop("limits", {})
    return EmbedderConfig(
        **{"engine": "endpoint", "served_name": "small-embedder", "base_url": url, "limits": limits} | fields
    )


def endpoint_vectors(config: EmbedderConfig, **options: Any) -> Vectors:
    return Vectors(embedder_fingerprint("e", config), lambda: create_embedder("e", config), **options)


class EmbeddingServer(ThreadingHTTPServer):
    """`/v1/embeddings`, which refuses texts with the word LONG and fails as its plan says.

    Args:
        plan: what happens to the first requests: an HTTP status, or `short`, `twisted`, `words`, `nan`.
    """

    daemon_threads = True

    def __init__(self, plan: list[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.plan = plan
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.guard = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def embedding_server(*plan: str) -> Iterator[EmbeddingServer]:
    server = EmbeddingServer(list(plan))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.guard:
            self.server.bodies.append(body)
            self.server.keys.append(self.headers["Authorization"])
            step = self.server.plan.pop(0) if self.server.plan else "ok"
        if step.isdigit():
            return self._send(int(step), {"error": {"message": f"no {self.headers['Authorization']}"}})
        if any("LONG" in text for text in body["input"]):
            return self._send(400, {"error": {"message": "maximum context length is 8 tokens"}})
        data: list[dict[str, Any]] = [
            {"object": "embedding", "index": place, "embedding": (3 * letters(text)).tolist()}
            for place, text in enumerate(body["input"])
        ]
        if step == "short":
            data = data[:-1]
        elif step == "words":
            data[0]["embedding"] = "none"
        elif step == "nan":
            data[0]["embedding"] = [float("nan"), 1.0]
        tokens = sum(len(text.split()) for text in body["input"])
        # In another order than asked: `index` says what is whose.
        self._send(200, {"object": "list", "data": data[::-1], "usage": {"prompt_tokens": tokens}})

    def _send(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
