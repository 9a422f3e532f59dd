"""The arena: few, well-chosen comparisons of models, and the ratings that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from magister.arena.ratings import rate
    from magister.arena.selection import select

__all__ = ["rate", "select"]


def __getattr__(name: str) -> Any:
    # Imported on use: a step of the arena neither waits for nor depends on the code of another.
    if name == "rate":
        from magister.arena.ratings import rate

        return rate
    if name == "select":
        from magister.arena.selection import select

        return select
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
