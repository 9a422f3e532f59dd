"""The arena: few, well-chosen comparisons of models, and the ratings that follow."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from magister.arena.ratings import rate
    from magister.arena.selection import select

__all__ = ["rate", "select"]

_WHERE = {"rate": "magister.arena.ratings", "select": "magister.arena.selection"}


def __getattr__(name: str) -> Any:
    # Imported on use and by name: a step of the arena neither waits for nor depends on the code of another.
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
