"""File and value hashes. md5 for files because it is DVC's: the two can be compared."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


def file_md5(path: Path) -> str:
    """md5 of a file's bytes, as DVC records it."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def file_sha256(path: Path) -> str:
    """sha256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def value_sha256(value: Any) -> str:
    """sha256 of a JSON value, independent of key order."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
