"""Rows of the store as small files for version control: sorted, compressed, the same bytes for the same rows."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from magister.errors import UserError
from magister.llm import Row, canonical_json

SUFFIX = ".jsonl.xz"
_KEY = re.compile(r"[0-9a-f]{64}")
_DAMAGED = "Take the file from version control again, or pack it anew with `magister record`."


def pack(rows: Mapping[str, Row]) -> bytes:
    """Rows as lines of canonical JSON, sorted by key.

    How often a request was tried depends on the day and is left out, as in the files of responses.

    Args:
        rows: by key.
    """
    lines = (
        canonical_json({"custom_id": key, "response": row["response"], "error": row["error"]}) + "\n"
        for key, row in sorted(rows.items())
    )
    return "".join(lines).encode("utf-8")


def write_packed(path: Path, text: bytes) -> dict[str, Any]:
    """Compress rows into a file; one that holds the same rows already stays as it is.

    Args:
        path: the file.
        text: what `pack` returned.

    Returns:
        `rows` and `sha256`, by which the file is known.
    """
    if not (path.is_file() and _decompressed(path, quiet=True) == text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.compress(text, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC64, preset=6))
    return {"rows": text.count(b"\n"), "sha256": hashlib.sha256(text).hexdigest()}


def _decompressed(path: Path, *, quiet: bool = False) -> bytes:
    try:
        return lzma.decompress(path.read_bytes(), format=lzma.FORMAT_XZ)
    except (OSError, lzma.LZMAError, EOFError) as error:
        if quiet:
            return b""
        raise UserError(f"{path}: cannot be read: {error}. {_DAMAGED}") from None


def read_packed(path: Path, expected: Mapping[str, Any]) -> list[Row]:
    """Read rows back, each held to its form and all of them to what is known of the file.

    Args:
        path: the file.
        expected: what `write_packed` returned.

    Raises:
        UserError: the file is damaged, is another one, or a row is none; names the line.
    """
    text = _decompressed(path)
    rows: list[Row] = []
    last = ""
    for number, line in enumerate(text.splitlines(), start=1):
        key, row = _parsed(line)
        if row is None or not _KEY.fullmatch(key):
            raise UserError(f"{path}, line {number}: not a recorded answer. {_DAMAGED}")
        if key <= last:
            raise UserError(f"{path}, line {number}: {key} stands behind {last}; keys ascend. {_DAMAGED}")
        last = key
        rows.append(row)
    seen = hashlib.sha256(text).hexdigest()
    if seen != expected.get("sha256"):
        raise UserError(
            f"{path}: other answers than those that were recorded ({len(rows)} of {expected.get('rows')} rows, sha256 "
            f"{seen}, expected {expected.get('sha256')}). {_DAMAGED}"
        )
    return rows


def _parsed(line: bytes) -> tuple[str, Row | None]:
    """A line as a row, with its key."""
    try:
        row = json.loads(line)
        whole = row["error"] is None if row["response"] is not None else isinstance(row["error"]["code"], str)
        return str(row["custom_id"]), row if whole else None
    except (ValueError, KeyError, TypeError):
        return "", None


def write_store(folder: Path, rows: Iterable[Row]) -> None:
    """Put recorded rows into a store. None of them was tried here."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(canonical_json({**row, "attempts": 0}) + "\n" for row in rows)
    (folder / "recorded.jsonl").write_text(text, encoding="utf-8")
