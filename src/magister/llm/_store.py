"""The store: every answer ever received, a line each, appended as it arrives.

A file per model and task. Lines are only ever added, by one process per model at a time, so a crash can tear
nothing but the last line; a torn line is dropped by the next writer and its request asked again. Files are
merged by concatenation: of several rows with one key the first finished one counts.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from magister.errors import UserError
from magister.llm._requests import canonical_json
from magister.llm._rows import Row, is_finished

SYNC_ROWS = 256
SYNC_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row lies."""

    path: Path
    offset: int
    length: int


@dataclass(slots=True)
class Index:
    """Where the rows of the requests in question lie."""

    finished: dict[str, Place] = field(default_factory=dict)
    """The first finished row of each request."""
    failed: dict[str, Place] = field(default_factory=dict)
    """The latest failure of each request without a finished row; one in the task's own file goes first."""


class Store:
    """The answers of one model to one task, with those of its other tasks in reach.

    Attributes:
        path: the task's file, which is the only one written to.
    """

    def __init__(self, root: Path, model: str, task: str) -> None:
        """Name a store. Nothing is opened or made.

        Args:
            root: folder of all stores.
            model: name of the model.
            task: name of the task; a slash in it becomes a dot.
        """
        self.folder = root / model
        self.model = model
        self.task = task
        self.path = self.folder / f"{task.strip('/').replace('/', '.')}.jsonl"

    def files(self) -> list[Path]:
        """List the model's files, the task's own first, then by name."""
        try:
            others = sorted(path for path in self.folder.glob("*.jsonl") if path != self.path)
        except OSError as error:
            raise UserError(f"{self.folder}: cannot be read: {error.strerror}") from None
        return [self.path, *others] if self.path.is_file() else others

    def state(self) -> tuple[tuple[str, int, int], ...]:
        """Return a value that changes when a row is added to any of the model's files."""
        stats = [(path.name, path.stat()) for path in self.files()]
        return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats if stat.st_size)

    def look_up(self, keys: Collection[str]) -> Index:
        """Find the rows of some requests in all of the model's files.

        Memory grows with the number of requests asked about, not with the store.

        Raises:
            UserError: a line other than a file's last cannot be read; names the file and the line.
        """
        wanted = keys if isinstance(keys, set | frozenset | dict) else set(keys)
        index = Index()
        failed_in: dict[str, Path] = {}
        for path in self.files():
            for offset, length, row in scan(path):
                key = row["custom_id"]
                if key not in wanted or key in index.finished:
                    continue
                if is_finished(row):
                    index.finished[key] = Place(path, offset, length)
                    index.failed.pop(key, None)
                elif failed_in.setdefault(key, path) == path:
                    index.failed[key] = Place(path, offset, length)
        return index

    @contextmanager
    def writer(self) -> Iterator[Writer]:
        """Hold the model's lock and open the task's file for appending.

        Waits, with a message, while another process writes answers of this model. The lock goes with the
        process, however it ends.

        Raises:
            UserError: the folder cannot be written to.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise UserError(
                f"{self.folder}: answers cannot be stored: {error.strerror}. Free the folder for writing."
            ) from None
        try:
            self._take(lock)
            with Writer(self.path) as writer:
                yield writer
        finally:
            os.close(lock)

    def _take(self, lock: int) -> None:
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print(
                    f"{self.task}: waiting for another job that is asking model {self.model!r} "
                    f"(it holds {self.folder / '.lock'})",
                    file=sys.stderr,
                    flush=True,
                )
                fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as error:
            raise UserError(f"{self.folder / '.lock'}: cannot be locked: {error.strerror}") from None


class Writer:
    """Appends rows to one file. Rows may come from several threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._unsynced = 0
        self._synced_at = time.monotonic()
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise UserError(f"{path}: answers cannot be stored: {error.strerror}") from None
        try:
            self._end = _cut_torn_line(path, self._file)
        except BaseException:
            os.close(self._file)
            raise

    def append(self, row: Row) -> Place:
        """Add a row. It survives the end of this process at once, that of the machine after the next sync.

        Returns:
            Where the row lies now.

        Raises:
            UserError: the disk is full or gone. What was stored before stays valid.
        """
        line = canonical_json(row).encode("utf-8") + b"\n"
        with self._guard:
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(self._file, rest) :]
                self._unsynced += 1
                if self._unsynced >= SYNC_ROWS or time.monotonic() - self._synced_at >= SYNC_SECONDS:
                    self._sync()
            except OSError as error:
                # A part of the line may have gone out. If it cannot be cut off now, the next writer does it.
                with suppress(OSError):
                    os.ftruncate(self._file, self._end)
                raise UserError(
                    f"{self._path}: an answer could not be stored: {error.strerror}. All earlier ones are "
                    "kept; make room and run the same command again."
                ) from None
            place = Place(self._path, self._end, len(line))
            self._end += len(line)
        return place

    def _sync(self) -> None:
        os.fsync(self._file)
        self._unsynced = 0
        self._synced_at = time.monotonic()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        with self._guard:
            try:
                if self._unsynced:
                    self._sync()
            except OSError as error:
                raise UserError(f"{self._path}: answers could not be stored: {error.strerror}") from None
            finally:
                os.close(self._file)


def scan(path: Path) -> Iterator[tuple[int, int, Row]]:
    """Yield offset, length and content of every whole row of a store file.

    A torn last line is passed over: whoever writes next drops it.

    Raises:
        UserError: a line other than the last is not a row.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            offset = 0
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    return
                row = parse_row(line)
                if row is not None:
                    yield offset, len(line), row
                elif offset + len(line) < size:
                    raise UserError(
                        f"{path}, line {number}: not a row of the store. Delete this line (for instance with "
                        f"`sed -i {number}d {path}`) and run again: its request is asked anew."
                    )
                offset += len(line)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def parse_row(line: bytes) -> Row | None:
    """Read a line of a store file; None when it is not a row."""
    try:
        row = json.loads(line)
        error = row["error"]
        whole = (
            isinstance(row["custom_id"], str)
            and isinstance(row["attempts"], int)
            and (
                isinstance(row["response"]["body"], dict) if error is None else isinstance(error["code"], str)
            )
        )
    except (ValueError, KeyError, TypeError, IndexError):
        return None
    return row if whole else None


def read_row(file: BinaryIO, place: Place) -> Row:
    """Read the row at a place that `Store.look_up` returned.

    Raises:
        UserError: the file was changed since.
    """
    file.seek(place.offset)
    row = parse_row(file.read(place.length))
    if row is None:
        raise UserError(f"{place.path}: changed while it was read. Run the same command again.")
    return row


def _cut_torn_line(path: Path, file: int) -> int:
    """Cut off a last line without its newline or without sense, and return the length that is left."""
    end = os.fstat(file).st_size
    if end == 0:
        return 0
    start = _last_line_start(file, end)
    line = os.pread(file, end - start, start)
    if line.endswith(b"\n") and parse_row(line) is not None:
        return end
    print(
        f"{path}: dropping a torn last line of {end - start} bytes; its request is asked again",
        file=sys.stderr,
    )
    try:
        os.ftruncate(file, start)
        os.fsync(file)
    except OSError as error:
        raise UserError(f"{path}: its torn last line cannot be dropped: {error.strerror}") from None
    return start


def _last_line_start(file: int, end: int) -> int:
    """Find where the last line begins, reading backwards."""
    position = end - 1  # not past the newline that ends the line itself
    while position > 0:
        step = min(position, 65536)
        found = os.pread(file, step, position - step).rfind(b"\n")
        if found >= 0:
            return position - step + found + 1
        position -= step
    return 0
