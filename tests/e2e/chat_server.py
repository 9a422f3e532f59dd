"""An OpenAI-compatible endpoint on this machine, whose replies a test decides."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

REFUSAL = "I'm sorry, but I can't help with that."


def spoilt(kind: str, said: str) -> tuple[str, str]:
    """A JSON reply as a model spoils it, or as it is, and its finish reason."""
    if kind == "fenced":
        return f"Here you are:\n```json\n{said}\n```", "stop"
    if kind == "bad_json":
        return said.replace("]" if "]" in said else "}", ""), "stop"
    if kind == "cut":
        return said[: len(said) // 2], "length"
    if kind == "refused":
        return REFUSAL, "stop"
    return ("", "content_filter") if kind == "filtered" else (said, "stop")


def review(kind: str, checks: Sequence[str], objection: str) -> tuple[str, str]:
    """What a critic says, and its finish reason; where it objects, to one of the checks."""
    said = json.dumps({check: kind != "objection" or check != objection for check in checks})
    if kind == "review_refused":
        return "I cannot assist with that request.", "stop"
    if kind == "review_prose":
        return "All four points hold.", "stop"
    return (said[:20], "length") if kind == "review_cut" else (said, "stop")


class ChatServer(ThreadingHTTPServer, ABC):
    """Chat completions as `reply` gives them. As a context it serves until the end of the block."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.guard = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"

    @abstractmethod
    def reply(self, model: str, prompt: str) -> tuple[str, str]:
        """What a model says to the last message, and its finish reason."""

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()


class KindServer(ChatServer):
    """Each question has one of the kinds of reply, given again when asked; what was asked is kept.

    Args:
        kinds: the kinds, one question each; further questions are answered well.
    """

    def __init__(self, kinds: Sequence[str]) -> None:
        super().__init__()
        self._to_give = kinds
        self.kinds: dict[str, str] = {}
        self.asked: list[tuple[str, str]] = []

    def kind_of(self, model: str, question: str) -> str:
        """The kind of reply to a question."""
        with self.guard:
            waiting = [kind for kind in self._to_give if kind not in self.kinds.values()]
            kind = self.kinds.setdefault(question, waiting[0] if waiting else "good")
            self.asked.append((model, question))
        return kind


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text, reason = self.server.reply(body["model"], body["messages"][-1]["content"])
        message = {"role": "assistant", "content": text}
        answer = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": reason, "message": message, "logprobs": None}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
