"""The arena: few, well-chosen comparisons of models, and the ratings that follow."""

from importlib import import_module
from typing import Any

# Loaded when asked for, by name: a step of the arena neither waits for nor depends on the code of another.
_PUBLIC = {"select": "magister.arena.selection"}


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
