"""A replay works without a network: whether this is one, and what keeps it so."""

from __future__ import annotations

import os
import sys

from magister.errors import UserError

_REACHING = frozenset(
    {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname"}
)
_refusing: list[bool] = []


def is_replay() -> bool:
    """Whether this process belongs to `magister replay`: no model is asked, no file fetched, no weights read."""
    return os.environ.get("MAGISTER_REPLAY") == "1"


def is_recomputed() -> bool:
    """Whether the replay also works out again what it takes from the record, to compare the two."""
    return is_replay() and os.environ.get("MAGISTER_RECOMPUTE") == "1"


def refuse_network() -> None:
    """In a replay, make every attempt of this process to reach a network an error.

    A second lock: the operating system has cut the network off already, where it can.
    """
    if is_replay() and not _refusing:
        _refusing.append(True)
        sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event not in _REACHING or not is_replay():
        return
    import socket

    if getattr(arguments[0], "family", None) == getattr(socket, "AF_UNIX", object()):
        return
    raise UserError(
        f"a replay reaches no network, and this step tried to ({event}). Nothing was sent. Whatever it wanted is "
        "missing in the record: `magister record`, where the run was made, packs it."
    )
