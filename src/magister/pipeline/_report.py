"""What a user reads of a run: the steps' own lines, and of Snakemake only what they cannot say."""

from __future__ import annotations

import atexit
import logging
import os
import re
import sys
from collections.abc import Callable

# A step that ends with 1 or 2 has printed why, one that ends with 130 was interrupted by the user; any other end
# (a signal, no memory) only Snakemake knows of.
_SAID = re.compile(r"CalledProcessError .*returned non-zero exit status (?:1|2|130)\.\s*\Z", re.DOTALL)
_SUMMARY = ("Exiting because a job execution failed", "At least one job did not complete successfully")


def is_news(record: logging.LogRecord) -> bool:
    """Whether a message of Snakemake's tells what no step has told."""
    text = record.getMessage()
    return record.levelno >= logging.ERROR and not _SAID.search(text) and not any(s in text for s in _SUMMARY)


def quieten(logger: logging.Logger) -> None:
    """Leave of Snakemake's messages on the terminal only news; its log file keeps them all."""
    for handler in logger.handlers:
        if handler.name == "DefaultStreamHandler":
            handler.addFilter(is_news)


def at_exit(finish: Callable[[], int]) -> None:
    """Do something when this process ends, and let it decide on the exit code.

    Snakemake calls no hook where there was nothing to do, so this is done by Python when the process ends, and by
    then the exit code stands. A process that has to end with another one is ended here: after all other exit handlers
    have run, its output is flushed, and it leaves without going on.

    Args:
        finish: returns the exit code; 0 leaves the one that there is.
    """

    def run() -> None:
        code = finish()
        if code:
            atexit.unregister(run)
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    atexit.register(run)
