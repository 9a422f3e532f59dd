"""What the variants of the items promise beyond their contracts: another form of the same items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import Mask, absent, agree, facts, matches, member, same, true
from magister.contracts._small import LETTERS
from magister.contracts.gate import Expectation, RowCheck, RowCount
from magister.contracts.schemas import ITEMS, STEMS

_FACTS = ("dataset", "domain", "cluster_id", "passage", "multi")
_KEPT = ("as_built", "native", "no_other_candidate")


@dataclass(frozen=True)
class VariantPlan:
    """What a variant was to change.

    Attributes:
        order: seed of another order of options; 0 for none.
        distractors: seed of another draw of distractors; 0 for none.
        paraphraser: who rewords the questions.
        reviewer: who reviews that.
    """

    order: int = 0
    distractors: int = 0
    paraphraser: str | None = None
    reviewer: str | None = None


def variant_table(name: str) -> str:
    """What the items of a variant are called in the report of the gate."""
    return f"variants/{name}"


def _right(options: list[str] | None, key: str | None) -> list[str]:
    """Texts of the options that a key names, in the order of the alphabet."""
    texts = options or []
    places = [LETTERS.find(letter) for letter in key or ""]
    return sorted(texts[place] for place in places if 0 <= place < len(texts))


def variant_checks(
    variant: str, items: pa.Table, built: pa.Table, value: Callable[[str], str]
) -> list[Expectation]:
    """The items of a variant are the built ones in another form.

    Args:
        variant: its name.
        items: its ITEMS.
        built: ITEMS as built.
        value: a text by what it means, the same for all ways to write it.
    """
    known, source = facts(items, built, "item_id", (*_FACTS, "options", "key"))
    kept = np.logical_and.reduce([agree(items[name], source[name]) for name in _FACTS])
    columns = [table[name].to_pylist() for table in (items, source) for name in ("options", "key")]
    size, gold = (np.ones(items.num_rows, dtype=bool) for _ in range(2))
    for place in np.flatnonzero(known):
        options, key, options_before, key_before = (column[place] for column in columns)
        size[place] = len(options or []) == len(options_before or [])
        now, before = _right(options, key), _right(options_before, key_before)
        # Options that were drawn anew are written anew too; others must be right by their very text.
        redrawn = sorted(options or []) != sorted(options_before or [])
        gold[place] = now == before or (redrawn and sorted(map(value, now)) == sorted(map(value, before)))

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck(variant_table(variant), name, columns, expected, passed)

    return [
        RowCount(variant_table(variant), built.num_rows, "one for each built item"),
        check("item_as_built", ("item_id",), "an item that was built", known),
        check("item_facts_kept", _FACTS, "as in the built item", kept | ~known),
        check("option_count_kept", ("options",), "as many options as the built item", size),
        check("gold_kept", ("options", "key"), "the right values of the built item", gold),
    ]


def _stacked(variants: Mapping[str, pa.Table]) -> pa.Table:
    """Questions and options of all variants, by variant."""
    columns = ["item_id", "question", "options"]
    empty = ITEMS.schema.empty_table().select(columns)
    named = {"": empty} | dict(variants)
    return pa.concat_tables(
        table.select(columns).append_column("variant", pa.array([name] * table.num_rows, pa.string()))
        for name, table in named.items()
    )


def _differences(given: pa.Table, built: pa.Table) -> tuple[Mask, Mask, Mask]:
    """Which rows have another question, other options, and options that do not stand as they were built."""
    pairs = list(zip(given["options"].to_pylist(), built["options"].to_pylist(), strict=True))
    others = np.fromiter((sorted(one or []) != sorted(two or []) for one, two in pairs), bool, len(pairs))
    moved = np.fromiter((one != two for one, two in pairs), bool, len(pairs))
    return ~same(given["question"], built["question"]), others, moved


def report_checks(
    report: pa.Table, variants: Mapping[str, pa.Table], built: pa.Table, plans: Mapping[str, VariantPlan]
) -> list[Expectation]:
    """The report says what was changed, and nothing was changed that the variant does not ask for.

    Args:
        report: VARIANT_REPORT of all variants.
        variants: ITEMS by variant.
        built: ITEMS as built.
        plans: what each variant was to change.
    """
    found, given = facts(report, _stacked(variants), ("variant", "item_id"), ("question", "options"))
    known, source = facts(report, built, "item_id", ("question", "options"))
    reworded, others, moved = _differences(given, source)
    stem, order = report["stem_status"], true(report["order_changed"])
    paraphrased, stem_built = (true(pc.equal(stem, word)) for word in ("paraphrased", "as_built"))
    kept, options_built = (member(report["options_status"], words) for words in (_KEPT, ["as_built"]))
    reviewed, comparable = ~absent(report["review"]), found & known

    def asks(part: str) -> Mask:
        return member(report["variant"], [name for name, plan in plans.items() if getattr(plan, part)])

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("variant_report", name, columns, expected, passed)

    return [
        RowCount(
            "variant_report", len(plans) * built.num_rows, f"{len(plans)} variants x {built.num_rows} items"
        ),
        check("item_of_variant", ("variant", "item_id"), "an item of the variant", found),
        check(
            "stem_status_known",
            ("stem_status",),
            f"one of {', '.join(STEMS)} or fallback:<reason>",
            member(stem, STEMS) | matches(stem, r"^fallback:\S"),
        ),
        check(
            "stem_as_said",
            ("stem_status",),
            "another question where it says `paraphrased`, and only there",
            (paraphrased == reworded) | ~comparable,
        ),
        check(
            "options_as_said",
            ("options_status",),
            "other options where it says so, and only there",
            (kept != others) | ~comparable,
        ),
        check(
            "order_as_said",
            ("order_changed", "options_status"),
            "for the options that were built, whether they stand in another order",
            (order == moved) | ~kept | ~comparable,
        ),
        check(
            "changes_as_asked",
            ("stem_status", "options_status", "order_changed"),
            "a change where the variant asks for one, and only there",
            (stem_built != asks("paraphraser"))
            & (options_built != asks("distractors"))
            & (asks("order") | ~order),
        ),
        check(
            "review_where_asked",
            ("review",),
            "a review of every paraphrase where there is a reviewer, and none without",
            np.where(asks("reviewer"), ~paraphrased | reviewed, ~reviewed),
        ),
    ]
