"""Multiple-choice items from the pool and the harvested distractors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import pyarrow as pa

from magister.answers import canonical_value
from magister.contracts.schemas import ITEMS
from magister.items._choices import LETTERS
from magister.items._distractors import MAX_CHARS
from magister.items._flags import needs_options, options_in_question
from magister.items._formats import format_options
from magister.items._neighbours import numeric_neighbours
from magister.items._normalise import GOLD_SEPARATOR, Rejection, rejected_table, rejection_row
from magister.items._order import Placed, order_options
from magister.items._text import fold_option

Pad = Literal["none", "numeric_neighbours"]
# Near values that clash with a harvested one are skipped; this many are tried before giving up.
PAD_TRIES = 200


@dataclass(frozen=True)
class _Built:
    row: dict[str, Any]
    texts: list[str]
    origins: list[str]
    right: tuple[int, ...]

    @property
    def native(self) -> bool:
        return self.row["options"] is not None


def all_distinct(texts: Iterable[str]) -> bool:
    """Whether no two options are equal in value or in text."""
    texts = list(texts)
    canonical = {canonical_value(text) for text in texts}
    return len(canonical) == len(texts) == len({fold_option(text) for text in texts})


def fill_options(chosen: list[str], candidates: Iterable[str], wanted: int, gold: str) -> int:
    """Take candidates that stay distinct once all are written alike, up to a number of options.

    Args:
        chosen: options so far, the gold first; what is taken is added to them.
        candidates: in the order in which they are tried.
        wanted: options in the end, the gold among them.
        gold: the right value.

    Returns:
        How many were taken.
    """
    taken = 0
    for text in candidates:
        if len(chosen) == wanted:
            break
        if all_distinct(format_options([*chosen, text], gold)):
            chosen.append(text)
            taken += 1
    return taken


def _build_open(row: dict[str, Any], harvested: list[str], options: int, pad: Pad, seed: int) -> _Built:
    gold = row["gold"]
    if len(gold) > MAX_CHARS or "\n" in gold:
        raise Rejection("gold_too_long", f"the gold is not one line of at most {MAX_CHARS} characters")
    chosen = [gold]
    n_harvested = fill_options(chosen, harvested, options, gold)
    n_padded = 0
    if pad == "numeric_neighbours":
        near = islice(numeric_neighbours(gold, seed, row["item_id"]), PAD_TRIES)
        n_padded = fill_options(chosen, near, options, gold)
    if len(chosen) < options:
        raise Rejection(
            "too_few_distractors", f"needs {options - 1}, has {n_harvested} harvested and {n_padded} padded"
        )
    origins = ["gold", *["harvested"] * n_harvested, *["padded"] * n_padded]
    return _Built(row, format_options(chosen, gold), origins, (0,))


def _build_native(row: dict[str, Any]) -> _Built:
    right = tuple(LETTERS.index(letter) for letter in row["key"])
    return _Built(row, row["options"], ["native"] * len(row["options"]), right)


def _item(built: _Built, order: list[int]) -> dict[str, Any]:
    texts = [built.texts[old] for old in order]
    places = [place for place, old in enumerate(order) if old in built.right]
    row = built.row
    return {
        "item_id": row["item_id"],
        "dataset": row["dataset"],
        "domain": row["domain"],
        "cluster_id": row["cluster_id"],
        "question": row["question"],
        "passage": row["passage"],
        "options": texts,
        "origins": [built.origins[old] for old in order],
        "key": "".join(LETTERS[place] for place in places),
        "gold": GOLD_SEPARATOR.join(texts[place] for place in places),
        "multi": len(places) > 1,
        "rewrite_status": "native" if built.native else "rules",
        "needs_options": needs_options(row["question"], texts),
        "options_in_question": options_in_question(row["question"], texts),
        "review": None,
    }


def build_items(
    pool: pa.Table, distractors: pa.Table, *, options: int, pad: Pad = "none", seed: int = 0
) -> tuple[pa.Table, pa.Table]:
    """Build multiple-choice items.

    Items with options of their own keep them, reordered. Open items get their gold and the distractors of
    best rank that stay distinct once all options are written alike (`format_options`); `origins` says where
    each option comes from. `gold` is the right option as shown; for several right options their texts, joined
    by `; `.

    Args:
        pool: POOL table.
        distractors: DISTRACTORS table.
        options: options per item built from an open question.
        pad: what fills up numeric items with too few distractors.
        seed: for the order of options and for near values.

    Returns:
        The ITEMS table, and the rejected items with their reasons (`too_few_distractors`, `gold_too_long`).
    """
    ranked: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for row in distractors.select(["item_id", "rank", "text"]).to_pylist():
        ranked[row["item_id"]].append((row["rank"], row["text"]))
    built: list[_Built] = []
    rejected: list[dict[str, Any]] = []
    for row in pool.to_pylist():
        if row["options"] is not None:
            built.append(_build_native(row))
            continue
        harvested = [text for _, text in sorted(ranked[row["item_id"]])]
        try:
            built.append(_build_open(row, harvested, options, pad, seed))
        except Rejection as rejection:
            rejected.append(rejection_row(row["dataset"], row["source_row"], rejection, row))
    placed = [
        Placed(one.row["item_id"], one.row["dataset"], tuple(one.texts), one.right, one.native)
        for one in built
    ]
    orders = order_options(placed, seed)
    items = [_item(one, orders[one.row["item_id"]]) for one in built]
    items.sort(key=lambda item: item["item_id"])
    return pa.Table.from_pylist(items, schema=ITEMS.schema), rejected_table(rejected)
