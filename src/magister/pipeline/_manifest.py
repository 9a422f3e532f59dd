"""The manifest: md5 and path of every file that `dvc.lock` and `store.dvc` record, one by one.

DVC records a folder by one hash, the md5 of a list of its files that only its cache holds. Who has a clone and no
cache could say that something differs, and not what. `artifacts.md5` is that list, as `md5sum -c` reads it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from magister.errors import UserError

MANIFEST = "artifacts.md5"
_LINE = re.compile(r"(\\?)([0-9a-f]{32})  (.+)")


def folder_md5(md5s: Mapping[str, str], folder: str) -> str:
    """The hash by which DVC records a folder: md5 of the JSON list of its files, sorted by path, and `.dir`.

    Args:
        md5s: path -> md5 of files, of this folder and of others.
        folder: its path.
    """
    inside = f"{folder}/"
    entries = [
        {"md5": md5, "relpath": path.removeprefix(inside)}
        for path, md5 in md5s.items()
        if path.startswith(inside)
    ]
    entries.sort(key=lambda entry: entry["relpath"])
    text = json.dumps(entries, sort_keys=True)
    return hashlib.md5(text.encode("utf-8"), usedforsecurity=False).hexdigest() + ".dir"


def recorded_md5(md5s: Mapping[str, str], path: str) -> str | None:
    """The hash by which DVC records a path: that of a file, or of a folder; None where there is neither."""
    if path in md5s:
        return md5s[path]
    if any(name.startswith(f"{path}/") for name in md5s):
        return folder_md5(md5s, path)
    return None


def read_manifest(path: Path) -> dict[str, str]:
    """Read path -> md5.

    Raises:
        UserError: a line is none of a manifest, or a path stands twice; names the line.
    """
    found: dict[str, str] = {}
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    for number, line in enumerate(text.split("\n")[:-1], start=1):
        parts = _LINE.fullmatch(line)
        if parts is None:
            raise UserError(
                f"{path}, line {number}: expected an md5, two spaces and a path. `snakemake --cores all` writes it "
                "anew where it is missing."
            )
        escaped, md5, name = parts.groups()
        if escaped:
            name = re.sub(r"\\([\\n])", lambda each: "\n" if each[1] == "n" else "\\", name)
        if name in found:
            raise UserError(f"{path}, line {number}: {name} stands in it twice.")
        found[name] = md5
    return found


def write_manifest(path: Path, md5s: Mapping[str, str]) -> None:
    """Write the manifest, sorted by path: whole or not at all, and not where it says the same already."""
    lines = []
    for name in sorted(md5s):
        # As md5sum marks a name with a backslash or a line break in it.
        plain = name.replace("\\", "\\\\").replace("\n", "\\n")
        lines.append(f"{'' if plain == name else chr(92)}{md5s[name]}  {plain}\n")
    text = "".join(lines).encode("utf-8")
    if path.is_file() and path.read_bytes() == text:
        return
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)


def update_manifest(path: Path, md5s: Mapping[str, str], folders: Iterable[str]) -> None:
    """Replace what the manifest says of some folders.

    Args:
        path: the manifest; made if it is not there.
        md5s: files of these folders.
        folders: paths.
    """
    old = read_manifest(path) if path.is_file() else {}
    gone = tuple(f"{folder}/" for folder in folders)
    kept = {name: md5 for name, md5 in old.items() if not name.startswith(gone)}
    write_manifest(path, kept | dict(md5s))
