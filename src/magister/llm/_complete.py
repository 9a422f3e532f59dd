"""From a request file to a response file: ask what the store does not know, then compose."""

from __future__ import annotations

import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from magister.config.models import ModelConfig
from magister.errors import UserError
from magister.llm._files import write_atomically
from magister.llm._progress import Progress, ProgressLine
from magister.llm._requests import Request, canonical_json, check_requests, read_requests
from magister.llm._rows import Row, is_finished
from magister.llm._store import Index, Place, Store, read_row
from magister.llm.engines import Engine, create_engine
from magister.llm.engines.replay import ReplayEngine


@dataclass(frozen=True, slots=True)
class Summary:
    """What a call of `complete` did."""

    n: int = 0
    """Distinct requests."""
    cached: int = 0
    """Of these, answered from the store."""
    asked: int = 0
    """Of these, asked now."""
    errors: dict[str, int] = field(default_factory=dict)
    """Requests without an answer, by error code."""
    prompt_tokens: int = 0
    """Tokens read, as far as servers count them; those of answers from the store included."""
    completion_tokens: int = 0
    """Tokens written, likewise."""


def complete(
    requests_path: Path,
    responses_path: Path,
    *,
    name: str,
    model: ModelConfig,
    fingerprint: Mapping[str, Any],
    store_root: Path,
    task: str,
    weights: Path | None = None,
    max_error_share: float = 0.02,
    replay: bool = False,
    progress: Progress | None = None,
    workers: int | None = None,
) -> Summary:
    """Answer a request file.

    Answers go to the store as they arrive; an interrupted call that is made again goes on where it stopped.
    The response file is composed from the store in request order, so its bytes depend on the answers alone.

    Args:
        requests_path: what `write_requests` wrote.
        responses_path: where the answers go. Written whole or not at all.
        name: the model's name.
        model: its configuration.
        fingerprint: what `fingerprint` returned for it.
        store_root: folder of all stores.
        task: name of the task, which names the file in the store.
        weights: the model's weights, for an engine that loads them.
        max_error_share: the share of infrastructure errors above which there is no response file.
        replay: answer from the store only, recorded errors included.
        progress: told how far the run is; by default a line on stderr is kept.
        workers: see `create_engine`.

    Raises:
        UserError: the request file does not fit the model, there are too many errors, a replay misses an
            answer, the store cannot be written to, or the engine cannot work at all.
    """
    rows = read_requests(requests_path)
    check_requests(rows, fingerprint, requests_path)
    requests: dict[str, Request] = {}
    for row in rows:
        requests.setdefault(row["custom_id"], row)
    if not requests:
        write_atomically(responses_path, [])
        return Summary()

    store = Store(store_root, name, task)
    state = store.state()
    index = store.look_up(requests)
    missing = _missing(requests, index)
    asked = 0
    if replay:
        # A recorded error was part of the recorded result, so it is replayed too.
        ReplayEngine(name, task).run(
            [row for row in missing if row["custom_id"] not in index.failed], _unused
        )
    elif missing:
        with _terminated_cleanly(), store.writer() as writer:
            if store.state() != state:  # another job was here between the look-up and the lock
                index = store.look_up(requests)
                missing = _missing(requests, index)
            asked = len(missing)
            if missing:
                recorder = _Recorder(index, writer.append, asked, progress or ProgressLine(f"{task} {name}"))
                _ask(missing, recorder, create_engine(name, model, weights=weights, workers=workers), task)

    _refuse_too_many_errors(index, len(requests), max_error_share, responses_path, f"{task} {name}")
    errors, tokens = _compose(requests, index, responses_path)
    return Summary(
        n=len(requests),
        cached=len(requests) - asked,
        asked=asked,
        errors=dict(sorted(errors.items())),
        prompt_tokens=tokens["prompt_tokens"],
        completion_tokens=tokens["completion_tokens"],
    )


class _Recorder:
    """Takes rows from an engine: stores them, remembers where, and counts."""

    def __init__(self, index: Index, append: Any, total: int, progress: Progress) -> None:
        self._index = index
        self._append = append
        self._progress = progress
        self.total = total
        self.done = 0
        self.errors = 0

    def __call__(self, row: Row) -> None:
        place: Place = self._append(row)
        key = row["custom_id"]
        if is_finished(row):
            self._index.finished[key] = place
            self._index.failed.pop(key, None)
        else:
            self._index.failed[key] = place
        self.done += 1
        self.errors += row["error"] is not None
        self._progress(self.done, self.total, self.errors)


def _ask(missing: Sequence[Request], recorder: _Recorder, engine: Engine, task: str) -> None:
    try:
        if engine.order == "prefix":
            missing = sorted(missing, key=lambda row: canonical_json(row["body"]["messages"]))
        engine.run(missing, recorder)
    except (KeyboardInterrupt, SystemExit):
        print(
            f"\n{task}: stopped after {recorder.done} of {recorder.total}; these are kept. "
            "Run the same command again to go on.",
            file=sys.stderr,
            flush=True,
        )
        raise
    finally:
        engine.close()
    if recorder.done != len(missing):
        raise RuntimeError(f"engine delivered {recorder.done} rows for {len(missing)} requests")


def _missing(requests: Mapping[str, Request], index: Index) -> list[Request]:
    return [row for key, row in requests.items() if key not in index.finished]


def _unused(row: Row) -> None:
    raise AssertionError(f"a replay delivered {row['custom_id']}")


@contextmanager
def _terminated_cleanly() -> Iterator[None]:
    """Turn SIGTERM into an exit that closes what is open."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second one would break into the clean-up
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _refuse_too_many_errors(
    index: Index, total: int, max_error_share: float, responses_path: Path, label: str
) -> None:
    if len(index.failed) <= max_error_share * total:
        return
    responses_path.unlink(missing_ok=True)
    first = ""
    counts: Counter[str] = Counter()
    with _Reader() as read:
        for place in index.failed.values():
            error = read(place)["error"]
            counts[error["code"]] += 1
            first = first or f"{error['code']}: {error['message']}"
    listed = ", ".join(f"{code} {count}" for code, count in sorted(counts.items()))
    raise UserError(
        f"{label}: {len(index.failed)} of {total} requests got no answer ({listed}), more than the share of "
        f"{max_error_share:g} that llm.max_error_share allows. First: {first}. When the cause is gone, "
        "run the same command again: finished answers are kept."
    )


def _compose(
    requests: Iterable[str], index: Index, responses_path: Path
) -> tuple[Counter[str], Counter[str]]:
    """Write the response file; return errors by code and tokens by kind."""
    errors: Counter[str] = Counter()
    tokens: Counter[str] = Counter()

    def lines() -> Iterator[str]:
        with _Reader() as read:
            for key in requests:
                row = read(index.finished.get(key) or index.failed[key])
                if row["error"] is not None:
                    errors[row["error"]["code"]] += 1
                else:
                    tokens.update(row["response"]["body"].get("usage", {}))
                # How often was tried depends on the day, so it stays in the store.
                yield canonical_json(
                    {"custom_id": key, "response": row["response"], "error": row["error"]},
                )

    write_atomically(responses_path, lines())
    return errors, tokens


class _Reader:
    """Reads rows by place, opening each file once."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._files: dict[Path, BinaryIO] = {}

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __call__(self, place: Place) -> Row:
        if place.path not in self._files:
            try:
                self._files[place.path] = self._stack.enter_context(place.path.open("rb"))
            except OSError as error:
                raise UserError(f"{place.path}: cannot be read: {error.strerror}") from None
        return read_row(self._files[place.path], place)
