"""Choosing one number among those that the tables of a board hold."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from magister.errors import UserError

Row = Mapping[str, Any]
_SHOWN = 12


@dataclass(frozen=True)
class Coordinate:
    """One of the things that say which number is meant.

    Attributes:
        name: column of the rows.
        option: how a user says it: an option, or an argument of the command.
        noun: what it is.
        usual: the value that is meant where none is said; None where that is open.
    """

    name: str
    option: str
    noun: str
    usual: Callable[[Sequence[str]], str | None] = lambda _: None


def matching(values: Sequence[str], wanted: str) -> list[str]:
    """Values that a user may mean, the closest reading that any has.

    A value `kind=name` may be called by all of it, by its name alone, or by its kind where there is one of it; small
    and large letters are told apart only where both are there.
    """
    for read in (
        lambda value: value,
        lambda value: value.casefold(),
        lambda value: value.partition("=")[2].casefold(),
        lambda value: value.partition("=")[0].casefold() if "=" in value else "",
    ):
        asked = wanted if read("A") == "A" else wanted.casefold()
        found = [value for value in values if read(value) == asked]
        if found:
            return found
    return []


def nearest(values: Sequence[str], wanted: str) -> list[str]:
    """Some values, those whose names are most like one that is none first; all where they are few."""
    if len(values) <= _SHOWN:
        return list(values)
    folded = {value.casefold(): value for value in reversed(values)}
    close = difflib.get_close_matches(wanted.casefold(), list(folded), n=_SHOWN, cutoff=0.4)
    near = [folded[name] for name in close]
    return [*near, *(value for value in values if value not in near)][:_SHOWN]


def listed(values: Sequence[str], total: int | None = None) -> str:
    """Names in a message, cut where they are many."""
    shown = ", ".join(map(str, values[:_SHOWN]))
    rest = (total or len(values)) - min(len(values), _SHOWN)
    return f"{shown} and {rest} more" if rest > 0 else shown


def choose(
    rows: Sequence[Row], coordinates: Sequence[Coordinate], asked: Mapping[str, str], what: str
) -> Row:
    """The row that is meant.

    Args:
        rows: candidates, with a text in the column of every coordinate.
        coordinates: in the order in which they are settled.
        asked: what the user says, by coordinate.
        what: the number in question, for messages: it grows with what is settled.

    Raises:
        UserError: nothing fits, or several do; lists the possible ones.
    """
    left = list(rows)
    for coordinate in coordinates:
        values = sorted({str(row[coordinate.name]) for row in left}, key=_natural)
        wanted = asked.get(coordinate.name)
        if wanted is None:
            found = values if len(values) == 1 else [v for v in [coordinate.usual(values)] if v is not None]
            if not found:
                raise UserError(
                    f"{what}: there are {len(values)}, one for each {coordinate.noun}: {listed(values)}. Choose with "
                    f"{coordinate.option}"
                )
        else:
            found = matching(values, wanted)
            if not found:
                near = nearest(values, wanted)
                raise UserError(
                    f"{what}: no {coordinate.noun} {wanted!r}. Expected for {coordinate.option}: "
                    f"{listed(near, len(values))}"
                )
            if len(found) > 1:
                raise UserError(
                    f"{what}: {coordinate.noun} {wanted!r} may be {listed(found)}; write it out after "
                    f"{coordinate.option}"
                )
        left = [row for row in left if str(row[coordinate.name]) == found[0]]
        if len(values) > 1 or wanted is not None:
            what = f"{what}, {coordinate.noun} {found[0]}"
    if len(left) != 1:
        raise ValueError(f"{len(left)} rows share {what}: the coordinates do not tell them apart")
    return left[0]


def refuse_unused(asked: Mapping[str, str], coordinates: Sequence[Coordinate], board: str) -> None:
    """Refuse an option that means nothing on this board.

    Raises:
        UserError: there is one.
    """
    known = {coordinate.name for coordinate in coordinates}
    for name in sorted(set(asked) - known):
        told = ", ".join(f"{one.option} ({one.noun})" for one in coordinates if one.option.startswith("--"))
        raise UserError(f"--{name} says nothing on the {board} board; it has {told}")


def refuse_unknown(models: Iterable[str], wanted: str, board: str) -> None:
    """Refuse a model that is not on a board.

    Args:
        models: those on it, in any order, also more than once.
        wanted: what the user says.
        board: its name.

    Raises:
        UserError: it is not; names the nearest.
    """
    names = sorted(set(models))
    if wanted not in names:
        raise UserError(
            f"{board} board: no model {wanted!r}. Expected one of {', '.join(nearest(names, wanted))}"
        )


def _natural(text: str) -> tuple[int, int, str]:
    """Numbers in their order, before words."""
    return (0, int(text), "") if text.isdecimal() else (1, 0, text)
