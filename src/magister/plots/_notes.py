"""What stands below a plot: sizes, policy, how intervals were made, and what is unknown and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from magister.display import counted

Row = dict[str, Any]
_NAMED = 6
_REASONS = 10


def span(rows: Sequence[Row], column: str) -> str:
    """The values of a count as `5` or `5 to 8`."""
    known = [row[column] for row in rows if row[column] is not None]
    if not known:
        return "0"
    low, high = min(known), max(known)
    return f"{low}" if low == high else f"{low} to {high}"


def sizes(rows: Sequence[Row], counts: Sequence[str] = ("n_items", "n_clusters", "n_students")) -> str:
    """What the numbers rest on and under which policy."""
    nouns = {name: name.removeprefix("n_").removesuffix("s") for name in counts}
    words = ", ".join(counted(span(rows, name), noun) for name, noun in nouns.items())
    policies = " and ".join(sorted({row["policy"] for row in rows}))
    return f"n: {words}. Policy: {policies}."


def intervals(rows: Sequence[Row], what: str = "Lines", over: str = "clusters of items") -> str:
    """How the intervals were made."""
    made = sorted({(row["level"], row["resamples"], row["seed"]) for row in rows})
    words = " and ".join(
        f"{100 * level:g} % intervals, {resamples} resamples of {over} (seed {seed})"
        for level, resamples, seed in made
    )
    return f"{what}: {words}."


def unknown(found: Iterable[tuple[str, str, str]]) -> list[str]:
    """A line per status and reason with those it holds for.

    Args:
        found: name, status and reason; "ok" rows are passed over.
    """
    names: dict[tuple[str, str], list[str]] = {}
    for name, status, reason in found:
        if status != "ok":
            names.setdefault((status, reason), []).append(name)
    words = {"not_computable": "Unknown", "no_interval": "Without interval"}
    lines = []
    for (status, reason), some in names.items():
        few = list(dict.fromkeys(some))
        more = f" and {len(few) - _NAMED} more" if len(few) > _NAMED else ""
        lines.append(f"{words.get(status, status)}: {', '.join(few[:_NAMED])}{more}: {reason}.")
    if len(lines) > _REASONS:
        lines[_REASONS:] = [f"{len(lines) - _REASONS} more reasons stand in the table."]
    return lines


def by_league(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by league, leagues in the order of their names."""
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["league"]):
        found.setdefault(row["league"], []).append(row)
    return found


def in_words(name: str, row: Row, value: str, low: str, high: str) -> str:
    """A number with its interval for those who hear the picture, in percentage points."""
    if row[value] is None:
        return f"{name}: unknown"
    ends = "" if row[low] is None else f" ({100 * row[low]:+.1f} to {100 * row[high]:+.1f})"
    return f"{name}: {100 * row[value]:+.1f}{ends}"


def in_order(rows: Iterable[Row], *columns: str) -> list[Row]:
    """Rows sorted by some columns, whatever order they come in."""
    return sorted(rows, key=lambda row: tuple(row[column] for column in columns))
