"""Files that are whole or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from magister.errors import UserError


def write_atomically(path: Path, lines: Iterable[str]) -> None:
    """Write lines of text so that a reader sees the old file or the new one, never a part.

    Raises:
        UserError: the folder cannot be written to, or the disk is full.
    """
    write_pieces(path, (line.encode("utf-8") + b"\n" for line in lines))


def write_pieces(path: Path, pieces: Iterable[bytes]) -> None:
    """Write bytes so that a reader sees the old file or the new one, never a part.

    Args:
        path: where to.
        pieces: what the file holds, one after the other.

    Raises:
        UserError: the folder cannot be written to, or the disk is full.
    """
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with open(descriptor, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(descriptor)
        os.chmod(temporary, 0o666 & ~_umask())  # mkstemp's 0600 would hide the file from a shared group
        os.replace(temporary, path)
    except BaseException as error:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, OSError):
            raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their number from 1.

    Lines end at a newline byte alone: model text may hold any of Unicode's other line separators.

    Raises:
        UserError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
