"""A finding: one place where what is there is not what it must be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One place where a check failed.

    Attributes:
        path: file, from the project's folder.
        place: row by its key, line or column; empty where it is the whole file.
        check: which check it is, in a few words.
        seen: what is there.
        expected: what must be there.
    """

    path: str
    place: str
    check: str
    seen: str
    expected: str
