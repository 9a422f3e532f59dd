"""The order of options: seeded, with the key's place balanced over the items of a data set."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import special

from magister.contracts.schemas import ITEMS
from magister.items._choices import LETTERS
from magister.items._normalise import GOLD_SEPARATOR
from magister.items._text import seeded_draw, seeded_rank

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


def _place(item: Placed, counts: list[int], seed: int) -> list[int]:
    """Order of one item's options; the key goes to the places used least so far."""
    size = len(item.texts)
    if item.fixed:
        return list(range(size))
    free = list(range(size - 1 if item.last_fixed else size))
    moving = [place for place in item.right if place in free]
    free.sort(key=lambda place: (counts[place], seeded_rank(seed, item.item_id, "place", str(place))))
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
    groups: dict[tuple[str, int], list[Placed]] = defaultdict(list)
    for item in items:
        groups[item.group, len(item.texts)].append(item)
    orders: dict[str, list[int]] = {}
    for (_, size), members in groups.items():
        counts = [0] * size
        # Items with less freedom first; the free ones then even out what they left.
        members.sort(
            key=lambda item: (not item.fixed, not item.last_fixed, seeded_rank(seed, item.item_id)),
        )
        for item in members:
            order = _place(item, counts, seed)
            orders[item.item_id] = order
            for place, old in enumerate(order):
                counts[place] += old in item.right
    return orders


def right_places(row: Mapping[str, Any]) -> tuple[int, ...]:
    """Places of an item's right options, from 0."""
    return tuple(LETTERS.index(letter) for letter in row["key"])


def _moved(row: dict[str, Any], order: Sequence[int]) -> dict[str, Any]:
    """An item with its options in another order; its key moves with them."""
    options, right = [row["options"][old] for old in order], set(right_places(row))
    places = [place for place, old in enumerate(order) if old in right]
    return {
        **row,
        "options": options,
        "origins": [row["origins"][old] for old in order],
        "key": "".join(LETTERS[place] for place in places),
        "gold": GOLD_SEPARATOR.join(options[place] for place in places),
    }


def permute_options(items: pa.Table, seed: int) -> pa.Table:
    """Put the options of items into another order, keys balanced as in `order_options`.

    The order depends on the seed, the options' texts and the other items of the data set, not on the order
    in which the options stand or on that of the rows. Options that refer to one another stay where they are.

    Args:
        items: ITEMS table.
        seed: any seed gives an order that is drawn apart from the built one's, also where both seeds are equal.

    Returns:
        The ITEMS table, its rows in the order given.
    """
    rows = items.to_pylist()
    placed = [
        Placed(
            row["item_id"],
            row["dataset"],
            tuple(row["options"]),
            right_places(row),
            row["rewrite_status"] == "native",
        )
        for row in rows
    ]
    orders = order_options(placed, seeded_draw(seed, "permute"))
    return pa.Table.from_pylist([_moved(row, orders[row["item_id"]]) for row in rows], schema=ITEMS.schema)


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
