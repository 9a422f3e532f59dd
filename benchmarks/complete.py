"""Throughput of `complete` with the embedded engine, against the bare engine on the same prompts.

The bare engine is a plain loop over as many single-thread servers; what lies between is request files, keys,
the store and the response file. Loading the model is not counted on either side.

    python benchmarks/complete.py --weights data/raw/models/MODEL.gguf --n 64 --max-tokens 48
"""

from __future__ import annotations

import argparse
import hashlib
import os
import queue
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

from magister import llm
from magister.config.base import LocalFile
from magister.config.models import ModelConfig
from magister.llm.engines import llama_cpp

SUBJECTS = ("rivers", "clocks", "bridges", "bees", "glass", "maps", "trains", "bread", "stars", "sand")


def prompt(number: int) -> list[dict[str, str]]:
    subject = SUBJECTS[number % len(SUBJECTS)]
    return [
        {"role": "system", "content": "You are a patient teacher. Answer in two sentences."},
        {"role": "user", "content": f"Question {number}: what should a pupil know about {subject}, and why?"},
    ]


def raw(servers: list[Any], bodies: list[dict[str, Any]]) -> int:
    """Return the tokens written by a plain loop."""
    waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    for body in bodies:
        waiting.put(body)
    counts: list[int] = []

    def work(server: Any) -> None:
        while True:
            try:
                body = waiting.get_nowait()
            except queue.Empty:
                return
            counts.append(server.handle_chat_completions(body)["usage"]["completion_tokens"])

    threads = [threading.Thread(target=work, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts)


class Loaded:
    """Stands in for loading: hands out servers that run already."""

    def __init__(self, servers: list[Any]) -> None:
        self.waiting = list(servers)

    def __call__(self, weights: Path, **_: Any) -> Any:
        return self.waiting.pop()


def through_files(
    servers: list[Any],
    bodies: list[dict[str, Any]],
    model: ModelConfig,
    mark: dict[str, Any],
    options: argparse.Namespace,
) -> int:
    """Return the tokens written on the whole way from bodies to a response file."""
    llama_cpp.start_server = Loaded(servers)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        llm.write_requests(path / "q.jsonl", (llm.build_request(mark, body) for body in bodies))
        summary = llm.complete(
            path / "q.jsonl",
            path / "r.jsonl",
            name="bench",
            model=model,
            fingerprint=mark,
            store_root=path / "store",
            task="bench",
            weights=options.weights,
            workers=options.workers,
            progress=lambda *_: None,
        )
    return summary.completion_tokens


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weights", type=Path, required=True, help="GGUF file")
    parser.add_argument("--n", type=int, default=64, help="prompts per measurement")
    parser.add_argument("--max-tokens", type=int, default=48, help="reply limit")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each, in turns")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="servers")
    options = parser.parse_args()

    model = ModelConfig(engine="llama_cpp", weights=LocalFile(path=options.weights.name, sha256=None))
    sha256 = hashlib.sha256(options.weights.read_bytes()).hexdigest()
    mark = llm.fingerprint("bench", model, sha256)
    bodies = [llm.chat_body(model, prompt(number), options.max_tokens) for number in range(options.n)]
    servers = [llama_cpp.start_server(options.weights, context=model.context) for _ in range(options.workers)]
    for server in servers:  # the first call of a server pays for memory that it then keeps
        server.handle_chat_completions({**bodies[0], "max_tokens": 2})

    ratios, cpu_ratios = [], []
    for turn in range(options.rounds):
        rates: dict[str, tuple[float, float]] = {}
        # In turns, so that whatever else the machine does falls on both.
        for kind in ("raw", "complete") if turn % 2 == 0 else ("complete", "raw"):
            started, cpu_started = time.perf_counter(), time.process_time()
            written = (
                raw(servers, bodies)
                if kind == "raw"
                else through_files(servers, bodies, model, mark, options)
            )
            spent, cpu = time.perf_counter() - started, time.process_time() - cpu_started
            rates[kind] = written / spent, written / cpu
            print(
                f"{kind:>8}: {written} tokens in {spent:.1f} s, {written / spent:.1f} tokens/s, "
                f"{written / cpu:.1f} per CPU second",
                flush=True,
            )
        ratios.append(rates["complete"][0] / rates["raw"][0])
        cpu_ratios.append(rates["complete"][1] / rates["raw"][1])
    print(f"ratio {median(ratios):.3f} (median of {options.rounds} turns; target 0.90 or more)")
    print(f"ratio per CPU second {median(cpu_ratios):.3f} (says more while other programs run)")


if __name__ == "__main__":
    main()
