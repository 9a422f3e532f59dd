"""What a board's own reader says of a number; the card adds the files and the commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from magister.audit.card import Again, Cell, Formula, Movers, Number


@dataclass(frozen=True)
class Facts:
    """Everything of a card that depends on the board; the fields are those of `Card`."""

    cell: Cell
    number: Number
    formula: Formula
    counts: Mapping[str, int | float]
    statuses: Mapping[str, int]
    beside: tuple[str, ...]
    again: Again
    movers: Movers
    warnings: tuple[str, ...] = ()
