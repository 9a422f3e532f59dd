"""Gate between items and everything that uses them."""

from dataclasses import fields
from typing import Any

from magister.answers import CHOICE_RULES, VALUE_RULES, canonical_value
from magister.contracts.gate import run_gate
from magister.contracts.items_suite import (
    ItemRules,
    ItemsPlan,
    ItemTables,
    ReadingRules,
    VariantPlan,
    items_suite,
)
from magister.contracts.schemas import ANSWERS, FREE_ANSWERS, VARIANT_REPORT
from magister.items import MAX_CHARS, fold_option, key_balance
from scripts.gates.verdict import conclude, table_or_none
from scripts.step import Step, run_step


def _plan(variant: dict[str, Any]) -> VariantPlan:
    return VariantPlan(**{part.name: variant[part.name] for part in fields(VariantPlan)})


def run(step: Step) -> None:
    """Hold all tables of the items module to what they promise."""
    variants = dict(sorted(step.params.get("variants", {}).items()))
    tables = ItemTables(
        pool=step.table("pool"),
        pool_rejected=step.table("pool_rejected"),
        free_answers=table_or_none(step, "free_answers", FREE_ANSWERS),
        distractors=step.table("distractors"),
        items=step.table("items_table"),
        rejected=step.table("rejected"),
        ladder_answers=table_or_none(step, "ladder_answers", ANSWERS),
        bands=step.table("bands"),
        variants=dict(zip(variants, step.tables("variants"), strict=True)),
        variant_report=table_or_none(step, "variant_reports", VARIANT_REPORT),
    )
    plan = ItemsPlan(
        datasets=step.params["datasets"],
        distractor_models=step.params["distractor_models"],
        samples=step.params["samples"],
        ladder=step.params["ladder"],
        band_cuts=step.params["band_cuts"],
        variants={name: _plan(variant) for name, variant in variants.items()},
    )
    reading = ReadingRules([rule.id for rule in CHOICE_RULES], [rule.id for rule in VALUE_RULES])
    rules = ItemRules(fold_option, canonical_value, key_balance, reading, MAX_CHARS)
    conclude(step, run_gate("items", *items_suite(tables, plan, rules)))


if __name__ == "__main__":
    run_step(__spec__.name, run)
