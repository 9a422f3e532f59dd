"""Members of a zip archive, read in memory: nothing is unpacked to disk, and no archive can fill the memory."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from magister.errors import UserError

MEMBER_BYTES = 256 * 2**20
TOTAL_BYTES = 4 * 2**30
MEMBERS = 1_000_000
_DAMAGE = (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, EOFError, OSError, ValueError)


class Archive:
    """An open archive.

    Attributes:
        path: the file, for messages.
    """

    def __init__(self, path: Path) -> None:
        """Open an archive.

        Raises:
            UserError: no readable archive, too many members, or a member with a path that leads elsewhere.
        """
        self.path = path
        self._read = 0
        try:
            self._zip = zipfile.ZipFile(path)
        except FileNotFoundError:
            raise UserError(f"{path}: not found") from None
        except _DAMAGE as error:
            raise UserError(f"{path}: not a readable zip archive: {error}") from None
        members = self._zip.infolist()
        if len(members) > MEMBERS:
            raise UserError(f"{path}: {len(members)} members; at most {MEMBERS} are read")
        for member in members:
            name = PurePosixPath(member.filename.replace("\\", "/"))
            if name.is_absolute() or ".." in name.parts or ":" in (name.parts or ("",))[0]:
                raise UserError(
                    f"{path}: member {member.filename!r} leads out of the archive; no log has such a one"
                )

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def names(self) -> list[str]:
        """Names of the members, sorted."""
        return sorted({member.filename for member in self._zip.infolist()})

    def read(self, name: str) -> bytes:
        """Content of a member; of several with one name the last, which is the newest.

        Raises:
            UserError: it is damaged, or larger than any sample of a log.
        """
        room = min(MEMBER_BYTES, TOTAL_BYTES - self._read)
        try:
            with self._zip.open(name) as member:
                # What a header says of a size is a claim: what comes out is counted.
                data = b"".join(_chunks(member, room + 1))
        except _DAMAGE as error:
            raise UserError(
                f"{self.path}: {name}: cannot be read: {error}. `inspect log convert` makes a .json file of the log"
            ) from None
        if len(data) > room:
            raise UserError(
                f"{self.path}: {name}: more than {room} bytes once unpacked: at most {MEMBER_BYTES} of a member and "
                f"{TOTAL_BYTES} of an archive are read"
            )
        self._read += len(data)
        return data


def _chunks(member: object, limit: int) -> Iterator[bytes]:
    read = getattr(member, "read")  # noqa: B009 - typeshed has no name for what `open` gives
    left = limit
    while left > 0 and (chunk := read(min(left, 2**20))):
        left -= len(chunk)
        yield chunk
