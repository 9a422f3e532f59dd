"""The gate of the items module: every broken promise fails and names its row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from gate_tables import (
    DATASETS,
    ITEMS_PLAN,
    entry_of,
    failed_names,
    failures,
    item_tables,
    items_expected,
    items_gate,
)

from magister.contracts.gate import RowCheck, describe_failures, run_gate
from magister.contracts.items_suite import VariantPlan

Tables = dict[str, pa.Table]


def edited(tables: Tables, name: str, change: Callable[[list[dict[str, Any]]], Any]) -> Tables:
    """The tables with rows of one of them changed in place."""
    rows = tables[name].to_pylist()
    change(rows)
    return tables | {name: pa.Table.from_pylist(rows, schema=tables[name].schema)}


def setting(name: str, place: int, **values: Any) -> Callable[[Tables], Tables]:
    """A corruption that sets cells of one row."""
    return lambda tables: edited(tables, name, lambda rows: rows[place].update(values))


def broken(tables: Tables) -> dict[str, list[dict[str, Any]]]:
    """Keys of the rows that break each check, without the engine.

    The answers of the ladder and the variants are left out: another key makes them wrong as well.
    """
    held, expectations = items_expected(tables)
    found = {}
    for check in expectations:
        if isinstance(check, RowCheck) and not check.passed.all():
            contract, table = held[check.table]
            rows = table.filter(pa.array(~check.passed)).select(list(contract.key)).to_pylist()
            found[f"{check.table}:{check.name}"] = rows
    return {name: rows for name, rows in found.items() if not name.startswith(("ladder_answers", "variant"))}


def test_good_tables_pass() -> None:
    report = items_gate(item_tables())
    assert failures(report) == []
    assert report["success"] is True
    assert {entry["table"] for entry in report["expectations"]} == {
        "bands", "datasets", "distractors", "free_answers", "items", "key_balance", "ladder_answers", "pool",
        "pool_rejected", "rejected", "variant_report", "variants/moved", "variants/moved/key_balance",
        "variants/other", "variants/other/key_balance",
    }  # fmt: skip


CASES = [
    (setting("items", 0, options=["0"], origins=["native"], key="A", gold="0"), {"option_count"}),
    (setting("items", 0, options=["0", "same", " Same ", "3"]), {"options_distinct"}),
    (setting("items", 0, options=["0", " ", "2", "3"]), {"options_distinct"}),
    (setting("items", 0, origins=["native"] * 3), {"origins_match_options"}),
    (setting("items", 0, origins=["native", "native", "native", "invented"]), {"origins_match_options"}),
    (setting("items", 0, key="E"), {"key_within_options"}),
    (setting("items", 0, key=""), {"key_within_options"}),
    (setting("items", 0, key="a"), {"key_within_options"}),
    (setting("items", 0, key="BA", multi=True, gold="1; 0"), {"key_within_options"}),
    (setting("items", 0, key="AA", multi=True), {"key_within_options"}),
    (setting("items", 0, multi=True), {"multi_is_several_keys"}),
    (setting("items", 0, key="AB", gold="0; 1"), {"multi_is_several_keys"}),
    (setting("items", 0, key="B"), {"gold_is_the_key"}),
    (setting("items", 0, key="AB", multi=True, gold="0"), {"gold_is_the_key"}),
    (setting("items", 0, rewrite_status="improved"), {"rewrite_status_known"}),
    (setting("items", 0, rewrite_status="fallback:"), {"rewrite_status_known"}),
    (setting("items", 0, cluster_id="elsewhere"), {"pool_facts_kept"}),
    (setting("items", 0, dataset="sums"), {"pool_facts_kept"}),
]


@pytest.mark.parametrize(("corrupt", "names"), CASES)
def test_a_broken_item_breaks_the_check_that_is_made_for_it(
    corrupt: Callable[[Tables], Tables], names: set[str]
) -> None:
    found = broken(corrupt(item_tables()))
    assert found == {f"items:{name}": [{"item_id": "demo-0"}] for name in names}


@pytest.mark.parametrize(
    ("corrupt", "expected"),
    [
        (
            setting("items", 0, item_id="demo-x"),
            {
                "items:item_in_pool": [{"item_id": "demo-x"}],
                "pool:item_or_rejected": [{"item_id": "demo-0"}],
                "bands:band_of_an_item": [{"item_id": "demo-0"}],
            },
        ),
        (
            setting("pool", 0, dataset="other"),
            {
                "items:pool_facts_kept": [{"item_id": "demo-0"}],
                "pool:dataset_configured": [{"item_id": "demo-0"}],
            },
        ),
        (
            setting("rejected", 0, source_row=7),
            {"pool:item_or_rejected": [{"item_id": "sums-7"}, {"item_id": "sums-9"}]},
        ),
        (
            setting("rejected", 0, source_row=99),
            {
                "pool:item_or_rejected": [{"item_id": "sums-9"}],
                "rejected:rejected_from_pool": [
                    {"dataset": "sums", "source_row": 99, "reason": "too_few_distractors"}
                ],
            },
        ),
        (setting("pool_rejected", 0, source_row=4), {"pool:not_rejected_by_gate": [{"item_id": "sums-4"}]}),
        (
            setting("bands", 0, item_id="nobody"),
            {name: [{"item_id": "nobody"}] for name in ("bands:band_of_an_item", "bands:pattern_of_ladder")},
        ),
        (
            setting("pool_rejected", 0, dataset="other"),
            {
                "pool_rejected:dataset_configured": [
                    {"dataset": "other", "source_row": 77, "reason": "missing_answer"}
                ]
            },
        ),
    ],
)
def test_tables_that_do_not_agree_name_the_rows(
    corrupt: Callable[[Tables], Tables], expected: dict[str, list[dict[str, Any]]]
) -> None:
    assert broken(corrupt(item_tables())) == expected


def test_options_that_differ_by_the_case_of_a_symbol_are_two() -> None:
    """The rule for what is one option is that of the items module: Bb and BB are two genotypes."""
    corrupt = setting("items", 0, options=["0", "Bb", "BB", "bb"])
    assert broken(corrupt(item_tables())) == {}


def test_an_item_that_is_lost_on_the_way_fails_row_count_and_names_the_row() -> None:
    tables = item_tables()
    report = items_gate(tables | {"items": tables["items"].slice(1), "bands": tables["bands"].slice(1)})
    assert {"items:table_row_count_to_equal:", "pool:item_or_rejected"} <= failed_names(report)
    assert entry_of(report, "pool:item_or_rejected")["first_failed_keys"] == [{"item_id": "demo-0"}]
    assert "found 7" in describe_failures(report)


def test_a_data_set_without_items_fails() -> None:
    report = items_gate(item_tables(), replace(ITEMS_PLAN, datasets=[*DATASETS, "unused"]))
    entry = entry_of(report, "datasets:column_values_to_be_between:n_items")
    assert entry["first_failed_keys"] == [{"dataset": "unused"}]


def test_keys_in_one_place_fail_by_data_set() -> None:
    tables = item_tables()
    row, source, band = (tables[name].to_pylist()[0] for name in ("items", "pool", "bands"))
    for n in range(100, 140):
        new = {"item_id": f"demo-{n}"}
        tables = edited(tables, "items", lambda rows, new=new: rows.append(row | new))
        tables = edited(
            tables, "pool", lambda rows, new=new, n=n: rows.append(source | new | {"source_row": n})
        )
        tables = edited(tables, "bands", lambda rows, new=new: rows.append(band | new))
    entry = entry_of(items_gate(tables), "key_balance:column_values_to_be_between:p_value")
    assert entry["first_failed_keys"] == [{"dataset": "demo"}]
    assert entry["n_failed"] == 1


def test_a_key_that_cannot_be_read_does_not_stop_the_test_of_balance() -> None:
    plan = replace(ITEMS_PLAN, variants={})
    report = items_gate(setting("items", 0, key="Z")(item_tables()), plan)
    assert failed_names(report) == {"items:key_within_options", "ladder_answers:correct_agrees_with_key"}


def test_without_a_ladder_distractor_models_and_rejections_the_gate_passes() -> None:
    tables = item_tables()
    tables["pool"] = tables["pool"].slice(0, 8)
    for name in ("rejected", "pool_rejected", "bands", "free_answers", "distractors", "ladder_answers"):
        tables[name] = tables[name].schema.empty_table()
    assert failed_names(items_gate(tables, replace(ITEMS_PLAN, ladder=[], distractor_models=[]))) == set()


def test_no_items_at_all_fail() -> None:
    tables = item_tables()
    tables["items"] = tables["items"].schema.empty_table()
    names = failed_names(items_gate(tables))
    assert {"items:table_row_count_to_be_between:", "datasets:column_values_to_be_between:n_items"} <= names


def test_a_table_without_its_columns_fails_on_those_alone() -> None:
    tables = item_tables()
    tables["items"] = tables["items"].drop_columns(["key"])
    held, expectations = items_expected(tables)
    assert expectations == []
    assert "items:types" in failed_names(run_gate("items", held, expectations))


def test_every_check_reaches_the_report() -> None:
    """One run over items that are broken in every way: the engine reports what the checks found, with the key."""
    tables = item_tables()
    for place, (corrupt, _) in enumerate((CASES[0], CASES[1], CASES[3], CASES[5], CASES[10], CASES[14])):
        source = corrupt(item_tables())["items"].to_pylist()[0]
        keep = {k: source[k] for k in ("options", "origins", "key", "gold", "multi", "rewrite_status")}
        tables = setting("items", place, **keep)(tables)
    report = items_gate(tables)
    found = broken(tables)
    assert {name for name in failed_names(report) if name.startswith("items:")} == set(found)
    for name, keys in found.items():
        entry = entry_of(report, name)
        assert entry["first_failed_keys"] == sorted(keys, key=lambda key: key["item_id"])[:5]
        assert entry["n_failed"] == len(keys)


def test_without_variants_the_gate_says_nothing_of_them() -> None:
    report = items_gate(item_tables(), replace(ITEMS_PLAN, variants={}))
    assert report["success"]
    assert not [entry for entry in report["expectations"] if "variant" in entry["table"]]


def test_a_variant_may_write_the_right_value_in_another_way_but_not_change_it() -> None:
    other = setting("variants/moved", 0, options=["0.0", "1", "2", "3"], gold="0.0")
    held, expectations = items_expected(other(item_tables()))
    found = {
        check.name
        for check in expectations
        if isinstance(check, RowCheck) and check.table == "variants/moved" and not check.passed.all()
    }
    assert "variants/moved" in held
    assert found == set()
    report = items_gate(setting("variants/moved", 0, options=["5", "1", "2", "3"], gold="5")(item_tables()))
    assert entry_of(report, "variants/moved:gold_kept")["first_failed_keys"] == [{"item_id": "demo-0"}]


def test_a_variant_that_lost_an_item_fails() -> None:
    tables = item_tables()
    report = items_gate(tables | {"variants/moved": tables["variants/moved"].slice(1)})
    key = {"variant": "moved", "item_id": "demo-0"}
    assert "variants/moved:table_row_count_to_equal:" in failed_names(report)
    assert entry_of(report, "variant_report:item_of_variant")["first_failed_keys"] == [key]


def test_keys_of_a_variant_in_one_place_fail() -> None:
    tables = item_tables()
    row, source, band = (tables[name].to_pylist()[0] for name in ("items", "pool", "bands"))
    plan = replace(ITEMS_PLAN, variants={"moved": VariantPlan(order=1)})
    note = tables["variant_report"].to_pylist()[0]
    for n in range(100, 140):
        new = {"item_id": f"demo-{n}"}
        key = {"key": "ABCD"[n % 4], "gold": row["options"][n % 4]}
        turned = {"options": [key["gold"], *(text for text in row["options"] if text != key["gold"])]}
        more = {"items": row | new | key, "variants/moved": row | new | turned | {"gold": key["gold"]}}
        more |= {"bands": band | new, "pool": source | new | {"source_row": n}}
        more["variant_report"] = note | new | {"order_changed": n % 4 > 0}
        for name, one in more.items():
            tables = edited(tables, name, lambda rows, one=one: rows.append(one))
    tables = edited(tables, "variant_report", lambda rows: _keep(rows, "moved"))
    report = items_gate(tables, plan)
    entry = entry_of(report, "variants/moved/key_balance:column_values_to_be_between:p_value")
    assert entry["first_failed_keys"] == [{"dataset": "demo"}]
    assert not [
        name for name in failed_names(report) if name.startswith(("variants/moved:", "variant_report"))
    ]


def _keep(rows: list[dict[str, Any]], variant: str) -> None:
    """Drop the rows of other variants, in place."""
    rows[:] = [row for row in rows if row["variant"] == variant]
