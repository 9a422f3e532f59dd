"""What was looked at: md5 and signature of each file, so that an edit does not hide behind an old time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from magister.provenance import file_md5


def hash_files(root: Path, paths: Iterable[str], threads: int = 1) -> dict[str, str]:
    """md5 of files.

    Args:
        root: the project's folder.
        paths: from there; those that are no files are left out.
        threads: how many to hash at a time. One where the process is about to end: no thread starts then.
    """
    there = [path for path in sorted(paths) if (root / path).is_file()]
    if threads == 1:
        return {path: file_md5(root / path) for path in there}
    with ThreadPoolExecutor(threads) as pool:
        return dict(zip(there, pool.map(lambda path: file_md5(root / path), there), strict=True))


def signature(stat: os.stat_result) -> list[int]:
    """What changes with a file's content, whoever sets its time back: the kernel sets the time of the last change of
    the entry itself (ctime), and a file put in another's place has another number (inode)."""
    return [stat.st_mtime_ns, stat.st_size, stat.st_ctime_ns, stat.st_ino]


class Seen:
    """Files that were looked at: signature and md5 by path.

    Attributes:
        md5s: md5 of each file when it was looked at.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._signatures: dict[str, list[int]] = {}
        self.md5s: dict[str, str] = {}
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
            for name, (*numbers, md5) in known.items():
                if isinstance(md5, str):
                    self._signatures[name], self.md5s[name] = numbers, md5
        except (OSError, ValueError, TypeError, AttributeError):
            # Never looked, or the list of an earlier version: everything is looked at again.
            self._signatures, self.md5s = {}, {}

    def has(self, path: str, stat: os.stat_result) -> bool:
        """Whether the file is the one that was looked at, by its signature."""
        return self._signatures.get(path) == signature(stat)

    def poses(self, path: str, stat: os.stat_result) -> bool:
        """Whether the file has the time and the size of the one that was looked at, and is yet another or touched."""
        known = self._signatures.get(path)
        return known is not None and known[:2] == signature(stat)[:2] and known != signature(stat)

    def misses(self, files: Mapping[str, os.stat_result]) -> bool:
        """Whether a file that was there is not, or none was ever looked at."""
        return not self._signatures or not self._signatures.keys() <= files.keys()

    def keep(
        self,
        root: Path,
        files: Mapping[str, os.stat_result],
        md5s: Mapping[str, str] | None = None,
        doubted: Iterable[str] = (),
    ) -> None:
        """Remember files, and hash those of which the md5 is not known.

        Args:
            root: the project's folder.
            files: all files to remember, as they were before they were hashed.
            md5s: md5 of those that were hashed since.
            doubted: files of which is remembered what they were, and not what they are.
        """
        known = {path: self.md5s[path] for path, stat in files.items() if self.has(path, stat)}
        known |= {path: md5 for path, md5 in (md5s or {}).items() if path in files}
        known |= hash_files(root, files.keys() - known.keys())
        signatures = {path: signature(stat) for path, stat in files.items() if path in known}
        for path in sorted(set(doubted) & self.md5s.keys()):
            signatures[path], known[path] = self._signatures[path], self.md5s[path]
        if (signatures, known) == (self._signatures, self.md5s):
            return
        self._signatures, self.md5s = signatures, known
        part = self._path.with_name(f".{self._path.name}.part")
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(
            json.dumps({path: [*signatures[path], known[path]] for path in sorted(known)}), encoding="utf-8"
        )
        part.replace(self._path)
