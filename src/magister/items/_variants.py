"""Variants: the same items in another form, so that what was learnt of one form by heart does not count."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import pyarrow as pa

from magister.answers import canonical_value
from magister.config.items import Variant
from magister.contracts.schemas import ITEMS, VARIANT_REPORT
from magister.errors import UserError
from magister.items._build import PAD_TRIES, all_distinct, fill_options
from magister.items._flags import needs_options, options_in_question
from magister.items._formats import format_options
from magister.items._neighbours import numeric_neighbours
from magister.items._order import right_places
from magister.items._permute import permute_options
from magister.items._text import seeded_draw, seeded_rank


class VariedItems(NamedTuple):
    """Items in another form.

    Attributes:
        items: the ITEMS table, by item.
        report: the VARIANT_REPORT table: what changed of each, in the same order.
    """

    items: pa.Table
    report: pa.Table


class _Drawn(NamedTuple):
    """Wrong options of one item, as raw texts: harvested ones first."""

    harvested: list[str]
    padded: list[str]

    def shown(self, gold: str) -> list[str]:
        """The options as they are written, the gold first."""
        return format_options([gold, *self.harvested, *self.padded], gold)


def _as_built(row: dict[str, Any], gold: str, ranked: Sequence[str]) -> _Drawn:
    """The draw that an item was built with; a rewriter may have worded it otherwise since."""
    origins = row["origins"]
    chosen = [gold]
    fill_options(chosen, ranked, 1 + origins.count("harvested"), gold)
    padded = [text for text, origin in zip(row["options"], origins, strict=True) if origin == "padded"]
    return _Drawn(chosen[1:], padded)


def _near(row: dict[str, Any], gold: str, seed: int, used: set[str]) -> Iterable[str]:
    """Near values of the gold, those in use last."""

    def values() -> Iterable[str]:
        return islice(numeric_neighbours(gold, seeded_draw(seed, "pad"), row["item_id"]), PAD_TRIES)

    return chain((text for text in values() if canonical_value(text) not in used), values())


def _draw(row: dict[str, Any], gold: str, ranked: Sequence[str], built: _Drawn, seed: int) -> _Drawn | None:
    """Another draw: candidates beyond those in use first; None where they do not fill the options."""
    wanted = len(row["options"])

    def rank(text: str) -> str:
        return seeded_rank(seed, row["item_id"], "distractor", text)

    others = [
        text
        for text in ranked
        if text not in built.harvested
        # As they will be written: what then equals an option in use is no other one.
        and all_distinct(format_options([gold, *built.harvested, text], gold))
    ]
    chosen = [gold]
    candidates = [*sorted(others, key=rank), *sorted(built.harvested, key=rank)]
    n_harvested = fill_options(chosen, candidates, wanted, gold)
    if built.padded:
        used = {canonical_value(text) for text in built.shown(gold)}
        fill_options(chosen, _near(row, gold, seed, used), wanted, gold)
    if len(chosen) < wanted:
        return None
    return _Drawn(chosen[1 : 1 + n_harvested], chosen[1 + n_harvested :])


def _placed(row: dict[str, Any], texts: Sequence[str], origins: Sequence[str]) -> dict[str, Any]:
    """An item with other wrong options: the gold and what stays keep their places, the others fill the rest."""
    size = len(row["options"])
    (key,) = right_places(row)
    at = {canonical_value(text): place for place, text in enumerate(row["options"]) if place != key}
    places = [key, *(at.get(canonical_value(text), -1) for text in texts[1:])]
    free = iter(sorted(set(range(size)) - set(places)))
    options, named = [""] * size, [""] * size
    for text, origin, kept in zip(texts, origins, places, strict=True):
        place = kept if kept >= 0 else next(free)
        options[place], named[place] = text, origin
    return {
        **row,
        "options": options,
        "origins": named,
        "gold": options[key],
        "rewrite_status": "rules",
        "needs_options": needs_options(row["question"], options),
        "options_in_question": options_in_question(row["question"], options),
        "review": None,
    }


def _redrawn(row: dict[str, Any], gold: str, ranked: Sequence[str], seed: int) -> tuple[dict[str, Any], str]:
    """An open item with other distractors, and what became of them."""
    built = _as_built(row, gold, ranked)
    drawn = _draw(row, gold, ranked, built, seed)
    if drawn is None:
        return row, "no_other_candidate"
    texts, before = drawn.shown(gold), {canonical_value(text) for text in built.shown(gold)[1:]}
    stay = [canonical_value(text) in before for text in texts[1:]]
    if all(stay):
        return row, "no_other_candidate"
    origins = ["gold", *["harvested"] * len(drawn.harvested), *["padded"] * len(drawn.padded)]
    return _placed(row, texts, origins), "partly_redrawn" if any(stay) else "redrawn"


def _redraw(
    rows: list[dict[str, Any]], pool: pa.Table, distractors: pa.Table, seed: int
) -> tuple[list[dict[str, Any]], list[str]]:
    golds = dict(zip(pool["item_id"].to_pylist(), pool["gold"].to_pylist(), strict=True))
    ranked: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for row in distractors.select(["item_id", "rank", "text"]).to_pylist():
        ranked[row["item_id"]].append((row["rank"], row["text"]))
    made: list[dict[str, Any]] = []
    statuses: list[str] = []
    for row in rows:
        if row["rewrite_status"] == "native":
            made.append(row)
            statuses.append("native")
            continue
        if row["item_id"] not in golds:
            raise UserError(
                f"item {row['item_id']!r} is in no pool: items and pool are of different runs. "
                "Run snakemake: it makes both anew."
            )
        texts = [text for _, text in sorted(ranked[row["item_id"]])]
        item, status = _redrawn(row, golds[row["item_id"]], texts, seed)
        made.append(item)
        statuses.append(status)
    return made, statuses


def vary_items(
    items: pa.Table, pool: pa.Table, distractors: pa.Table, variant: Variant, name: str
) -> VariedItems:
    """Give items the options of a variant; its questions are reworded by `apply_paraphrases`.

    Other distractors are drawn from the item's harvested candidates, those beyond the options in use first,
    in an order seeded by `variant.distractors` and the item; padded numbers give way to other near values. The
    options are then written by the rules, the right one stays at its place. Options of the source stay as they
    are, and so do those of an item that has no other candidate (`options_status` says which). Another order
    is that of `permute_options`. The same items come out whatever the order of rows.

    Args:
        items: ITEMS table, in its final form.
        pool: POOL table, with the golds that distractors are written like.
        distractors: DISTRACTORS table, all ranks.
        variant: what differs; a seed of 0 leaves that part as it was built.
        name: of the variant, for its report.

    Returns:
        The items, with the ids, clusters, questions and right values they had, and the report.

    Raises:
        UserError: an open item that is not in the pool.
    """
    rows = sorted(items.to_pylist(), key=lambda row: row["item_id"])
    statuses = ["as_built"] * len(rows)
    if variant.distractors:
        rows, statuses = _redraw(rows, pool, distractors, variant.distractors)
    settled = pa.Table.from_pylist(rows, schema=ITEMS.schema)
    placed = permute_options(settled, variant.order)
    moved = [
        before != after
        for before, after in zip(settled["options"].to_pylist(), placed["options"].to_pylist(), strict=True)
    ]
    report = pa.table(
        {
            "variant": [name] * len(rows),
            "item_id": placed["item_id"],
            "stem_status": ["as_built"] * len(rows),
            "options_status": statuses,
            "order_changed": moved,
            "review": pa.nulls(len(rows), pa.string()),
        },
        schema=VARIANT_REPORT.schema,
    )
    return VariedItems(placed, report)
