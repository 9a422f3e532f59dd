"""What the items module promises beyond its contracts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import Mask, absent, facts, member, row_codes, same, true
from magister.contracts._harvest_checks import distractor_checks, free_answer_checks
from magister.contracts._ladder_checks import band_checks, ladder_checks
from magister.contracts._reply_checks import ReadingRules
from magister.contracts._small import INFINITE, LETTERS, comparable, letters_fit, small_contract
from magister.contracts._variant_checks import VariantPlan, report_checks, variant_checks, variant_table
from magister.contracts.gate import Expectation, RowCheck, RowCount, Suite, Tables
from magister.contracts.schemas import (
    ANSWERS,
    BANDS,
    DISTRACTORS,
    FREE_ANSWERS,
    ITEMS,
    POOL,
    REJECTED,
    REWRITE,
    VARIANT_REPORT,
    Contract,
)

__all__ = ["ItemRules", "ItemTables", "ItemsPlan", "ReadingRules", "VariantPlan", "items_suite"]

ORIGINS = ("gold", "harvested", "padded", "native")
MIN_BALANCE_P = 1e-4


@dataclass(frozen=True)
class ItemRules:
    """Rules that the items module owns and its gate applies.

    Attributes:
        fold: an option as it is compared with its neighbours.
        value: a text by what it means, the same for all ways to write it.
        balance: p value by data set of keys being spread evenly over the places.
        reading: rules that replies are read by.
        max_chars: length of the longest distractor.
    """

    fold: Callable[[str], str]
    value: Callable[[str], str]
    balance: Callable[[pa.Table], Mapping[str, float]]
    reading: ReadingRules
    max_chars: int


@dataclass(frozen=True)
class ItemsPlan:
    """What the items module was to make.

    Attributes:
        datasets: the configured data sets.
        distractor_models: models that answer open questions.
        samples: answers of each to a question.
        ladder: models that grade difficulty, weakest first.
        band_cuts: ascending means that part the bands.
        variants: other forms of the items, by name.
    """

    datasets: Sequence[str]
    distractor_models: Sequence[str]
    samples: int
    ladder: Sequence[str]
    band_cuts: Sequence[float]
    variants: Mapping[str, VariantPlan] = field(default_factory=dict)


@dataclass(frozen=True)
class ItemTables:
    """The tables of the items module; one that nobody was to fill is empty.

    Attributes:
        pool: POOL of all data sets.
        pool_rejected: REJECTED by the data gate.
        free_answers: FREE_ANSWERS of all distractor models.
        distractors: DISTRACTORS.
        items: ITEMS.
        rejected: REJECTED while items were built.
        ladder_answers: ANSWERS of all models of the ladder.
        bands: BANDS.
        variants: ITEMS of each variant.
        variant_report: VARIANT_REPORT of all variants.
    """

    pool: pa.Table
    pool_rejected: pa.Table
    free_answers: pa.Table
    distractors: pa.Table
    items: pa.Table
    rejected: pa.Table
    ladder_answers: pa.Table
    bands: pa.Table
    variants: Mapping[str, pa.Table] = field(default_factory=dict)
    variant_report: pa.Table = field(default_factory=VARIANT_REPORT.schema.empty_table)


def _gold_fits(key: str, options: Sequence[str], gold: str) -> bool:
    texts = [options[LETTERS.index(letter)] for letter in key]
    return gold == texts[0] if len(texts) == 1 else all(text in gold for text in texts)


def _item_checks(items: pa.Table, rules: ItemRules, table: str = "items") -> tuple[list[RowCheck], Mask]:
    """Checks on single items, and which keys can be read."""
    names = (
        "option_count",
        "options_distinct",
        "origins_match_options",
        "key_within_options",
        "multi_is_several_keys",
        "gold_is_the_key",
    )
    passed: dict[str, Mask] = {name: np.zeros(items.num_rows, dtype=bool) for name in names}
    columns = ["options", "origins", "key", "multi", "gold"]
    for place, row in enumerate(items.select(columns).to_pylist()):
        options = [text or "" for text in row["options"] or []]
        origins, key = row["origins"] or [], row["key"]
        folded = {rules.fold(text.strip()) for text in options}
        fits = letters_fit(key, len(options))
        values = (
            2 <= len(options) <= len(LETTERS),
            len(folded) == len(options) and all(text.strip() for text in options),
            len(origins) == len(options) and all(origin in ORIGINS for origin in origins),
            fits,
            not fits or row["multi"] is (len(key) > 1),
            not fits or _gold_fits(key, options, row["gold"] or ""),
        )
        for name, value in zip(names, values, strict=True):
            passed[name][place] = value
    told = {
        "option_count": (("options",), "2 to 26 options"),
        "options_distinct": (("options",), "options that are not empty and differ from one another"),
        "origins_match_options": (
            ("origins", "options"),
            f"one origin per option, each one of {', '.join(ORIGINS)}",
        ),
        "key_within_options": (("key", "options"), "letters of options that are there, in order"),
        "multi_is_several_keys": (
            ("multi", "key"),
            "`multi` where the key has several letters, and only there",
        ),
        "gold_is_the_key": (("gold", "key", "options"), "the gold to be the option that the key names"),
    }
    checks = [RowCheck(table, name, told[name][0], told[name][1], passed[name]) for name in names]
    status = items["rewrite_status"]
    known = member(status, REWRITE) | true(pc.match_substring_regex(status, r"^fallback:\S"))
    expected = f"one of {', '.join(REWRITE)} or fallback:<reason>"
    checks.append(RowCheck(table, "rewrite_status_known", ("rewrite_status",), expected, known))
    return checks, passed["key_within_options"]


def _pairs_member(table: pa.Table, of: pa.Table) -> Mask:
    """Which rows have a (dataset, source_row) that another table has."""
    columns = ["dataset", "source_row"]
    together = pa.concat_tables([table.select(columns), of.select(columns)])
    codes = row_codes(together, columns)
    return np.isin(codes[: table.num_rows], codes[table.num_rows :])


def _pool_checks(tables: ItemTables, datasets: Sequence[str]) -> list[Expectation]:
    """Every pooled row became an item or was rejected."""
    pool, items, rejected = tables.pool, tables.items, tables.rejected
    known, source = facts(items, pool, "item_id", ("dataset", "domain", "cluster_id"))
    kept = np.logical_and.reduce([same(items[name], source[name]) for name in source.column_names])
    built = member(pool["item_id"], items["item_id"])
    dropped = _pairs_member(pool, rejected)
    listed = f"one of {', '.join(sorted(datasets))}"
    place = ("dataset", "source_row")
    checks: list[Expectation] = [
        RowCount("items", pool.num_rows - int(dropped.sum()), "those of the pool less those rejected since"),
        RowCheck("items", "item_in_pool", ("item_id",), "an item of the pool", known),
        RowCheck("items", "pool_facts_kept", tuple(source.column_names), "as in the pool", kept | ~known),
        RowCheck(
            "pool",
            "item_or_rejected",
            place,
            "a row in items or in rejected, and not in both",
            built ^ dropped,
        ),
        RowCheck(
            "pool",
            "not_rejected_by_gate",
            place,
            "no row in pool_rejected",
            ~_pairs_member(pool, tables.pool_rejected),
        ),
        RowCheck(
            "pool",
            "key_where_options",
            ("options", "key"),
            "a key where there are options, and only there",
            absent(pool["options"]) == absent(pool["key"]),
        ),
        RowCheck("rejected", "rejected_from_pool", place, "a row of the pool", _pairs_member(rejected, pool)),
    ]
    for name in ("pool", "pool_rejected", "items", "rejected"):
        found = member(getattr(tables, name)["dataset"], list(datasets))
        checks.append(RowCheck(name, "dataset_configured", ("dataset",), listed, found))
    return checks


def items_suite(given: ItemTables, plan: ItemsPlan, rules: ItemRules) -> Suite:
    """What the items module promises.

    Args:
        given: its tables.
        plan: what was to be made.
        rules: rules of the items module.

    Returns:
        Tables and expectations for `run_gate`.
    """
    tables: Tables = {
        "pool": (POOL, given.pool),
        "pool_rejected": (REJECTED, given.pool_rejected),
        "free_answers": (FREE_ANSWERS, given.free_answers),
        "distractors": (DISTRACTORS, given.distractors),
        "items": (ITEMS, given.items),
        "rejected": (REJECTED, given.rejected),
        "ladder_answers": (replace(ANSWERS, may_be_empty=not plan.ladder), given.ladder_answers),
        "bands": (BANDS, given.bands),
    }
    if plan.variants:
        tables |= {variant_table(name): (ITEMS, items) for name, items in given.variants.items()}
        tables["variant_report"] = (VARIANT_REPORT, given.variant_report)
    if not comparable(tables):
        return tables, []
    own, readable = _item_checks(given.items, rules)
    checks: list[Expectation] = [*own]
    models, samples = plan.distractor_models, plan.samples
    tables["datasets"] = _dataset_counts(given.items, plan.datasets)
    tables["key_balance"] = _balance(given.items.filter(pa.array(readable)), rules)
    if plan.variants:
        balances, more = _variants(given, plan, rules)
        tables |= balances
        checks += more
    return tables, [
        *checks,
        *_pool_checks(given, plan.datasets),
        *free_answer_checks(given.free_answers, given.pool, models, samples, rules.reading.value),
        *distractor_checks(
            given.distractors, given.free_answers, given.pool, models, samples, rules.max_chars
        ),
        *ladder_checks(given.ladder_answers, given.items, plan.ladder, rules.reading.choice),
        *band_checks(given.bands, given.items, given.ladder_answers, plan.ladder, plan.band_cuts),
    ]


def _variants(given: ItemTables, plan: ItemsPlan, rules: ItemRules) -> tuple[Tables, list[Expectation]]:
    """What is expected of the variants, and the balance of the keys of each."""
    tables: Tables = {}
    checks: list[Expectation] = report_checks(
        given.variant_report, given.variants, given.items, plan.variants
    )
    for name, items in given.variants.items():
        own, readable = _item_checks(items, rules, variant_table(name))
        checks += own
        checks += variant_checks(name, items, given.items, rules.value)
        tables[f"{variant_table(name)}/key_balance"] = _balance(items.filter(pa.array(readable)), rules)
    return tables, checks


def _dataset_counts(items: pa.Table, datasets: Sequence[str]) -> tuple[Contract, pa.Table]:
    """A configured data set without items would be missing from every board unnoticed."""
    contract = small_contract(
        "datasets",
        {"dataset": pa.string(), "n_items": pa.int64()},
        ["dataset"],
        ranges={"n_items": (1, INFINITE)},
    )
    found = dict(zip(*(pc.value_counts(items["dataset"]).field(i).to_pylist() for i in (0, 1)), strict=True))
    names = sorted(set(datasets))
    return contract, pa.table(
        {"dataset": names, "n_items": [found.get(name, 0) for name in names]}, schema=contract.schema
    )


def _balance(items: pa.Table, rules: ItemRules) -> tuple[Contract, pa.Table]:
    contract = small_contract(
        "key_balance",
        {"dataset": pa.string(), "p_value": pa.float64()},
        ["dataset"],
        ranges={"p_value": (MIN_BALANCE_P, 1)},
        may_be_empty=True,
    )
    found = sorted(rules.balance(items).items())
    columns = {"dataset": [name for name, _ in found], "p_value": [float(p) for _, p in found]}
    return contract, pa.table(columns, schema=contract.schema)
