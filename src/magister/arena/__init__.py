"""The arena: models against one another on few, well-chosen instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from magister.arena.ratings import rate

__all__ = ["rate"]


def __getattr__(name: str) -> Any:
    # Imported on use: a step of the arena neither waits for nor depends on the code of another.
    if name == "rate":
        from magister.arena.ratings import rate

        return rate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
