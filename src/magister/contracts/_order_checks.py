"""What a league's own order of the options promises: the items are those that were built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from magister.contracts._columns import Mask, all_agree, facts
from magister.contracts._small import LETTERS, letters_fit
from magister.contracts.gate import Expectation, RowCheck, RowCount

# Whatever the options are, and however they stand.
_FACTS = (
    *("dataset", "domain", "cluster_id", "question", "passage", "multi", "rewrite_status"),
    *("needs_options", "options_in_question", "review"),
)


def _right(row: Mapping[str, Any]) -> Counter[str]:
    """The options that a key names."""
    options, key = row["options"] or [], row["key"] or ""
    return (
        Counter(options[LETTERS.index(letter)] for letter in key)
        if letters_fit(key, len(options))
        else Counter()
    )


def _options(row: Mapping[str, Any]) -> Counter[tuple[str, str]]:
    """Options with their origins, in no order."""
    return Counter(zip(row["options"] or [], row["origins"] or [], strict=False))


def _differing(items: pa.Table, built: pa.Table) -> tuple[Mask, Mask]:
    """Which items have the options of the built ones, and which of them the same right ones."""
    columns = ["item_id", "options", "origins", "key", "gold", "multi"]
    found = {row["item_id"]: row for row in built.select(columns).to_pylist()}
    options, keys = np.ones((2, items.num_rows), dtype=bool)
    for place, row in enumerate(items.select(columns).to_pylist()):
        source = found.get(row["item_id"])
        if source is not None:
            options[place] = _options(row) == _options(source)
            # Of several right options the gold lists the texts as they stand.
            told = row["multi"] or row["gold"] == source["gold"]
            keys[place] = told and _right(row) == _right(source)
    return options, keys


def order_checks(items: pa.Table, built: pa.Table) -> list[Expectation]:
    """Items that a league asks in an order of its own are the built ones, option for option.

    Args:
        items: ITEMS as the league asks them.
        built: ITEMS of the league's data sets as they were built.
    """
    known, source = facts(items, built, "item_id", _FACTS)
    options, keys = _differing(items, built)

    def check(rule: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("items", rule, columns, expected, passed)

    return [
        RowCount("items", built.num_rows, "those that were built of the league's data sets"),
        check("item_was_built", ("item_id",), "an item that was built", known),
        check(
            "facts_as_built",
            _FACTS,
            "what the item was built with",
            ~known | all_agree(items.select(list(_FACTS)), source),
        ),
        check(
            "options_as_built", ("options", "origins"), "the options that were built, in any order", options
        ),
        check(
            "key_as_built",
            ("key", "options", "gold"),
            "a key and a gold that name the options that were right when built",
            keys,
        ),
    ]
