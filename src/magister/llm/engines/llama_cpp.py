"""The embedded engine: llama.cpp inside this process, through xllamacpp.

The deterministic profile runs one server per core, each with a single thread, a single slot and no prompt
cache. Whatever a server computes then depends on the request alone, not on what ran before or beside it: the
bytes of an answer are the same for any number of workers and any order. Calls release the interpreter's lock.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

# Read once, when the library loads: threads that spin while they wait starve each other on a busy machine.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import xllamacpp

from magister.config.models import ModelConfig
from magister.errors import UserError
from magister.llm._requests import Request
from magister.llm._rows import Row, failure, is_overflow, success
from magister.llm.engines import Deliver

_FAST_SLOTS = 8
_SILENT = -1


class LlamaCppEngine:
    """Answers with a GGUF model on this machine's cores."""

    order: Literal["file", "prefix"]

    def __init__(
        self, name: str, model: ModelConfig, *, weights: Path | None = None, workers: int | None = None
    ) -> None:
        """Load the model.

        Raises:
            UserError: the weights are missing or cannot be loaded.
        """
        if weights is None or not weights.is_file():
            raise UserError(f"models.{name}: weights not found at {weights}; fetch them first")
        cores = len(os.sched_getaffinity(0))
        self._model_name = weights.name
        self._servers: list[Any] = []
        if model.profile == "deterministic":
            self.order = "file"
            self._callers = max(1, workers or cores)
            for _ in range(self._callers):
                self._servers.append(start_server(weights, context=model.context))
        else:
            self.order = "prefix"
            self._callers = _FAST_SLOTS
            self._servers.append(
                start_server(
                    weights, context=model.context, slots=_FAST_SLOTS, threads=workers or cores, cache=True
                )
            )

    def run(self, requests: Sequence[Request], deliver: Deliver) -> None:
        """Answer requests on all servers at once; rows are handed over in the calling thread."""
        waiting: queue.SimpleQueue[Request] = queue.SimpleQueue()
        for request in requests:
            waiting.put(request)
        done: queue.SimpleQueue[Row | BaseException] = queue.SimpleQueue()
        stop = threading.Event()

        def work(server: Any) -> None:
            try:
                while not stop.is_set():
                    done.put(self._answer(server, waiting.get_nowait()))
            except queue.Empty:
                return
            except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
                done.put(error)

        threads = [
            threading.Thread(target=work, args=(self._servers[index % len(self._servers)],), daemon=True)
            for index in range(min(self._callers, len(requests)))
        ]
        for thread in threads:
            thread.start()
        try:
            for _ in requests:
                row = done.get()
                if isinstance(row, BaseException):
                    raise row
                deliver(row)
        except (KeyboardInterrupt, SystemExit):
            # A server cannot be interrupted: what it is answering now is waited for, and so kept.
            _stop(stop, threads)
            while not done.empty():
                row = done.get()
                if not isinstance(row, BaseException):
                    deliver(row)
            raise
        finally:
            _stop(stop, threads)

    def close(self) -> None:
        """Unload the model."""
        self._servers.clear()

    def _answer(self, server: Any, request: Request) -> Row:
        key = request["custom_id"]
        try:
            reply = server.handle_chat_completions(request["body"])
        except (ValueError, RuntimeError) as problem:
            # Raised where a body does not pass the chat template or the grammar builder.
            return failure(key, "bad_request", str(problem), 1)
        error = reply.get("error") if isinstance(reply, dict) else "no reply"
        if error:
            return _failed(key, error)
        try:
            return success(key, reply, 1, model=self._model_name)
        except ValueError as problem:
            return failure(key, "server", str(problem), 1)


def _stop(stop: threading.Event, threads: Sequence[threading.Thread]) -> None:
    stop.set()
    for thread in threads:
        thread.join()


def _failed(key: str, error: Any) -> Row:
    if not isinstance(error, dict):
        return failure(key, "server", str(error), 1)
    message = str(error.get("message"))
    if is_overflow(error.get("type"), message):
        return failure(key, "context_length", message, 1)
    status = error.get("code")
    refused = isinstance(status, int) and 400 <= status < 500
    return failure(key, "bad_request" if refused else "server", message, 1)


def start_server(
    weights: Path, *, context: int, slots: int = 1, threads: int = 1, cache: bool = False
) -> xllamacpp.Server:
    """Load a model into a server of its own.

    The library opens a port with every server; it is on the loopback address.

    Args:
        weights: GGUF file.
        context: window in tokens of each slot.
        slots: requests worked on at once.
        threads: threads of computation.
        cache: whether beginnings that a slot has seen are reused. Changes the arithmetic, and so now and then
            a token.

    Raises:
        UserError: the file cannot be loaded.
    """
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {weights.name}
    params.n_parallel = slots
    params.n_ctx = context * slots
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.cache_prompt = cache
    if not cache:
        params.cache_ram_mib = 0
        params.n_ctx_checkpoints = 0
    params.hostnames = ["127.0.0.1"]
    params.warmup = False
    params.verbosity = _SILENT
    try:
        server = xllamacpp.Server(params)
    except RuntimeError:
        raise UserError(
            f"{weights}: llama.cpp cannot load it. Is it a whole GGUF file, and is there memory for it?"
        ) from None
    host = urlsplit(server.listening_address).hostname
    if host != "127.0.0.1":
        raise UserError(f"{weights}: llama.cpp listens on {host}, not on the loopback address alone")
    return server
