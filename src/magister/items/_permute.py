"""Items with their options in another order."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from magister.contracts.schemas import ITEMS
from magister.items._choices import LETTERS
from magister.items._normalise import GOLD_SEPARATOR
from magister.items._order import Placed, reorder_options, right_places
from magister.items._text import seeded_draw


def permute_options(items: pa.Table, seed: int) -> pa.Table:
    """Put the options of items in another order, by seed and item.

    Keys stay balanced over the places of every data set as `build_items` balances them, options that refer to one
    another stay where they are, and every other item gets an order that it does not have, where balance allows one
    (`reorder_options`). What an item is stays: its id, its options with their origins, and which of them are right.

    Args:
        items: ITEMS table.
        seed: which of the other orders; 0 is the order that the items have.

    Returns:
        The ITEMS table, rows in the same order.
    """
    if seed == 0:
        return items
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
    # The order as built was drawn by a seed too: drawn by the same number, this one would be much the same.
    orders = reorder_options(placed, seeded_draw(seed, "option_order"))
    return pa.Table.from_pylist([_moved(row, orders[row["item_id"]]) for row in rows], schema=ITEMS.schema)


def _moved(row: dict[str, Any], order: list[int]) -> dict[str, Any]:
    """An item in a new order: for each new place, the present place of its option."""
    options = [row["options"][old] for old in order]
    places = [place for place, old in enumerate(order) if LETTERS[old] in row["key"]]
    return row | {
        "options": options,
        "origins": [row["origins"][old] for old in order],
        "key": "".join(LETTERS[place] for place in places),
        "gold": GOLD_SEPARATOR.join(options[place] for place in places),
    }
