"""What a user reads of a run: the steps' own lines, and of Snakemake only what they cannot say."""

from __future__ import annotations

import logging
import re

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
