"""The order of options: seeded, with the key's place balanced over the items of a data set."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import special

from magister.items._choices import LETTERS
from magister.items._text import seeded_rank

# Options that name others by letter ("Both A and C") mean something else once anything moves.
_NAMES_LETTERS = re.compile(
    r"(?:(?i:both|either|neither|only|all of|options?|answers?)\s+)*\(?[A-H]\)?"
    r"(?:\s*(?:,|and|or|nor|&|/|、|和|或)\s*)+(?:(?:and|or|nor)\s+)?\(?[A-H]\)?"
    r"(?:\s*(?:,|and|or|nor|&|/|、|和|或)\s*\(?[A-H]\)?)*(?:\s+(?:only|are .{1,30}))?\.?"
)
# Options that point at their place ("all of the above") must come last.
_NAMES_ABOVE = re.compile(
    r"\b(?:the above|above (?:options?|choices?|answers?)|of above)\b"
    r"|以上(?:都|皆|均|全|选项|所有|任何|各)|上述",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Placed:
    """An item as its options stand before they are ordered.

    Attributes:
        item_id: the item.
        group: items among which key places are balanced: its data set.
        texts: option texts.
        right: which of them are right.
        native: whether the options come from the source and may refer to one another.
    """

    item_id: str
    group: str
    texts: tuple[str, ...]
    right: tuple[int, ...]
    native: bool

    @property
    def fixed(self) -> bool:
        """Whether no option may move."""
        if not self.native:
            return False
        early = any(_NAMES_ABOVE.search(text) for text in self.texts[:-1])
        return early or any(_NAMES_LETTERS.fullmatch(text.strip()) for text in self.texts)

    @property
    def last_fixed(self) -> bool:
        """Whether the last option must stay last."""
        return self.native and _NAMES_ABOVE.search(self.texts[-1]) is not None


def _place(item: Placed, counts: list[int], seed: int, shunned: Collection[int] = ()) -> list[int]:
    """Order of one item's options; the key goes to the places used least so far, of these rather to others."""
    size = len(item.texts)
    if item.fixed:
        return list(range(size))
    free = list(range(size - 1 if item.last_fixed else size))
    moving = [place for place in item.right if place in free]
    free.sort(
        key=lambda place: (
            counts[place],
            place in shunned,
            seeded_rank(seed, item.item_id, "place", str(place)),
        )
    )
    targets = sorted(free[: len(moving)])
    others = [place for place in range(len(free)) if place not in item.right]
    moving.sort(key=lambda place: seeded_rank(seed, item.item_id, "right", item.texts[place]))
    others.sort(key=lambda place: seeded_rank(seed, item.item_id, "other", item.texts[place]))
    order = [moving.pop() if place in targets else others.pop() for place in range(len(free))]
    return [*order, size - 1] if item.last_fixed else order


def order_options(items: Sequence[Placed], seed: int) -> dict[str, list[int]]:
    """Order the options of items.

    Within a data set and a number of options, items are taken in seeded order of their ids and each key goes
    to a place used least so far (ties by seed): places of items that may move freely differ by one at most.
    Items whose options refer to one another by letter keep their order; "all of the above" stays last.

    Args:
        items: what to order.
        seed: for the order of items and options.

    Returns:
        By item, for each new place the old place of its option.
    """
    orders: dict[str, list[int]] = {}
    for size, members in _groups(items):
        counts = [0] * size
        # Items with less freedom first; the free ones then even out what they left.
        members.sort(
            key=lambda item: (not item.fixed, not item.last_fixed, seeded_rank(seed, item.item_id)),
        )
        for item in members:
            orders[item.item_id] = _counted(item, _place(item, counts, seed), counts)
    return orders


def reorder_options(items: Sequence[Placed], seed: int) -> dict[str, list[int]]:
    """Order the options of items anew.

    As `order_options`, and an item whose options may move gets an order that it does not have yet, where that can
    be without unbalancing the places of the keys: only where two options may move, and one of them is right, it may
    have to stay.

    Args:
        items: what to order, as the options stand now.
        seed: for the order of items and options.

    Returns:
        By item, for each new place the present place of its option.
    """
    orders: dict[str, list[int]] = {}
    for size, members in _groups(items):
        counts = [0] * size
        turns = _turns(members, seed)
        # Keys of all places take turns, so that each finds a place used as little as its own and moves there.
        members.sort(
            key=lambda item: (
                not item.fixed,
                not item.last_fixed,
                turns[item.item_id],
                seeded_rank(seed, item.item_id),
            ),
        )
        for item in members:
            order = _changed(item, _place(item, counts, seed, item.right))
            orders[item.item_id] = _counted(item, order, counts)
    return orders


def right_places(row: Mapping[str, Any]) -> tuple[int, ...]:
    """Places of an item's right options, from 0."""
    return tuple(LETTERS.index(letter) for letter in row["key"])


def _groups(items: Iterable[Placed]) -> Iterator[tuple[int, list[Placed]]]:
    """Items among which key places are balanced, with their number of options."""
    groups: dict[tuple[str, int], list[Placed]] = defaultdict(list)
    for item in items:
        groups[item.group, len(item.texts)].append(item)
    for (_, size), members in groups.items():
        yield size, members


def _counted(item: Placed, order: list[int], counts: list[int]) -> list[int]:
    """The order, with the places of its keys counted."""
    for place, old in enumerate(order):
        counts[place] += old in item.right
    return order


def _turns(items: Iterable[Placed], seed: int) -> dict[str, int]:
    """By item, how many of those with their key at its place come before it, in seeded order."""
    before: dict[tuple[int, ...], int] = defaultdict(int)
    turns = {}
    for item in sorted(items, key=lambda item: seeded_rank(seed, item.item_id)):
        turns[item.item_id] = before[item.right]
        before[item.right] += 1
    return turns


def _changed(item: Placed, order: list[int]) -> list[int]:
    """The order; where it is the present one, options of one kind move on by one place, the keys' places stay."""
    if item.fixed or order != sorted(order):
        return order
    free = range(len(order) - item.last_fixed)
    for kind in (
        [place for place in free if place not in item.right],
        [place for place in free if place in item.right],
    ):
        if len(kind) > 1:
            for place, old in zip(kind, [*kind[1:], kind[0]], strict=True):
                order[place] = old
            break
    return order


def key_balance(items: pa.Table) -> dict[str, float]:
    """Test whether keys are spread evenly over the places, per data set.

    Chi-square over the places of the keys, summed over the numbers of options; each right option of an item
    with several counts.

    Args:
        items: ITEMS table.

    Returns:
        p value by data set; 1.0 where there is nothing to test.
    """
    counts: dict[str, dict[int, np.ndarray]] = defaultdict(dict)
    for row in items.select(["dataset", "options", "key"]).to_pylist():
        size = len(row["options"])
        places = counts[row["dataset"]].setdefault(size, np.zeros(size))
        places[[LETTERS.index(letter) for letter in row["key"]]] += 1
    values: dict[str, float] = {}
    for dataset in sorted(counts):
        statistic = degrees = 0.0
        for places in counts[dataset].values():
            expected = places.sum() / len(places)
            statistic += float(((places - expected) ** 2 / expected).sum())
            degrees += len(places) - 1
        values[dataset] = float(special.chdtrc(degrees, statistic))
    return values
