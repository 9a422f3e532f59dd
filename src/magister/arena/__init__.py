"""The arena: few, well-chosen comparisons of models, and the ratings that follow."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from magister.arena.selection import select

__all__ = ["select"]


def __getattr__(name: str) -> Any:
    """Load what is asked for, and nothing before that."""
    if name == "select":
        from magister.arena.selection import select

        return select
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
