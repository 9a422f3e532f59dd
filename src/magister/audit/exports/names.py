"""Names in exports: URNs of things, since a result may be anywhere or nowhere on the web, and of choices."""

from __future__ import annotations

from enum import StrEnum
from urllib.parse import quote

BASE = "urn:magister:"
"""What all names begin with. It is the project's own and registered nowhere."""


def local(*parts: str) -> str:
    """Parts joined by slashes, with what no URI may hold escaped."""
    return "/".join(quote(part, safe="/") for part in parts)


def file_name(path: str, md5: str) -> str:
    """A file with this content, after `urn:magister:file:`: the same name in every export."""
    return local(md5, path)


class Files(StrEnum):
    """What becomes of the files behind the targets of a crate."""

    copy = "copy"
    reference = "reference"
