"""How far a run is, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

Progress = Callable[[int, int, int], None]
"""Told `(done, total, errors)` after every answer."""

_TTY_SECONDS = 0.2
_LOG_SECONDS = 10.0


class ProgressLine:
    """A line that updates itself on a terminal; in a log, a line every ten seconds and one at the end."""

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self._label = label
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._started = self._shown = time.monotonic()

    def __call__(self, done: int, total: int, errors: int) -> None:
        """Show progress, if it is time to."""
        now = time.monotonic()
        ended = done == total
        if not ended and now - self._shown < (_TTY_SECONDS if self._live else _LOG_SECONDS):
            return
        self._shown = now
        rate = done / max(now - self._started, 1e-3)
        line = f"{self._label} {done}/{total} asked, {rate:.1f}/s"
        if errors:
            line += f", {errors} error{'s' if errors != 1 else ''}"
        if self._live:
            self._stream.write(f"\r\x1b[K{line}" + ("\n" if ended else ""))
        else:
            self._stream.write(f"{line}\n")
        self._stream.flush()
