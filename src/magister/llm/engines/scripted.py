"""Players: models written in Python, whose answers are known beforehand: for tests, plans, power studies."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from magister.config.models import ModelConfig
from magister.errors import UserError
from magister.llm._requests import Request
from magister.llm._rows import ERROR_CODES, FATAL, Row, failure, success
from magister.llm.engines import Deliver

_PLAYER_MODULES = (
    *("magister.items.players", "magister.teaching.players"),
    *("magister.arena.players", "magister.arena.similarity_players"),
    "magister.rubrics.players",
)


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """What a player says when a text alone does not say it."""

    text: str = ""
    finish_reason: str = "stop"
    error: str | None = None
    """One of the error codes: the request fails with it and `text` is the message."""


Player = Callable[[list[dict[str, Any]], str, dict[str, Any]], "str | ScriptedReply"]
"""Answers `(messages, request_key, args)`, the same way each time."""

_PLAYERS: dict[str, Player] = {}


def player(name: str) -> Callable[[Player], Player]:
    """Register a function as the player that `script: name` calls."""

    def register(function: Player) -> Player:
        known = _PLAYERS.get(name)
        # The same function comes twice when its module is run as a script and imported too.
        if known is not None and known.__qualname__ != function.__qualname__:
            raise ValueError(f"there is a player {name!r} already: {known.__module__}.{known.__qualname__}")
        _PLAYERS[name] = function
        return function

    return register


def find_player(name: str, where: str = "script") -> Player:
    """Return the player of a name.

    Raises:
        UserError: there is none; lists those that are.
    """
    for module in _PLAYER_MODULES:
        if find_spec(module) is not None:
            import_module(module)
    if name not in _PLAYERS:
        raise UserError(f"{where}: unknown player {name!r}; known: {', '.join(sorted(_PLAYERS))}")
    return _PLAYERS[name]


def source_sha256(function: Player) -> str:
    """Hash the file that a player is written in: its answers may change when the file does."""
    source = inspect.getsourcefile(inspect.unwrap(function))
    if source is None:
        raise UserError(f"player {function.__qualname__}: its source file is not there to be hashed")
    return hashlib.sha256(Path(source).read_bytes()).hexdigest()


def uniform(text: str, *salt: object) -> float:
    """Draw from [0, 1) by hash: the same for the same arguments on every machine.

    Args:
        text: a request key, for draws of their own per request; or a text of your choice, for draws that
            several requests share.
        salt: tells several draws of one text apart.
    """
    parts = "\x1f".join([text, *(str(part) for part in salt)])
    return int.from_bytes(hashlib.sha256(parts.encode("utf-8")).digest()[:7], "big") / 2**56


class ScriptedEngine:
    """Calls a player for each request, in order."""

    order: Literal["file", "prefix"] = "file"

    def __init__(
        self, name: str, model: ModelConfig, *, weights: Path | None = None, workers: int | None = None
    ) -> None:
        del weights, workers
        self._name = name
        self._script = str(model.script)
        self._args = dict(model.script_args)
        self._player = find_player(self._script, f"models.{name}.script")

    def run(self, requests: Sequence[Request], deliver: Deliver) -> None:
        """Answer requests one by one."""
        for request in requests:
            deliver(self._answer(request))

    def close(self) -> None:
        """Free nothing."""

    def _answer(self, request: Request) -> Row:
        key, messages = request["custom_id"], request["body"]["messages"]
        said = self._player(messages, key, self._args)
        reply = ScriptedReply(said) if isinstance(said, str) else said
        if reply.error is not None:
            if reply.error not in ERROR_CODES:
                raise UserError(f"player {self._script!r}: unknown error code {reply.error!r}")
            if reply.error in FATAL:
                raise UserError(f"models.{self._name}: {reply.error}: {reply.text}")
            return failure(key, reply.error, reply.text, 1)
        read = sum(len(str(message.get("content") or "").split()) for message in messages)
        spoken = len(reply.text.split())
        return success(
            key,
            {
                "model": self._script,
                "choices": [{"finish_reason": reply.finish_reason, "message": {"content": reply.text}}],
                # Words stand for tokens.
                "usage": {
                    "prompt_tokens": read,
                    "completion_tokens": spoken,
                    "total_tokens": read + spoken,
                },
            },
            1,
        )


@player("echo")
def _echo(messages: list[dict[str, Any]], request_key: str, args: Mapping[str, Any]) -> str:
    """Repeat the last message."""
    del request_key
    return f"{args.get('prefix', '')}{messages[-1].get('content') or ''}"


@player("flaky")
def _flaky(messages: list[dict[str, Any]], request_key: str, args: Mapping[str, Any]) -> ScriptedReply:
    """Repeat the last message, or fail: with error `code` (default `server`) in a `share` of the requests."""
    if uniform(request_key, "flaky") < float(args.get("share", 0.5)):
        return ScriptedReply("a scripted failure", error=str(args.get("code", "server")))
    return ScriptedReply(str(messages[-1].get("content") or ""))
